"""Changed code makes what rests on it anew, and nothing else."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def prints(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(root / "workflow"))
    import fingerprint

    yield fingerprint
    del sys.modules["fingerprint"]


@pytest.fixture
def package(root: Path, tmp_path: Path) -> Path:
    return shutil.copytree(root / "src/fairway", tmp_path / "fairway")


def stages(prints, package: Path) -> dict[str, str]:
    return {
        name: prints.fingerprint(package, getattr(prints, f"{name}_SOURCES"))
        for name in ("TRACE", "REPLAY", "BOUNDS", "EXACT", "ANALYSIS")
    }


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("engine/scheduler.py", {"TRACE", "REPLAY"}),
        ("core/clock.py", {"TRACE", "REPLAY"}),
        ("hooks.py", {"TRACE", "REPLAY"}),
        ("calibration/phased.py", {"TRACE"}),
        ("recording.py", {"REPLAY"}),
        ("policies/rules.py", {"TRACE", "REPLAY", "EXACT"}),
        ("policies/klpm.py", set()),
        ("policies/a_new_policy.py", set()),
        ("policies/__init__.py", set()),
        ("analysis/claims.py", {"ANALYSIS"}),
        ("analysis/figures/style.py", {"ANALYSIS"}),
        ("exact/golden.py", {"EXACT"}),
        ("bounds/chunking.py", {"BOUNDS"}),
        ("profile/step_time.py", {"TRACE", "REPLAY", "BOUNDS"}),
        ("policies/first_seen.py", set()),
    ],
)
def test_a_change_reaches_the_stages_that_rest_on_it(prints, package: Path, file: str, stale: set[str]) -> None:
    before = stages(prints, package)
    with (package / file).open("a", encoding="utf-8") as source:
        source.write("\n# changed\n")
    after = stages(prints, package)
    assert {name for name in before if before[name] != after[name]} == stale


def test_two_policies_of_different_files_have_different_fingerprints(prints, root: Path) -> None:
    package = root / "src/fairway"
    assert prints.policy_fingerprint(package, "lpm", "sim", []) != prints.policy_fingerprint(package, "srpt", "sim", [])
    assert prints.policy_fingerprint(package, "klpm-4", "sim", []) == prints.policy_fingerprint(
        package, "klpm-8", "sim", []
    )


def test_a_policy_s_fingerprint_holds_the_policies_it_builds_on(prints, package: Path) -> None:
    names = {"klpm-4": True, "lpm": False, "srpt": False}  # k-LPM takes its best from LPM's file
    before = {name: prints.policy_fingerprint(package, name, "sim", []) for name in names}
    with (package / "policies/lpm.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = {name: prints.policy_fingerprint(package, name, "sim", []) for name in names}
    assert {name: before[name] != after[name] for name in names} == names


def test_what_drives_vllm_counts_for_its_backend_alone(prints, package: Path) -> None:
    before = [prints.policy_fingerprint(package, "lpm", backend, []) for backend in ("sim", "vllm-virtual")]
    with (package / "vllm/engine.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = [prints.policy_fingerprint(package, "lpm", backend, []) for backend in ("sim", "vllm-virtual")]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


def test_a_folder_s_place_does_not_count(prints, package: Path, root: Path) -> None:
    assert stages(prints, package) == stages(prints, root / "src/fairway")


def test_every_script_of_a_rule_counts_for_one_stage(prints, root: Path) -> None:
    rules = [root / "Snakefile", *(root / "workflow/rules").glob("*.smk")]
    run = {name for file in rules for name in re.findall(r"[\"/](\w+\.py)(?!\.)", file.read_text(encoding="utf-8"))}
    staged = [file.name for stage in prints.SCRIPTS for file in prints.scripts_of(stage, root / "scripts")]
    assert sorted(staged) == sorted(run - {"show_claims.py"})


def test_a_changed_script_reaches_its_stage_alone(prints, package: Path, root: Path, tmp_path: Path) -> None:
    scripts = shutil.copytree(root / "scripts", tmp_path / "scripts")

    def codes() -> dict[str, str]:
        return {
            stage: prints.fingerprint(package, [], prints.scripts_of(stage, scripts)) for stage in prints.SCRIPTS
        } | {"lpm": prints.policy_fingerprint(package, "lpm", "sim", prints.scripts_of("replay", scripts))}

    before = codes()
    with (scripts / "replay.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = codes()
    assert {stage for stage in before if before[stage] != after[stage]} == {"replay", "lpm"}
