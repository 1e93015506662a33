"""The data card's figure: labels that do not collide, and two curves that are told apart without colour."""

import itertools
import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fairway.analysis.figures import corpora, style

RANGES = [(11_000, 75_000), (900, 4_800), (25, 1_100), (1, 16), (1, 600), (50, 4_500), (1, 110_000), (1_350, 4_200)]


def curves() -> list[dict[str, object]]:
    """Give a panel of each range that the card has had, the two curves one upon the other."""
    return [
        {
            "corpus": "musique",
            "statistic": "tokens of a paragraph",
            "distance": 0.045,
            "real": [low * (high / low) ** (step / 200) for step in range(201)],
            "embedded": [low * (high / low) ** (step / 200) for step in range(201)],
        }
        for low, high in RANGES
    ]


@pytest.fixture
def figure() -> Figure:
    with style.house_style():
        drawn = corpora.draw(curves())
        drawn.draw_without_rendering()
        return drawn


def test_no_two_labels_touch(figure: Figure) -> None:
    panels = figure.axes[: len(RANGES)]
    for axes in panels:
        shown = [label for label in axes.get_xticklabels() if label.get_text() and _inside(axes, label)]
        assert len(shown) >= 2
        for before, after in itertools.pairwise(label.get_window_extent() for label in shown):
            assert before.x1 + 4 < after.x0
    titles = [axes.xaxis.label.get_window_extent() for axes in panels]
    for one, other in itertools.combinations(titles, 2):
        assert not one.overlaps(other)


def _inside(axes, label) -> bool:
    low, high = axes.get_xlim()
    return low <= label.get_position()[0] <= high


def test_curves_that_lie_on_each_other_differ_without_colour(figure: Figure) -> None:
    real, embedded = figure.axes[0].get_lines()
    assert (real.get_linestyle(), embedded.get_linestyle()) == ("-", "--")
    assert real.get_linewidth() > 2 * embedded.get_linewidth()
    assert real.zorder <= embedded.zorder


def test_it_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    (tmp_path / "curves.json").write_text(json.dumps(curves()), encoding="utf-8")
    made = []
    for name in ("one", "two"):
        files = [tmp_path / f"{name}.{kind}" for kind in ("pdf", "svg")]
        corpora.plot(tmp_path / "curves.json", *files)
        made.append([file.read_bytes() for file in files])
    assert made[0] == made[1]
