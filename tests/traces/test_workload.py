import dataclasses
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces.ranges import Range
from fairway.traces.sec import ShallowUnits
from fairway.traces.workload import CacheRule, FloodWorkload, PhasedWorkload, load_workload

FOLDER = Path(__file__).parents[2] / "config" / "workloads"
FIXED = ("sec-short", "sec-long", "sec-mixed", "musique", "mooncake")


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


def phases_of(name: str) -> list[tuple[object, ...]]:
    workload = load_workload(FOLDER / f"{name}.yaml")
    assert isinstance(workload, PhasedWorkload)
    return [(phase.name, phase.load, phase.seconds, phase.added_exponent) for phase in workload.phases]


def test_the_fourteen_workloads_and_the_long_flood_are_there() -> None:
    fixed = ["sec-short-0.7", *(f"{stem}-{load}" for stem in FIXED for load in (0.9, 1.1))]
    assert len(fixed) == 11
    named = ["sec-dynamic-a", "sec-dynamic-a-tuning", "sec-dynamic-b", "sec-flood", "sec-flood-long", *fixed]
    conversation = ["conversation-0.9", "conversation-1.1"]  # of which no claim speaks
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(named + conversation)


def test_the_tuning_workload_is_the_first_one_by_another_name() -> None:
    tuned, first = (load_workload(FOLDER / f"{name}.yaml") for name in ("sec-dynamic-a-tuning", "sec-dynamic-a"))
    assert dataclasses.replace(tuned, name=first.name) == first


def test_the_dynamic_workloads_are_as_specified() -> None:
    first = [
        ("warm-up", 0.6, 60, 0.0),
        ("steady", 0.7, 120, 0.0),
        ("burst", 1.3, 20, 0.0),
        ("gap", 0.7, 40, 0.0),
        ("spike", "calibrated", 60, 0.0),
        ("recovery", 0.7, 60, 0.0),
    ]
    assert phases_of("sec-dynamic-a") == first
    second = [phase for phase in first if phase[0] != "gap"]
    second[3] = ("spike", "calibrated", 60, 0.4)
    assert phases_of("sec-dynamic-b") == second


@pytest.mark.parametrize("stem", FIXED)
@pytest.mark.parametrize(("load", "seconds"), [(0.7, 300), (0.9, 300), (1.1, 120)])
def test_fixed_loads_follow_a_warm_up(stem: str, load: float, seconds: int) -> None:
    if load == 0.7 and stem != "sec-short":
        return
    assert phases_of(f"{stem}-{load}") == [("warm-up", 0.6, 60, 0.0), ("measured", load, seconds, 0.0)]


def test_contents_are_as_specified() -> None:
    short, long, mixed, musique, mooncake = (
        load_workload(FOLDER / f"{stem}-0.9.yaml").content
        for stem in FIXED  # type: ignore[union-attr]
    )
    assert (short.usual_excerpts, short.shallow_units) == (Range(2, 6), None)
    assert (long.usual_excerpts, long.shallow_units) == (Range(12, 30), ShallowUnits(0.1, Range(1, 3)))
    assert [(part.share, part.content) for part in mixed.parts] == [(0.5, short), (0.5, long)]
    assert {content.units for content in (short, long)} == {300}
    assert {content.popularity_exponent for content in (short, long)} == {1.2}
    assert (musique.popularity_exponent, musique.paragraph_order) == (0.4, "shared-first")
    assert (mooncake.longest_prompt_tokens, mooncake.ticks) == (16_384, "spread")


def test_the_same_content_whatever_the_load() -> None:
    for stem in FIXED:
        loads = [load_workload(path) for path in sorted(FOLDER.glob(f"{stem}-*.yaml"))]
        assert len(loads) == (3 if stem == "sec-short" else 2)
        for workload in loads:
            assert isinstance(workload, PhasedWorkload)
            assert (workload.content, workload.cache, workload.reference_requests) == (
                loads[0].content,  # type: ignore[union-attr]
                CacheRule(share=0.30, headroom_blocks=66, highest_blocks=12_970),
                600,
            )


def test_the_long_flood_differs_in_its_misses_alone() -> None:
    flood, long = (load_workload(FOLDER / f"{name}.yaml") for name in ("sec-flood", "sec-flood-long"))
    assert isinstance(flood, FloodWorkload)
    assert isinstance(long, FloodWorkload)
    assert (flood.misses.prompt_tokens, long.misses.prompt_tokens) == (Range(3_000, 6_000), Range(8_000, 14_000))
    misses = dataclasses.replace(long.misses, prompt_tokens=flood.misses.prompt_tokens)
    assert dataclasses.replace(long, name="sec-flood", misses=misses) == flood


def test_workloads_know_their_corpus() -> None:
    corpora = {path.stem: load_workload(path).corpus for path in FOLDER.glob("*.yaml")}
    assert {name.partition("-")[0]: corpus for name, corpus in corpora.items()} == {
        "sec": "sec",
        "musique": "musique",
        "mooncake": "mooncake",
        "conversation": "mooncake",
    }


def test_the_conversation_trace_is_replayed_as_the_agent_trace_is() -> None:
    for load in ("0.9", "1.1"):
        agents, conversations = (load_workload(FOLDER / f"{name}-{load}.yaml") for name in ("mooncake", "conversation"))
        assert dataclasses.replace(conversations, name=agents.name) == agents


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
        ("sec-dynamic-a.yaml", "kind: sec", "kind: news", "content.kind is 'news'"),
        ("sec-dynamic-a.yaml", "kind: sec", "kind: [sec]", r"content.kind is \['sec'\]"),
        ("sec-dynamic-b.yaml", "added_exponent: 0.4", "added_exponent: -0.4", "added_exponent is -0.4"),
        ("sec-mixed-0.9.yaml", "share: 0.5", "share: 1.5", "share is 1.5"),
        ("musique-0.9.yaml", "shared-first", "random", "content.paragraph_order is 'random'"),
        ("mooncake-0.9.yaml", "ticks: spread", "ticks: 3", "content.ticks is 3"),
        ("mooncake-0.9.yaml", "window_requests: 1000", "window_requests: 1", "window_requests at least 2"),
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
        ("sec-dynamic-a.yaml", "load: 1.3", "load: calibrated", "exactly one phase"),
        ("sec-short-0.9.yaml", "load: 0.9", "load: calibrated", "exactly one phase"),
        ("sec-dynamic-a.yaml", "  kind: sec\n", "", "key 'content.kind' is missing"),
        ("sec-mixed-0.9.yaml", "share: 0.5", "share: 0.4", "do not sum up to 1"),
        ("sec-mixed-0.9.yaml", "name: short-units", "name: long-units", "a name of its own"),
        ("mooncake-0.9.yaml", "seconds: 300}", "seconds: 300, added_exponent: 0.4}", "needs a popularity"),
        ("sec-dynamic-a.yaml", "name: gap", "name: steady", "same name"),
        ("sec-dynamic-a.yaml", "load: 1.3, seconds: 20", "load: 1.3, seconds: rest", "only the last phase"),
        ("mooncake-0.9.yaml", "seconds: 300", "seconds: all", "neither a number nor 'rest'"),
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
