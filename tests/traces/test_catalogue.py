import dataclasses
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces.catalogue import Catalogue, Reference
from fairway.traces.sec import SecContent
from fairway.traces.sweep import load_sweep
from fairway.traces.workload import PhasedWorkload, load_workload

CONFIG = Path(__file__).parents[2] / "config"
CATALOGUE = Catalogue(CONFIG)


def load(name: str) -> PhasedWorkload:
    workload = CATALOGUE.find(name).load()
    assert isinstance(workload, PhasedWorkload)
    return workload


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    (folder / "workloads").mkdir(parents=True)
    for name in ("variants.yaml", "sweep.yaml", "workloads/sec-dynamic-a.yaml", "workloads/sec-flood.yaml"):
        (folder / name).write_text((CONFIG / name).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_plain_name_is_a_file() -> None:
    reference = CATALOGUE.find("sec-dynamic-a")
    assert reference.load() == load_workload(CONFIG / "workloads/sec-dynamic-a.yaml")
    assert reference.files == [CONFIG / "workloads/sec-dynamic-a.yaml"]


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("sec-dynamic-a--cache-0.25", "cache.share", 0.25),
        ("mooncake-1.1--cache-0.33", "cache.share", 0.33),
        ("sec-short-0.9--no-system-prompt", "content.system_tokens", 0),
        ("mooncake-0.9--raw-ticks", "content.ticks", "raw"),
        ("musique-1.1--reshuffled", "content.paragraph_order", "reshuffled"),
    ],
)
def test_a_variant_changes_its_setting_alone(name: str, path: str, value: object) -> None:
    base = load(name.partition("--")[0])
    varied = load(name)
    group, key = path.split(".")
    assert getattr(getattr(varied, group), key) == value
    restored = dataclasses.replace(getattr(varied, group), **{key: getattr(getattr(base, group), key)})
    assert dataclasses.replace(varied, name=base.name, **{group: restored}) == base
    assert varied.name == name
    assert CATALOGUE.find(name).files == [CONFIG / f"workloads/{base.name}.yaml", CONFIG / "variants.yaml"]


def test_names_that_are_none_are_refused() -> None:
    for name, problem, remedy in [
        ("sec-dynamic-c", "unknown workload 'sec-dynamic-c'", "did you mean 'sec-dynamic-"),
        ("sec-dynamic-a--cache-0.2", "unknown variant 'cache-0.2'", "did you mean 'cache-0.25'"),
        ("sweep-61", "unknown workload 'sweep-61'", "known workloads"),
        ("sweep-7", "unknown workload 'sweep-7'", "known workloads"),
        ("../sec-dynamic-a", "unknown workload", "known workloads"),
    ]:
        with pytest.raises(InputError, match=problem) as caught:
            CATALOGUE.find(name)
        assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sec-dynamic-a--raw-ticks", "unknown key 'ticks'"),
        ("sec-flood--cache-0.25", "unknown key 'cache'"),
        ("musique-0.9--no-system-prompt", "changes nothing"),
    ],
)
def test_a_variant_that_does_not_suit_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        CATALOGUE.find(name).load()
    assert caught.value.file == CONFIG / "variants.yaml"


def test_a_fault_is_said_where_it_stands(copied: Path) -> None:
    change(copied / "variants.yaml", "share: 0.25", "share: 2.5")
    with pytest.raises(InputError, match=r"share is 2\.5") as caught:
        Catalogue(copied).find("sec-dynamic-a--cache-0.25").load()
    assert (caught.value.file, caught.value.line) == (copied / "variants.yaml", 3)
    change(copied / "workloads/sec-dynamic-a.yaml", "units: 300", "units: none")
    with pytest.raises(InputError, match="units is 'none'") as caught:
        Catalogue(copied).find("sec-dynamic-a--cache-0.33").load()
    assert caught.value.file == copied / "workloads/sec-dynamic-a.yaml"
    assert caught.value.line == 7
    change(copied / "variants.yaml", "cache-0.33: {cache: {share: 0.33}}", "cache-0.33: 0.33")
    change(copied / "workloads/sec-dynamic-a.yaml", "units: none", "units: 300")
    with pytest.raises(InputError, match="a variant is a mapping") as caught:
        Catalogue(copied).find("sec-dynamic-a--cache-0.33").load()
    assert (caught.value.file, caught.value.line) == (copied / "variants.yaml", 4)


def test_references_are_written_with_a_hash(copied: Path) -> None:
    file = copied / "workloads" / "sec-dynamic-a.yaml"
    reference = Reference.parse(f"{file}#cache-0.25")
    assert str(reference) == f"{file}#cache-0.25"
    assert reference.load().name == "sec-dynamic-a--cache-0.25"
    assert Reference.parse(str(file)).load().name == "sec-dynamic-a"
    odd = copied / "workloads" / "a#b.yaml"
    odd.write_text(file.read_text(encoding="utf-8").replace("sec-dynamic-a", "a#b"), encoding="utf-8")
    assert Reference.parse(str(odd)).load().name == "a#b"


