"""Odd input to the scripts of measurements is one line that names the file and what to do, with exit status 2."""

import json
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.test_measured import rows

from fairway.files import sealed, write_sealed
from fairway.rows import MEASUREMENT

PROFILE = "a6000-llama-3.1-8b-modelled"


@dataclass(frozen=True)
class Done:
    status: object
    said: str


Call = Callable[..., Done]


@pytest.fixture
def call(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a script in this process: many runs would take long to start."""

    def run(script: str, *options: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [script, *options])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(root / "scripts" / script), run_name="__main__")
        return Done(ended.value.code, capsys.readouterr().err)

    return run


@pytest.fixture(autouse=True)
def measured(tmp_path: Path) -> None:
    """Lay out what the scripts read: simulated, at speed, one repeat, and their list."""
    for kind in ("sim", "at-speed/1", "1"):
        rows(tmp_path / kind / "w/p", [1.0] * 20)
    write_sealed(tmp_path / "w.json", {"folders": ["1/w/p"]})


SLOW = ("slow_profile.py", "--profile", PROFILE, "--measured", f"1/w/p/{MEASUREMENT}", "--out", "slow.json")
COMPARE = (
    *("compare_measured.py", "--simulated", "sim/w/p", "--at-speed", "at-speed/1/w/p"),
    *("--measured", "w.json", "--out-dir", ".", "--name", "first"),
)
DRAW = ("draw_measured.py", "--tables", "first.json", "--out-pdf", "runs.pdf", "--out-svg", "runs.svg")


def test_what_is_laid_out_is_sound(call: Call, tmp_path: Path) -> None:
    for command in (SLOW, COMPARE, DRAW):
        done = call(*command)
        assert done.status == 0, done.said
    assert (tmp_path / "runs.svg").is_file()


def fact(**changed: Any) -> dict[str, Any]:
    usual = {"lone_requests": {"overhead_ms": 1.0, "slowness": 1.0}, "client_late_ms": {"p99": 1.0}}
    usual |= {"steps": {"seconds": 1.0, "profile_seconds": 1.0}, "commit": "abc"}
    return {**usual, "token_gap_ms": {}, "tokens_per_s": 1.0, **changed}


def facts(*runs: Any, **changed: Any) -> dict[str, Any]:
    return {"device": "d", "model": "m", "versions": {}, "runs": list(runs), **changed}


TABLE = {"device": "d", "model": "m", "versions": {}, "commits": []}


def row(**changed: Any) -> dict[str, Any]:
    usual = {"workload": "w", "policy": "p", "figure": "p50", "edited": "", "tolerance": 0.05, "agrees": True}
    values = {"simulated": 1.0, "measured": 1.0, "lowest": 1.0, "highest": 1.0, "repeats": 1}
    speed = {"simulated_at_speed": 1.0, "difference": 0.0, "difference_at_speed": 0.0}
    return {**usual, **values, **speed, **changed}


FACTS = f"1/w/p/{MEASUREMENT}"
# The file that is odd, what it holds (None: nothing), the commands that read it.
ODD: list[tuple[str, Any, tuple[tuple[str, ...], ...]]] = [
    ("w.json", None, (COMPARE,)),
    ("w.json", "no JSON", (COMPARE,)),
    *[("w.json", odd, (COMPARE,)) for odd in ([], {}, {"folders": []}, {"folders": 3}, {"folders": [3]})],
    (FACTS, None, (SLOW, COMPARE)),
    *[(FACTS, odd, (SLOW, COMPARE)) for odd in ([], facts(), facts(3), facts({}), facts(fact(lone_requests=[])))],
    (FACTS, facts(fact(lone_requests={"overhead_ms": 1.0, "slowness": "slow"})), (SLOW, COMPARE)),
    (FACTS, facts(fact(steps={"seconds": "slow", "profile_seconds": 1.0})), (SLOW, COMPARE)),
    (FACTS, facts(fact(steps={"seconds": 1.0, "profile_seconds": 0.0})), (SLOW, COMPARE)),
    *[(FACTS, facts(fact(steps={"seconds": odd, "profile_seconds": 1.0})), (SLOW,)) for odd in (0.0, 1e9, 1e-9)],
    (FACTS, facts({name: value for name, value in fact().items() if name != "commit"}), (COMPARE,)),
    (FACTS, facts(fact(), versions=[]), (COMPARE,)),
    (FACTS, {"runs": [fact()]}, (COMPARE,)),
    ("1/w/p/requests.parquet", None, (COMPARE,)),
    ("1/w/p/runs.parquet", "no Parquet", (COMPARE,)),
    ("1/w/p/seal.json", [], (COMPARE,)),
    ("first.json", None, (DRAW,)),
    ("first.json", "no JSON", (DRAW,)),
    *[("first.json", odd, (DRAW,)) for odd in ([], TABLE, {**TABLE, "rows": []}, {**TABLE, "rows": {"a": 1}})],
    *[("first.json", {**TABLE, "rows": odd}, (DRAW,)) for odd in ([1], [{}], [{"figure": "p50"}])],
    *[("first.json", {**TABLE, odd: 3, "rows": []}, (DRAW,)) for odd in ("versions", "commits")],
    *[("first.json", {**TABLE, "rows": [row(**odd)]}, (DRAW,)) for odd in ({"policy": None}, {"lowest": 3.0})],
]


@pytest.mark.parametrize(
    ("file", "odd", "command"), [(file, odd, command) for file, odd, commands in ODD for command in commands]
)
def test_odd_input_is_one_line_with_its_file_and_remedy(
    file: str,
    odd: Any,
    command: tuple[str, ...],
    call: Call,
    tmp_path: Path,
) -> None:
    (tmp_path / file).unlink(missing_ok=True)
    if odd is not None:
        text = odd if isinstance(odd, str) else json.dumps(sealed(odd) if isinstance(odd, dict) else odd)
        (tmp_path / file).write_text(text, encoding="utf-8")
    refused = call(*command)
    assert refused.status == 2, refused.said
    (line,) = refused.said.splitlines()
    assert line.startswith(f"error: {file}: ")
    assert ". Remedy: " in line


@pytest.mark.parametrize("option", ["--simulated", "--at-speed"])
@pytest.mark.parametrize("folder", ["sim/w/fcfs", "sim", "."])
def test_folders_without_a_counterpart_are_one_line(option: str, folder: str, call: Call) -> None:
    command = list(COMPARE)
    command[command.index(option) + 1] = folder
    refused = call(*command)
    assert refused.status == 2, refused.said
    (line,) = refused.said.splitlines()
    assert line.startswith(("error: sim", "error: 1/w/p", "error: ."))
    assert ". Remedy: " in line


def test_one_folder_is_one_repeat(call: Call, tmp_path: Path) -> None:
    for folders in (["1/w/p", "1/w/p"], ["1/w/p", "1/../1/w/p"]):
        write_sealed(tmp_path / "w.json", {"folders": folders})
        refused = call(*COMPARE)
        assert refused.status == 2, refused.said
        assert "is given twice, and is one repeat. Remedy: " in refused.said
    write_sealed(tmp_path / "w.json", {"folders": ["1/w/p"]})
    twice = call(*COMPARE, "--measured", "w.json", "w.json")
    assert twice.status == 2 and "is given twice" in twice.said


def test_tables_have_a_name_of_their_own(call: Call, tmp_path: Path) -> None:
    for name in ("", "../evil", "."):
        assert call(*COMPARE, "--name", name).status == 2
    assert not (tmp_path.parent / "evil.json").exists()


def test_a_broken_profile_is_one_line(call: Call, tmp_path: Path) -> None:
    command = list(SLOW)
    command[command.index(PROFILE)] = "profile.json"
    for odd in (None, "no JSON", "[]", "{}"):
        if odd is not None:
            (tmp_path / "profile.json").write_text(odd, encoding="utf-8")
        refused = call(*command)
        assert refused.status == 2, refused.said
        (line,) = refused.said.splitlines()
        assert line.startswith("error: profile.json: ")
        assert ". Remedy: " in line
