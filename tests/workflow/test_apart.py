"""Variants of policies, and workloads with seeds or policies of their own."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairway.configuration import Configuration, PolicyVariant, load_configuration
from fairway.errors import InputError

Process = subprocess.CompletedProcess[str]

APART = """\
workloads: [sec-flood, sec-dynamic-a, sweep-01, sweep-02]
policies: [fcfs, lpm, fairway]
policy_variants:
  fairway-weight-2: {policy: fairway, parameters: {fast_weight: 2}}
  fairway-floor-2: {policy: fairway, parameters: {patience_floor_s: 2, wait: absolute}}
  lpm+pgdsf: {policy: lpm, eviction: pgdsf}
policies_of:
  sec-dynamic-a: [fairway, fairway-weight-2, fairway-floor-2, lpm+pgdsf]
  sweep: [fcfs, lpm, fairway]
seeds_of:
  sec-dynamic-a: {first: 700, count: 1}
  sweep: {first: 201, count: 3}
"""
BAD = {  # what is replaced, by what: the line of the fault, what the message says
    "parameter": ("fast_weight: 2", "fast_wait: 2", 4, "refuses its parameters"),
    "value": ("fast_weight: 2", "fast_weight: -2", 4, "fast_weight must be a positive number"),
    "base": (
        "{policy: fairway, parameters: {fast_weight: 2}}",
        "{policy: fareway, parameters: {}}",
        4,
        "unknown policy",
    ),
    "name that is taken": ("  fairway-weight-2: {policy", "  srpt: {policy", 4, "'srpt' is a policy's own name"),
    "no variant": ("[fairway, fairway-weight-2", "[fairway, fairway-weight-3", 8, "unknown policy 'fairway-weight-3'"),
    "workload": ("  sec-dynamic-a: [fair", "  sec-dynamic-c: [fair", 8, "unknown workload 'sec-dynamic-c'"),
    "family": ("  sweep: {first", "  swoop: {first", 12, "unknown workload 'swoop'"),
    "count": ("count: 3}", "count: 0}", 12, "seeds_of.sweep.count: 0"),
    "no change": ("lpm, eviction: pgdsf}", "lpm}", 6, "policy_variants.lpm+pgdsf"),
    "eviction": ("eviction: pgdsf", "eviction: fifo", 6, "policy_variants.lpm+pgdsf.eviction: 'fifo'"),
    "shell": ("wait: absolute", 'wait: "a; b"', 5, "policy_variants.fairway-floor-2.parameters.wait"),
}


@pytest.fixture
def load(tmp_path: Path, root: Path) -> Callable[[str], Configuration]:
    """Load quick.yaml with this text over it."""

    def read(text: str) -> Configuration:
        (tmp_path / "apart.yaml").write_text(text, encoding="utf-8")
        return load_configuration([root / "config/quick.yaml", tmp_path / "apart.yaml"], root)

    return read


def test_a_workload_has_the_seeds_and_policies_of_its_own_its_family_or_the_run(
    load: Callable[[str], Configuration],
) -> None:
    configuration = load(APART)
    assert configuration.seeds_for("sec-flood") == (1, 2, 3, 4, 5)
    assert configuration.seeds_for("sec-dynamic-a") == (700,)
    assert configuration.seeds_for("sweep-02") == (201, 202, 203)
    assert configuration.policies_for("sec-flood") == ("fcfs", "lpm", "fairway")
    assert configuration.policies_for("sec-dynamic-a") == (
        "fairway",
        "fairway-weight-2",
        "fairway-floor-2",
        "lpm+pgdsf",
    )


def test_a_version_at_the_end_of_a_name_is_no_number(load: Callable[[str], Configuration]) -> None:
    configuration = load("seeds_of: {sec-short-0.9: {first: 7, count: 1}}\n")
    assert configuration.seeds_for("sec-short-0.9") == (7,)
    assert configuration.seeds_for("sec-short-0.7") == configuration.seeds
    with pytest.raises(InputError, match="unknown workload 'sec-short'"):
        load("seeds_of: {sec-short: {first: 7, count: 1}}\n")


def test_a_name_is_a_variant_or_the_policy_itself(load: Callable[[str], Configuration]) -> None:
    configuration = load(APART)
    assert configuration.policy_variant("fairway-weight-2") == PolicyVariant("fairway", {"fast_weight": 2}, "lru")
    assert configuration.policy_variant("lpm+pgdsf") == PolicyVariant("lpm", {}, "pgdsf")
    assert configuration.policy_variant("klpm-4") == PolicyVariant("klpm-4", {}, "lru")


@pytest.mark.parametrize("fault", BAD)
def test_fault_is_named_with_its_line(fault: str, load: Callable[[str], Configuration], tmp_path: Path) -> None:
    old, new, line, problem = BAD[fault]
    assert APART.count(old) == 1
    with pytest.raises(InputError) as caught:
        load(APART.replace(old, new))
    assert problem in caught.value.problem
    assert (caught.value.file, caught.value.line) == (tmp_path / "apart.yaml", line)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory, snakemake: Callable[..., Process]) -> str:
    """Plan a run with `APART`, and show its commands."""
    return plan(tmp_path_factory.mktemp("apart"), snakemake, APART)


def plan(folder: Path, snakemake: Callable[..., Process], text: str, *targets: str) -> str:
    (folder / "apart.yaml").write_text(text, encoding="utf-8")
    (folder / "run").mkdir()
    options = ["--cores", "1", "--dry-run", "--printshellcmds", "--quiet", "host", "--configfile"]
    process = snakemake(folder / "run", *options, str(folder / "apart.yaml"), "--", *targets)
    assert process.returncode == 0, process.stdout
    return process.stdout


def test_a_variant_is_replayed_with_its_parameters_under_its_name(planned: str) -> None:
    options = "--policy fairway --set patience_floor_s=2 --set wait=absolute --eviction lru --name fairway-floor-2"
    assert options in planned
    assert "--policy lpm --eviction pgdsf --name lpm+pgdsf" in planned
    assert "--policy lpm --eviction lru --name lpm " in planned
    folders = set(re.findall(r"--out-dir results/rows/sim/(\S+)", planned))
    assert "sec-dynamic-a/fairway-weight-2" in folders
    assert "sec-flood/fairway-weight-2" not in folders
    assert "sec-dynamic-a/fcfs" not in folders


def test_results_apart_are_in_no_common_table_but_claims_ask_them(planned: str) -> None:
    (metrics,) = re.findall(r"tabulate_metrics.py .*", planned)
    assert "--workloads sec-flood --policies fcfs lpm fairway" in metrics
    (claims,) = re.findall(r"answer_claims.py .*", planned)
    assert "sec-dynamic-a:fairway,fairway-weight-2,fairway-floor-2,lpm+pgdsf:1" in claims
    assert "sweep-01,sweep-02:fcfs,lpm,fairway:3" in claims
    (regimes,) = re.findall(r"plot_regimes.py .*", planned)
    assert "--workloads sweep-01 sweep-02 --policies fcfs lpm fairway --lacking-workloads sweep-03" in regimes
    assert "--lacking-policies klpm-4 klpm-8 ragcache preble peek" in regimes


def test_section_5_2_is_the_two_traces_and_nothing_else(tmp_path: Path, snakemake: Callable[..., Process]) -> None:
    settings = "workloads: [sec-flood, sec-dynamic-a, sec-dynamic-b]\n"
    text = plan(tmp_path, snakemake, settings, "section_5_2")
    rules = set(re.findall(r"^rule (\w+):$", text, flags=re.MULTILINE))
    assert {"tabulate_section_5_2", "answer_section_5_2", "plot_targets", "plot_spike_timeline_b"} <= rules
    assert not rules & {"answer_claims", "tabulate_metrics", "plot_flood", "plot_plane", "summarise", "all"}
    assert "sec-flood" not in "".join(re.findall(r"output: (.*)", text))
    (claims,) = re.findall(r"answer_claims.py .*", text)
    assert "--workloads sec-dynamic-a sec-dynamic-b " in claims
    assert "--about sec-dynamic-a sec-dynamic-b " in claims


VARIED = """\
workload_variants:
  policies: [fcfs, fairway]
  workloads:
    cache-0.25: [sec-dynamic-a, sec-short-0.7]
    pessimistic: [sec-flood]
