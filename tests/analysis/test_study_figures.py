"""The figures of several workloads: what they show, what they say is missing, and that nothing is cut off."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.analysis.conftest import write_result

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.figures import (
    ablations,
    flood,
    order_shift,
    plane,
    regimes,
    scenarios,
    sensitivity,
    spike_timeline,
    spread,
    style,
    targets,
)
from fairway.analysis.regimes import Place, regime_rows
from fairway.analysis.results import read_result
from fairway.analysis.study import Study
from fairway.errors import InputError

CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")
POLICIES = ("fcfs", "lpm", "ragcache", "fairway")
WORKLOADS = ("sec-dynamic-a", "sec-flood")
SWEPT = ("fcfs", "lpm", "klpm-4", "klpm-8", "ragcache", "preble", "peek", "fairway")
MISSING = "workload sec-short-0.7; policies preble, peek"
Write = Callable[..., Path]


def study(root: Path, workloads: tuple[str, ...] = WORKLOADS, policies: tuple[str, ...] = POLICIES) -> Study:
    wanted = Wanted(root, workloads, policies, ("sec-short-0.7",), ("preble", "peek"))
    return Study.of(collect(wanted), CLAIMS, Resampling(50))


def sweep(root: Path) -> Figure:
    asked = study(root)
    places = {name: Place(30.0 * (i + 1), 1.5 + i, 0.2 + 0.5 * i) for i, name in enumerate(WORKLOADS)}
    return regimes.draw(asked, regime_rows(asked, places), regimes.Layout())


def contested_sweep(root: Path) -> Figure:
    """The sweep of which each configuration has another winner, which makes the longest legend."""
    asked = study(root)
    (row, *_) = regime_rows(asked, {name: Place(30.0, 1.5, 0.2) for name in WORKLOADS})
    rows = [replace(row, load=1.0 + place, p99_winner=policy) for place, policy in enumerate(SWEPT)]
    return regimes.draw(asked, rows, regimes.Layout())


def parameters(root: Path) -> Figure:
    return sensitivity.draw(study(root, WORKLOADS[:1], ("fairway", "fairway-weight-2")), sensitivity.Layout())


def queue(root: Path) -> Figure:
    collection = collect(Wanted(root, WORKLOADS, ("fcfs",), ("sec-short-0.7",), ("preble", "peek")))
    return spread.draw(collection, collection.listed, spread.Layout())


def timeline(root: Path) -> Figure:
    results = [read_result(root, "sec-dynamic-a", name, with_warm_up=True) for name in POLICIES]
    return spike_timeline.draw(results, spike_timeline.Layout())


def deluge(root: Path) -> Figure:
    return flood.draw([read_result(root, "sec-flood", name) for name in POLICIES], flood.Layout())


STUDIES: dict[str, Callable[[Path], Figure]] = {
    "scenarios": lambda root: scenarios.draw(study(root), "fairway", scenarios.Layout()),
    "plane": lambda root: plane.draw(study(root), plane.Layout()),
    "targets": lambda root: targets.draw(study(root), targets.Layout()),
    "ablations": lambda root: ablations.draw(study(root), ablations.Layout()),
    "spread": queue,
    "sensitivity": parameters,
    "regimes": sweep,
    "contested regimes": contested_sweep,
}
ALONE: dict[str, Callable[[Path], Figure]] = {
    "order shift": lambda root: order_shift.draw(read_result(root, "sec-dynamic-a", "fairway"), order_shift.Layout()),
    "timeline": timeline,
    "flood": deluge,
}


@pytest.fixture(scope="module")
def many_rows(untouched_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up rows and a variant of Fairway; not to be changed."""
    root = Path(shutil.copytree(untouched_rows, tmp_path_factory.mktemp("many") / "rows"))
    write_result(root, "sec-dynamic-a", "fairway-weight-2")
    return root


