from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fairway.analysis.claims import read_claims
from fairway.analysis.figures import flood, spike_timeline, style
from fairway.analysis.figures.seal import is_whole
from fairway.analysis.results import read_result
from fairway.errors import InputError

POLICIES = ("fcfs", "lpm", "ragcache", "fairway")
CLAIMS = Path(__file__).parents[2] / "paper" / "claims.yaml"


def test_no_two_policies_look_alike_without_colour_where_they_share_one() -> None:
    policies = [name for name in read_claims(CLAIMS).terms.policies if style.look(name).label != name]
    looks = [style.look(policy) for policy in policies]
    assert len({(look.color, look.dashes) for look in looks}) == len(looks)
    assert len({look.marker for look in looks}) == len(looks)
    main = [style.look(policy) for policy in POLICIES]
    assert len({look.dashes for look in main}) == len({look.color for look in main}) == len(main)


def test_an_unknown_policy_is_drawn_under_its_own_name() -> None:
    assert style.look("mine").label == "mine"


def test_the_timeline_says_what_it_rests_on_and_shades_the_spike(untouched_rows: Path) -> None:
    results = [read_result(untouched_rows, "sec-dynamic-a", name, with_warm_up=True) for name in POLICIES]
    with style.house_style():
        figure = spike_timeline.draw(results, spike_timeline.Layout())
    texts = [text.get_text() for text in figure.texts]
    assert any("5 seeds" in text and "modelled profile" in text and "n = 3,600" in text for text in texts)
    rate, median, tail = figure.axes
    assert {"warm-up", "spike"} <= {text.get_text() for text in rate.texts}
    assert median.get_yscale() == tail.get_yscale() == "log"
    assert len(median.lines) == len(tail.lines) == len(POLICIES)
    assert len(median.patches) == 3


def test_the_flood_shows_each_policy_in_both_panels(untouched_rows: Path) -> None:
    results = [read_result(untouched_rows, "sec-flood", name) for name in POLICIES]
    with style.house_style():
        figure = flood.draw(results, flood.Layout())
    misses, hits = figure.axes
    assert misses.get_yscale() == hits.get_xscale() == "log"
    assert len(misses.lines) == len(POLICIES)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["FCFS", "LPM", "RAGCache", "Fairway"]


def test_a_figure_that_lost_its_seal_or_a_byte_is_not_whole(untouched_rows: Path, tmp_path: Path) -> None:
    pdf, svg = tmp_path / "a.pdf", tmp_path / "a.svg"
    flood.plot(untouched_rows, "sec-flood", ["fcfs"], pdf, svg)
    ElementTree.parse(svg)
    assert b"%%EOF" in pdf.read_bytes()[-1024:], "where readers look for it"
    for figure in (pdf, svg):
        written = figure.read_bytes()
        assert is_whole(figure)
        for changed in (
            written[:-1],
            written + b" ",
            written[: len(written) // 2],
            b"",
            written.rsplit(b"sha256", 1)[0],
        ):
            figure.write_bytes(changed)
            assert not is_whole(figure)


def test_a_workload_without_misses_is_no_flood(write: Callable[..., Path], tmp_path: Path) -> None:
    write(tmp_path, "sec-short-0.7", "fcfs", kind="usual")
    with pytest.raises(InputError, match="no served misses and hits in fcfs"):
        flood.plot(tmp_path, "sec-short-0.7", ["fcfs"], tmp_path / "a.pdf", tmp_path / "a.svg")