@pytest.mark.parametrize(
    ("part", "problem"), [("61", "no configuration 61"), ("0", "no configuration 0"), ("x", "'x' is")]
)
def test_a_configuration_that_there_is_not_is_refused(part: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Reference.parse(f"{CONFIG / 'sweep.yaml'}#{part}").load()


def test_the_sweep_has_sixty_configurations_within_their_ranges() -> None:
    sweep = load_sweep(CONFIG / "sweep.yaml")
    names = sweep.names()
    assert (len(names), names[6]) == (60, "sweep-07")
    swept = [load(name) for name in names]
    assert [workload.name for workload in swept] == names
    drawn = {"units": [], "exponent": [], "added": [], "cache": [], "load": [], "gap": [], "usual": []}
    for workload in swept:
        content = workload.content
        assert isinstance(content, SecContent)
        phases = {phase.name: phase for phase in workload.phases}
        loads = {phases[name].load for name in ("steady", "gap", "recovery") if name in phases}
        assert len(loads) == 1
        assert [phases[name].load for name in ("warm-up", "burst", "spike")] == [0.6, 1.3, "calibrated"]
        assert {phase.added_exponent for phase in workload.phases if phase.name != "spike"} == {0.0}
        assert content.usual_share + 2 * content.fewer_share == pytest.approx(1)
        drawn["units"].append(content.units)
        drawn["exponent"].append(content.popularity_exponent)
        drawn["added"].append(phases["spike"].added_exponent)
        drawn["cache"].append(workload.cache.share)
        drawn["load"].append(loads.pop())
        drawn["gap"].append(phases["gap"].seconds if "gap" in phases else 0)
        drawn["usual"].append(content.usual_share)
    ranges = {
        "units": (64, 600),
        "exponent": (0.8, 1.6),
        "added": (0, 1),
        "cache": (0.25, 0.33),
        "load": (0.6, 0.95),
        "gap": (0, 60),
        "usual": (0.4, 0.9),
    }
    for name, (lowest, highest) in ranges.items():
        width = highest - lowest
        assert lowest <= min(drawn[name]) <= lowest + 0.15 * width, name
        assert highest - 0.15 * width <= max(drawn[name]) <= highest, name
        assert len(set(drawn[name])) > 5, name


def test_more_configurations_leave_the_first_ones_alone(copied: Path) -> None:
    before = Reference(copied / "sweep.yaml", "7").load()
    change(copied / "sweep.yaml", "configurations: 60", "configurations: 600")
    after = Reference(copied / "sweep.yaml", "7").load()
    assert after.name == "sweep-007"
    assert dataclasses.replace(after, name="sweep-07") == before
    change(copied / "sweep.yaml", "seed: 1", "seed: 2")
    assert Reference(copied / "sweep.yaml", "7").load() != after


def test_without_a_gap_the_phase_is_left_out(copied: Path) -> None:
    change(copied / "sweep.yaml", "gap_seconds: {lowest: 0, highest: 60}", "gap_seconds: {lowest: 0, highest: 0}")
    workload = Reference(copied / "sweep.yaml", "7").load()
    assert isinstance(workload, PhasedWorkload)
    assert [phase.name for phase in workload.phases] == ["warm-up", "steady", "burst", "spike", "recovery"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("base: sec-dynamic-a", "base: sec-flood", "asks no questions about filings in phases"),
        ("base: sec-dynamic-a", "base: none", "cannot be read"),
        ("gap_phase: gap", "gap_phase: gab", "has no phase 'gab'"),
        ("configurations: 60", "configurations: 0", "configurations must be at least 1"),
        ("highest: 24", "highest: 40", "above 31"),
        ("{lowest: 7,", "{lowest: 5,", "fewest_excerpts must not exceed"),
        ("{lowest: 151,", "{lowest: 51,", "shortest_question_tokens must not exceed"),
        ("{lowest: 0.25, highest: 0.33}", "{lowest: 0.33, highest: 0.25}", "not a range"),
        ("{lowest: 0.4, highest: 0.9}", "{lowest: 0.4, highest: 1.9}", "must be shares"),
        ("units:", "unit:", "unknown key 'unit'"),
    ],
)
def test_a_wrong_sweep_is_refused(copied: Path, old: str, new: str, problem: str) -> None:
    change(copied / "sweep.yaml", old, new)
    with pytest.raises(InputError, match=problem):
        for number in range(1, 61):
            Reference(copied / "sweep.yaml", str(number)).load()