@pytest.fixture(scope="module")
def drawn(many_rows: Path) -> Callable[[str], Figure]:
    """Draw one figure in the house style, once."""

    @functools.cache
    def draw(name: str) -> Figure:
        with style.house_style():
            figure = {**STUDIES, **ALONE}[name](many_rows)
            FigureCanvasAgg(figure).draw()
        return figure

    return draw


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("name", [*STUDIES, *ALONE])
def test_it_says_what_it_rests_on(name: str, drawn: Callable[[str], Figure]) -> None:
    (said,) = [text for text in texts(drawn(name)) if "n = " in text]
    words = " ".join(said.split())
    for part in ("requests per policy (0 refused)", "5 seeds pooled", "embedded corpus", "modelled profile", "(a6000)"):
        assert part in words


def test_a_remark_is_broken_into_lines_of_like_length() -> None:
    text = "n = 4,778 requests per policy (957 distinct, 0 refused), 1 window in 5 replays pooled; real corpus of text"
    lines = style._even_lines(text, 100)
    assert " ".join(lines) == text and len(lines) == 2
    assert max(map(len, lines)) - min(map(len, lines)) < 12
    assert style._even_lines("short", 100) == ["short"]


@pytest.mark.parametrize("name", STUDIES)
def test_it_says_what_is_missing(name: str, drawn: Callable[[str], Figure]) -> None:
    assert f"not there: {MISSING}" in " ".join(" ".join(texts(drawn(name))).split())


@pytest.mark.parametrize("name", [*STUDIES, *ALONE])
def test_nothing_is_cut_off(name: str, drawn: Callable[[str], Figure]) -> None:
    figure = drawn(name)
    renderer = figure.canvas.get_renderer()
    for part in (*figure.axes, *figure.legends, *figure.texts):
        box = part.get_tightbbox(renderer)
        assert figure.bbox.x0 <= box.x0 + 1, f"cut off at the left: {part}"
        assert box.x1 <= figure.bbox.x1 + 1, f"cut off at the right: {part}"
        assert figure.bbox.y0 <= box.y0 + 1, f"cut off below: {part}"
        assert box.y1 <= figure.bbox.y1 + 1, f"cut off above: {part}"
    (below,) = [text.get_tightbbox(renderer) for text in figure.texts if "n = " in text.get_text()]
    assert min(axes.get_tightbbox(renderer).y0 for axes in figure.axes) >= below.y1 - 1, (
        "axes reach into the text below"
    )
    for legend in figure.legends:
        box = legend.get_tightbbox(renderer)
        assert not any(axes.get_tightbbox(renderer).overlaps(box) for axes in figure.axes), "the legend covers axes"


@pytest.mark.parametrize("name", [*STUDIES, *ALONE])
def test_it_fits_a_page_or_a_column_and_can_be_read(name: str, drawn: Callable[[str], Figure]) -> None:
    figure = drawn(name)
    assert figure.get_figwidth() in (style.PAGE_WIDTH_IN, style.COLUMN_WIDTH_IN)
    sizes = {text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text()}
    assert sizes <= {8, 9}


def test_the_check_sees_a_cut_off_text(drawn: Callable[[str], Figure]) -> None:
    figure = drawn("plane")
    text = figure.text(0.99, 0.5, "far too long for its place")
    with pytest.raises(AssertionError, match=r"cut off at the right: .*far too long"):
        test_nothing_is_cut_off("plane", drawn)
    text.remove()


def test_scenarios_mark_verdicts_by_shape(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "sec-short-0.7", "fcfs")
    write(tmp_path, "sec-short-0.7", "fairway", first_token_ns=10**15)
    write(tmp_path, "sec-short-0.9", "fcfs", first_token_ns=10**15)
    write(tmp_path, "sec-short-0.9", "fairway")
    wanted = Wanted(tmp_path, ("sec-short-0.7", "sec-short-0.9"), ("fcfs", "fairway"))
    asked = Study.of(collect(wanted), CLAIMS, Resampling(50))
    with style.house_style():
        figure = scenarios.draw(asked, "fairway", scenarios.Layout())
    markers = [line.get_marker() for line in figure.axes[1].lines if len(line.get_xdata()) == 1]
    assert markers == ["^", "v"]