"""


def test_varied_workloads_run_beside_their_own_and_stand_in_one_table(
    tmp_path: Path, snakemake: Callable[..., Process], load: Callable[[str], Configuration]
) -> None:
    text = f"workloads: [sec-dynamic-a, sec-flood]\npolicies: [fcfs, lpm, fairway]\n{VARIED}"
    assert load(text).workload_variants.names == ("sec-dynamic-a--cache-0.25", "sec-flood--pessimistic")
    planned = plan(tmp_path, snakemake, text)
    (table,) = re.findall(r"tabulate_variants.py .*", planned)
    assert "--workloads sec-dynamic-a sec-flood --policies fcfs fairway " in table
    assert (
        "--variant cache-0.25 sec-dynamic-a=sec-dynamic-a--cache-0.25 --variant pessimistic sec-flood=sec-fl" in table
    )
    (metrics,) = re.findall(r"tabulate_metrics.py .*", planned)
    assert "--workloads sec-dynamic-a sec-flood --policies" in metrics
    folders = set(re.findall(r"--out-dir results/rows/sim/(\S+)", planned))
    assert "sec-flood--pessimistic/fairway" in folders
    assert "sec-flood--pessimistic/lpm" not in folders
    for command in re.findall(r"(?:replay|build_traces).py .*", planned):
        assert ("modelled-pessimistic.json" in command) == ("sec-flood--pessimistic" in command)
    (summary,) = re.findall(r"summarise.py .*", planned)
    assert "results/tables/variants.json" in summary
