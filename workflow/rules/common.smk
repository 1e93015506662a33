"""Names and helpers that all stages share."""

import functools
import os
import sys
from pathlib import Path

BASE = Path(workflow.basedir)
sys.path[:0] = [str(BASE / "src"), str(BASE / "workflow")]

from fairway.configuration import check_configuration
from fairway.errors import EXIT_BAD_INPUT, InputError
from fairway.traces.catalogue import Catalogue
from fairway.traces.corpus import FILE_NAMES
from environment import use_sources
from fingerprint import ANALYSIS_SOURCES, EXACT_SOURCES, TRACE_SOURCES, fingerprint, policy_fingerprint
from time_left import report_progress
from single_run import claim_folder

use_sources(BASE)

CONFIG_FILES = [DEFAULT_CONFIG, *workflow.config_settings.configfiles]  # later ones override earlier ones
try:
    CONFIG = check_configuration(config, [Path(os.path.relpath(file)) for file in CONFIG_FILES], BASE)
except InputError as error:
    print(f"error: {error}", file=sys.stderr)
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
    corpus=r"[a-z]+",


PROFILE = f"results/profile/{CONFIG.profile}.json"
CALIBRATION = "results/calibration/{workload}/{seed}.json"
TRACE = "data/traces/{workload}/{seed}.jsonl"
TRACE_HEADER = "data/traces/{workload}/{seed}.header.json"
ROWS = "results/rows/{backend}/{workload}/{policy}"
PARTS = ["requests.parquet", "hooks.parquet", "runs.parquet", "seal.json"]

# A parameter of each rule: changed code makes what rests on it anew, a new policy's file nobody else's results.
PACKAGE = BASE / "src" / "fairway"
TRACE_CODE = fingerprint(PACKAGE, TRACE_SOURCES)
EXACT_CODE = fingerprint(PACKAGE, EXACT_SOURCES)
ANALYSIS_CODE = fingerprint(PACKAGE, ANALYSIS_SOURCES)


def replay_code(wildcards):
    """Give the fingerprint of what a replay runs."""
    return policy_fingerprint(PACKAGE, wildcards.policy)


CATALOGUE = Catalogue(Path(source("config")))


@functools.cache
def files_of(workload):
    """Give the files that a workload's settings come from."""
    return [str(file) for file in CATALOGUE.find(workload).files]


def workload_files(wildcards):
    """Give the files of a job's workload."""
    return files_of(wildcards.workload)


def workload_reference(wildcards):
    """Give what scripts call a workload."""
    return str(CATALOGUE.find(wildcards.workload))


CORPUS_OF_FILE = {}  # every workload of one file has the same corpus: neither a variant nor the sweep changes it


def corpus_of(workload):
    """Give the corpus that a workload's requests are made of."""
    reference = CATALOGUE.find(workload)
    if reference.file not in CORPUS_OF_FILE:
        CORPUS_OF_FILE[reference.file] = f"data/corpus/{FILE_NAMES[reference.load().corpus]}"
    return CORPUS_OF_FILE[reference.file]


def workload_corpus(wildcards):
    """Give the corpus of a job's workload."""
    return corpus_of(wildcards.workload)


RUNS = {"workload": CONFIG.workloads, "seed": CONFIG.seeds}
CORPORA = sorted({corpus_of(workload) for workload in CONFIG.workloads})
CALIBRATIONS = expand(CALIBRATION, **RUNS)
TRACES = expand([TRACE, TRACE_HEADER], **RUNS)
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

# Tables compare policies in simulation; rows of other backends stand beside them, never pooled with them.
TABLE_ROWS = expand(
    f"{ROWS}/{{part}}",
    backend="sim",
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