def test_a_scenario_in_which_every_baseline_starves_is_named(write: Write, tmp_path: Path) -> None:
    for policy in ("fcfs", "fairway"):
        folder = write(tmp_path, "sec-short-0.7", policy)
    frame = pd.read_parquet(tmp_path / "sec-short-0.7" / "fcfs" / "requests.parquet")
    frame.loc[frame[frame.phase == "spike"].groupby("seed").head(1).index, "first_token_ns"] += 10**13
    frame.to_parquet(folder.parent / "fcfs" / "requests.parquet")
    asked = Study.of(collect(Wanted(tmp_path, ("sec-short-0.7",), ("fcfs", "fairway"))), CLAIMS, Resampling(50))
    with style.house_style():
        figure = scenarios.draw(asked, "fairway", scenarios.Layout())
    assert "no baseline that starves nobody: sec-short-0.7" in " ".join(texts(figure))


def test_the_matrix_counts_targets(many_rows: Path) -> None:
    with style.house_style():
        figure = targets.draw(study(many_rows, WORKLOADS[:1]), targets.Layout())
    counted = [text.get_text() for text in figure.axes[0].texts if " of 6" in text.get_text()]
    assert len(counted) == len(POLICIES)
    dark = sum(patch.get_facecolor()[:3] != (1, 1, 1) for patch in figure.axes[0].patches)
    assert dark == sum(int(text.split()[0]) for text in counted)


def test_the_spread_is_that_of_long_queues(many_rows: Path) -> None:
    collection = collect(Wanted(many_rows, WORKLOADS[:1], ("fcfs",)))
    with style.house_style():
        figure = spread.draw(collection, collection.listed, spread.Layout())
    hooks = collection.listed[0].hooks
    keep = hooks["waiting"] >= 10
    ratios = hooks["uncached_p95"][keep] / hooks["uncached_p5"][keep]
    (median,) = [line for line in figure.axes[0].lines if line.get_marker() == "|"]
    assert median.get_xdata()[0] == np.percentile(ratios, 50, method="inverted_cdf")
    assert figure.axes[0].get_yticklabels()[0].get_text() == f"sec-dynamic-a ({int(keep.sum()):,})"


def test_figures_without_their_data_are_refused(many_rows: Path, tmp_path: Path, write: Write) -> None:
    out = (tmp_path / "a.pdf", tmp_path / "a.svg")
    write(tmp_path / "rows", "sec-short-0.7", "fairway", phase="measured")
    with pytest.raises(InputError, match="no hook in a spike"):
        order_shift.plot(tmp_path / "rows", "sec-short-0.7", "fairway", *out)
    with pytest.raises(InputError, match="no variant with a moved parameter"):
        sensitivity.plot(study(many_rows, WORKLOADS[:1]), *out)
    with pytest.raises(InputError, match="no configuration ever has enough requests waiting"):
        regimes.plot(study(many_rows), dict.fromkeys(WORKLOADS, Place(None, 1.0, 0.5)), *out)
    write(tmp_path / "rows", "azure", "fcfs", of_runs={"reuse": ["unknown"] * 5})
    with pytest.raises(InputError, match="no hook with at least 10 waiting"):
        spread.plot(collect(Wanted(tmp_path / "rows", ("azure",), ("fcfs",))), *out)
    with pytest.raises(InputError, match=r"no request was served by fairway on sec-dynamic-a \(spike\)"):
        write(tmp_path / "quiet", "sec-dynamic-a", "fairway", phase="steady")
        plane.plot(study(tmp_path / "quiet", WORKLOADS[:1], ("fairway",)), *out)
    assert not out[0].exists()
    assert not out[1].exists()
