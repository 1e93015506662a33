import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.against_peer import measure_against_peer
from benchmarks.coverage import ASKED, COMPILED, left_out, served
from benchmarks.figure import Layout, draw
from benchmarks.growth import measure_growth, measure_reading
from benchmarks.page import KEPT, page, read, results
from benchmarks.trace_files import Pressure, TraceFiles
from fairway.analysis.figures import style
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.policies import Capability, Policy, QueueView, make_policy


def test_the_committed_page_shows_the_committed_results() -> None:
    assert KEPT.page.read_text(encoding="utf-8") == page(*results(KEPT.results))


def test_ratios_are_of_repetitions_in_pairs(document: dict[str, Any], ordering: dict[str, Any]) -> None:
    text = page(document, ordering)
    row = "| fcfs | 200,000 (100,000 to 200,000) | 10.0 (7.5 to 20.0) | 5.0 (5.0 to 10.0) | 1,200, 3.2 | 60% |"
    assert text.count(row) == 2
    assert "| aisimulate | 13,333 (10,000 to 20,000) | 1 |  | 4, 1.0 | 11% |" in text
    assert "| hrrn* | " in text
    assert "serves it instead: policy 'peek', which needs victim_rank." in text
    assert "| a request | 1.10 | 1.10 | 1.10 | 1.10 | 1.10 |  |" in text
    assert "| JSON lines | 20,000 | 1.5 | 2.00 | 10,000 | 200 |" in text
    assert text.count("took Python 70 ms before the measurements and 72 ms after them") == 2
    assert "takes 21.0 s when nothing is compiled yet and 1.6 s when it is" in text
    assert "| lpm | 1,024 | 2.0 | 0.050 (0.070) | 0.060 (0.090) | 90.0 | 1,800 |" in text


def test_a_machine_that_did_other_things_as_well_is_told(document: dict[str, Any]) -> None:
    assert "at least 100% of the core to themselves. The numbers" in page(document, None)
    document["against_peer"]["pressures"][1]["replays"][2]["cpu_s"] = [0.1, 0.05, 0.05]
    assert "at least 50% of the core to themselves. **The machine was not quiet**" in page(document, None)


def test_without_the_peer_the_page_says_how_to_get_it(document: dict[str, Any]) -> None:
    document["against_peer"]["peer"] = None
    for pressure in document["against_peer"]["pressures"]:
        pressure |= {"peer_s": [], "peer_load": None}
    text = page(document, None)
    assert "`make peer-env`, then `make bench` again" in text
    assert "| fcfs | 200,000 (100,000 to 200,000) | - | - | " in text
    assert "Ordering a queue" not in text


@pytest.mark.parametrize("with_ordering", [True, False])
@pytest.mark.parametrize("with_peer", [True, False])
def test_the_figure_shows_what_is_there(
    document: dict[str, Any], ordering: dict[str, Any], with_ordering: bool, with_peer: bool
) -> None:
    if not with_peer:
        document["against_peer"]["peer"] = None
    with style.house_style():
        figure = draw(document, ordering if with_ordering else None, Layout())
        figure.draw_without_rendering()
    assert len(figure.axes) == (3 if with_ordering else 2)
    assert figure.axes[0].get_xlabel() == ("Times aisimulate's FCFS" if with_peer else "Requests a second")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["FCFS", "Fairway", "HRRN"]
    assert figure.get_figwidth() == style.COLUMN_WIDTH_IN
    page_box = figure.bbox
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box is not None and page_box.x0 - 1 <= box.x0 and box.x1 <= page_box.x1 + 1, axes.get_title(loc="left")


class Asked(Policy):
    name = "asked"

    def order(self, view: QueueView) -> Iterator[int]:
        return iter(range(len(view)))


class Caps(Asked):
    name = "caps"
    capabilities = frozenset({Capability.RUNNING_CAP})


def test_how_a_policy_is_served_follows_from_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"asked": Asked, "caps": Caps}
    monkeypatch.setattr("benchmarks.coverage.make_policy", lambda name: others.get(name, lambda: make_policy(name))())
    names = ["fairway", "peek", "asked", "caps"]
    assert served(names) == {"fairway": COMPILED, "peek": COMPILED, "asked": ASKED}
    assert left_out(names) == {"caps": "policy 'caps', which needs running_cap"}


@pytest.mark.parametrize(("text", "problem"), [("{", "cannot be read"), ('{"seal": "x"}', "were edited")])
def test_results_that_are_none_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "replay.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read(tmp_path / "replay.json")


@pytest.mark.slow
def test_what_is_measured_can_be_shown(
    document: dict[str, Any], tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    low, backlog = Pressure("low load", 0.6), Pressure("backlog", 1.0, crowd=50)
    files = TraceFiles.of(tmp_path, 1)
    policies = ["fcfs", "fairway"]
    document["against_peer"] = measure_against_peer(files, None, [low, backlog], policies, 120, repetitions=2)
    document["growth"] = [
        measure_growth(files, low, policies, [60, 120]),
        measure_growth(files, backlog, ["fairway"], [60]),
    ]
    document["reading"] = measure_reading(files, low, 60)
    write_sealed(tmp_path / "replay.json", document)
    measured = read(tmp_path / "replay.json")
    first, second = measured["against_peer"]["pressures"]
    assert second["replays"][0]["longest_queue"] >= 50 > first["replays"][0]["longest_queue"]
    assert all(len(row["wall_s"]) == 2 for row in first["replays"])
    assert dataclasses.asdict(low) | {"sizes": measured["growth"][0]["sizes"]} == measured["growth"][0]
    assert json.dumps(measured) and "| fairway | " in page(measured, None)
