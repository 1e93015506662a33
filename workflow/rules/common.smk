"""Names and helpers that all stages share."""

import os
import sys
from pathlib import Path

BASE = Path(workflow.basedir)
sys.path[:0] = [str(BASE / "src"), str(BASE / "workflow")]

from snakemake.settings.types import DeploymentMethod

from fairway.configuration import check_configuration
from fairway.errors import EXIT_BAD_INPUT, InputError
from environment import missing_vllm, use_sources
from fingerprint import ANALYSIS_SOURCES, BOUNDS_SOURCES, EXACT_SOURCES, TRACE_SOURCES
from fingerprint import fingerprint, policy_fingerprint
from time_left import report_progress
from single_run import claim_folder

IN_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
use_sources(BASE, IN_CONDA)

CONFIG_FILES = [DEFAULT_CONFIG, *workflow.config_settings.configfiles]  # later ones override earlier ones
try:
    CONFIG = check_configuration(config, [Path(os.path.relpath(file)) for file in CONFIG_FILES], BASE)
except InputError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(EXIT_BAD_INPUT)

VLLM_IS_ASKED = "vllm-virtual" in CONFIG.backends
if VLLM_IS_ASKED and not IN_CONDA and missing_vllm(BASE):
    print(f"error: {missing_vllm(BASE)}", file=sys.stderr)
    sys.exit(EXIT_BAD_INPUT)

if workflow.is_main_process:
    report_progress()


def source(path):
    """Say where a file of the repository is, relative to the working directory: a moved folder reruns nothing."""
    return os.path.relpath(BASE / path)


wildcard_constraints:
    seed=r"\d+",
    workload=r"[^/]+",
    policy=r"[^/]+",
    profile=r"[^/]+",
    backend=r"[^/]+",


WORKLOAD_FILE = source("config/workloads/{workload}.yaml")
PROFILE = f"results/profile/{CONFIG.profile}.json"
CORPUS = "data/corpus/sec.json"
CALIBRATION = "results/calibration/{workload}/{seed}.json"
TRACE = "data/traces/{workload}/{seed}.jsonl"
TRACE_HEADER = "data/traces/{workload}/{seed}.header.json"
BOUNDS = "results/bounds/{workload}.json"
ROWS = "results/rows/{backend}/{workload}/{policy}"
PARTS = ["requests.parquet", "hooks.parquet", "runs.parquet", "seal.json"]

# A parameter of each rule: changed code makes what rests on it anew, a new policy's file nobody else's results.
PACKAGE = BASE / "src" / "fairway"
TRACE_CODE = fingerprint(PACKAGE, TRACE_SOURCES)
EXACT_CODE = fingerprint(PACKAGE, EXACT_SOURCES)
BOUNDS_CODE = fingerprint(PACKAGE, BOUNDS_SOURCES)
ANALYSIS_CODE = fingerprint(PACKAGE, ANALYSIS_SOURCES)


def replay_code(wildcards):
    """Give the fingerprint of what a replay runs."""
    return policy_fingerprint(PACKAGE, wildcards.policy, wildcards.backend)


RUNS = {"workload": CONFIG.workloads, "seed": CONFIG.seeds}
CALIBRATIONS = expand(CALIBRATION, **RUNS)
TRACES = expand([TRACE, TRACE_HEADER], **RUNS)
BOUND_FILES = expand(BOUNDS, workload=CONFIG.workloads)
ROW_FILES = expand(
    f"{ROWS}/{{part}}",
    backend=CONFIG.backends,
    workload=CONFIG.workloads,
    policy=CONFIG.policies,
    part=PARTS,
)
ENGINE_OPTIONS = (
    f"--budget-tokens {CONFIG.engine.budget_tokens} --max-num-seqs {CONFIG.engine.max_num_seqs}"
    f" --block-tokens {CONFIG.engine.block_tokens}"
)


def table_rows(backend):
    """Give the rows that tables compare: those of one backend; backends stand beside each other, never pooled."""
    return expand(
        f"{ROWS}/{{part}}",
        backend=backend,
        workload=CONFIG.workloads,
        policy=CONFIG.policies,
        part=PARTS,
    )


SPIKE_WORKLOAD = "sec-dynamic-a"
FLOOD_WORKLOAD = "sec-flood"
# More lines than these make a figure unreadable; a policy added to the configuration leaves the figures alone.
FIGURE_POLICIES = [name for name in ["fcfs", "lpm", "ragcache", "fairway"] if name in CONFIG.policies]


def figure_rows(workload):
    """Give the rows that a figure of one workload draws."""
    return expand(f"{ROWS}/{{part}}", backend="sim", workload=workload, policy=FIGURE_POLICIES, part=PARTS)


def figures():
    """Give the figures whose workload is configured."""
    names = {SPIKE_WORKLOAD: "spike-timeline", FLOOD_WORKLOAD: "flood"}
    drawn = [names[workload] for workload in CONFIG.workloads if workload in names and FIGURE_POLICIES]
    return expand("figures/{name}.{kind}", name=drawn, kind=["pdf", "svg"])


def vllm_tables():
    """Give what the rows of vLLM's own scheduler add, if they are configured."""
    if not VLLM_IS_ASKED:
        return []
    tables = expand("results/tables/vllm-virtual/{name}.{kind}", name=["metrics", "claims"], kind=["csv", "md", "json"])
    return [*tables, "results/tables/backends_agree.json"]
