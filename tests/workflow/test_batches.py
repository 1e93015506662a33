"""Job sizes: workloads that one job replays, and how many jobs a run has."""

import re
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from batches import MOST_WORKLOADS, replay_batches, workloads_by_seeds
from fairway.configuration import Configuration, load_configuration

Process = subprocess.CompletedProcess[str]
APART = ("sec-dynamic-a", "sec-dynamic-b")


@pytest.fixture(params=["quick", "full", "parity", "tiny"])
def configuration(request: pytest.FixtureRequest, root: Path) -> Configuration:
    files = [root / "config/quick.yaml", root / f"config/{request.param}.yaml"]
    return load_configuration(files, root)


def profile_of(workload: str) -> str:
    return "pessimistic" if workload.endswith("--pessimistic") else "default"


def test_every_workload_is_replayed_once_with_its_likes(configuration: Configuration) -> None:
    batches = [batch.workloads for batch in replay_batches(configuration, profile_of, APART)]
    assert sorted(chain(*batches)) == sorted(configuration.replayed_workloads)
    for batch in batches:
        assert len(batch) <= MOST_WORKLOADS
        assert len({(configuration.policies_for(name), profile_of(name)) for name in batch}) == 1
        assert len({name in APART for name in batch}) == 1


def test_a_rule_s_name_is_one_of_a_kind(configuration: Configuration) -> None:
    names = [batch.name for batch in replay_batches(configuration, profile_of, APART)]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


def test_workloads_of_the_same_seeds_share_a_rule(configuration: Configuration) -> None:
    groups = workloads_by_seeds(configuration)
    assert sorted(chain(*groups.values())) == sorted(configuration.replayed_workloads)
    assert all(configuration.seeds_for(name) == seeds for seeds, names in groups.items() for name in names)


def test_another_workload_leaves_full_batches_alone(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def batches(workloads: str) -> list[tuple[str, ...]]:
        (tmp_path / "more.yaml").write_text(f"workloads: [{workloads}]\n", encoding="utf-8")
        configuration = load_configuration([root / "config/quick.yaml", tmp_path / "more.yaml"], root)
        return [batch.workloads for batch in replay_batches(configuration, profile_of, ())]

    monkeypatch.setattr("batches.MOST_WORKLOADS", 3)
    before, after = batches("sweep-01, sweep-02, sec-flood"), batches("sweep-01, sweep-02, sec-flood, sec-flood-long")
    assert after == [*before, ("sec-flood-long",)]


def jobs(snakemake: Callable[..., Process], folder: Path, configuration: Path) -> int:
    planned = snakemake(folder, "--cores", "1", "--dry-run", "--quiet", "host", "--configfile", str(configuration))
    assert planned.returncode == 0, planned.stdout
    return int(re.findall(r"^total\s+(\d+)$", planned.stdout, flags=re.MULTILINE)[-1])


@pytest.mark.parametrize(("name", "most"), [("quick", 100), pytest.param("full", 260, marks=pytest.mark.slow)])
def test_a_run_has_few_jobs(
    name: str, most: int, tmp_path: Path, root: Path, snakemake: Callable[..., Process]
) -> None:
    """A job costs Snakemake and Python about a second before its work begins."""
    assert jobs(snakemake, tmp_path, root / f"config/{name}.yaml") <= most
