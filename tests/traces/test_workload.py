from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces.workload import FloodWorkload, PhasedWorkload, load_workload

FOLDER = Path(__file__).parents[2] / "config" / "workloads"


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path = tmp_path / name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def line_of(name: str, text: str) -> int:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_all_shipped_workloads_load() -> None:
    loaded = [load_workload(path) for path in sorted(FOLDER.glob("*.yaml"))]
    assert {type(workload) for workload in loaded} >= {PhasedWorkload, FloodWorkload}


def test_sec_dynamic_a_is_as_specified() -> None:
    workload = load_workload(FOLDER / "sec-dynamic-a.yaml")
    assert isinstance(workload, PhasedWorkload)
    assert [(phase.name, phase.load, phase.seconds) for phase in workload.phases] == [
        ("warm-up", 0.6, 60),
        ("steady", 0.7, 120),
        ("burst", 1.3, 20),
        ("gap", 0.7, 40),
        ("spike", "calibrated", 60),
        ("recovery", 0.7, 60),
    ]
    assert workload.calibrated_phase == "spike"


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("sec-dynamic-a.yaml", "  units: 300", "  unitz: 300", "unknown key 'unitz'.*did you mean 'units'"),
        ("sec-dynamic-a.yaml", "  units: 300", "  units: '300'", "content.units is '300', not of type int"),
        ("sec-dynamic-a.yaml", "  units: 300", "  units: true", "content.units is True, not of type int"),
        ("sec-dynamic-a.yaml", "load: calibrated", "load: guessed", "neither a number nor 'calibrated'"),
        ("sec-dynamic-a.yaml", "load: 1.3", "load: -1.3", "load is -1.3"),
        ("sec-dynamic-a.yaml", "load: 1.3", "load: .nan", "load is nan"),
        ("sec-dynamic-a.yaml", "load: 1.3, seconds: 20", "load: 1.3, seconds: 0", "a phase of 0 s"),
        ("sec-dynamic-a.yaml", "{lowest: 50, highest: 150}", "{lowest: 150, highest: 50}", "not a range"),
        ("sec-dynamic-a.yaml", "{lowest: 50, highest: 150}", "[50, 150]", "a mapping of keys is expected"),
        ("sec-dynamic-a.yaml", "family: phased", "family: other", "family is 'other'"),
        ("sec-dynamic-a.yaml", "name: sec-dynamic-a", "name: other", "file of another name"),
        ("sec-flood.yaml", "cache_blocks: 12970", "cache_blocks: 1.5", "cache_blocks is 1.5, not of type int"),
        ("sec-flood.yaml", "  load: 0.93", "  load: 0", "load is 0"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_line(tmp_path: Path, name: str, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        load_workload(changed(tmp_path, name, old, new))
    assert caught.value.line is not None
    assert abs(caught.value.line - line_of(name, old)) <= 6  # a refused group of settings is named by its first line


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("sec-dynamic-a.yaml", "reference_requests: 600\n", "", "key 'reference_requests' is missing"),
        ("sec-dynamic-a.yaml", "load: calibrated", "load: 1.5", "exactly one phase"),
        ("sec-dynamic-a.yaml", "name: gap", "name: steady", "same name"),
        ("sec-dynamic-a.yaml", "usual_share: 0.70", "usual_share: 0.90", "sum is at most 1"),
        ("sec-dynamic-a.yaml", "share: 0.30", "share: 0.0", "share is 0"),
        ("sec-dynamic-a.yaml", "lowest: 2, highest: 12", "lowest: 2, highest: 32", "above 31"),
        ("sec-dynamic-a.yaml", "highest_load: 4.0", "highest_load: 1.0", "below highest_load"),
        ("sec-flood.yaml", "system_tokens: 128", "system_tokens: 3000", "must exceed system_tokens"),
        ("sec-flood.yaml", "family: flood\n", "", "family is None"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    tmp_path: Path, name: str, old: str, new: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        load_workload(changed(tmp_path, name, old, new))
