"""Names and helpers that all stages share."""

import functools
import os
import re
import sys
from pathlib import Path

BASE = Path(workflow.basedir)
sys.path[:0] = [str(BASE / "src"), str(BASE / "workflow")]

from fairway.configuration import check_configuration
from fairway.errors import EXIT_BAD_INPUT, InputError
from fairway.traces.catalogue import Catalogue, varied
from fairway.traces.corpus import FILE_NAMES
from fairway.yamlfile import read_yaml
from batches import replay_batches, workloads_by_seeds
from environment import execute_notebooks_by_nbconvert, is_compiled, missing_vllm
from environment import quote_folder_of_notebooks, use_sources
from fingerprint import ANALYSIS_SOURCES, BOUNDS_SOURCES, EXACT_SOURCES, NOTEBOOK_SOURCES
from fingerprint import PUBLICATION_SOURCES, REGIME_SOURCES, TRACE_SOURCES, WATCHING_SOURCES
from fingerprint import fingerprint, policy_fingerprint, scripts_of
from made_by import made_by
from time_left import report_progress
from single_run import claim_folder, refuse_folder_that_cannot_be_written_to

refuse_folder_that_cannot_be_written_to(BASE / "Snakefile")
IN_CONDA = use_sources(BASE, workflow.deployment_settings)
quote_folder_of_notebooks()
execute_notebooks_by_nbconvert()

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


PROFILE = "results/profile/{profile}.json"
CALIBRATION = "results/calibration/{workload}/{seed}.json"
TRACE = "data/traces/{workload}/{seed}.jsonl"
REPLAYED_TRACE = "data/traces/{workload}/{seed}.parquet"  # the same trace, read in a tenth of the time
REPLAYED_FILES = [REPLAYED_TRACE, "data/traces/{workload}/{seed}.parquet.header.json"]
TRACE_FILES = [TRACE, "data/traces/{workload}/{seed}.header.json", *REPLAYED_FILES]
TOKEN_IDS = "data/traces/{workload}/{seed}.tokens.parquet"
BOUNDS = "results/bounds/{workload}.json"
ROWS_ROOT = "results/rows/{backend}"
ROWS = f"{ROWS_ROOT}/{{workload}}/{{policy}}"
PARTS = ["requests.parquet", "hooks.parquet", "runs.parquet", "seal.json"]

# A parameter of each rule: changed code makes what rests on it anew, a new policy's file nobody else's results.
PACKAGE = BASE / "src" / "fairway"
SCRIPTS = BASE / "scripts"
TRACE_CODE = fingerprint(PACKAGE, TRACE_SOURCES, scripts_of("trace", SCRIPTS))
EXACT_CODE = fingerprint(PACKAGE, EXACT_SOURCES, scripts_of("exact", SCRIPTS))
BOUNDS_CODE = fingerprint(PACKAGE, BOUNDS_SOURCES, scripts_of("bounds", SCRIPTS))
ANALYSIS_CODE = fingerprint(PACKAGE, ANALYSIS_SOURCES, scripts_of("analysis", SCRIPTS))


def replay_code(wildcards):
    """Give the fingerprint of what a replay runs."""
    policy = CONFIG.policy_variant(wildcards.policy).policy
    return policy_fingerprint(PACKAGE, policy, wildcards.backend, scripts_of("replay", SCRIPTS))


def policy_options(wildcards):
    """Give the options that name a replay's policy and, where it is a variant, what is its own."""
    variant = CONFIG.policy_variant(wildcards.policy)
    parameters = [f"--set {name}={value}" for name, value in sorted(variant.parameters.items())]
    options = [f"--policy {variant.policy}", *parameters, f"--eviction {variant.eviction}"]
    return " ".join([*options, f"--name {wildcards.policy}"])


def parent_of(pattern):
    """Give the folder of a pattern's files."""
    return pattern.rpartition("/")[0]


def seed_files(pattern, workload):
    """Give one file for each seed of a workload."""
    return expand(pattern, workload=workload, seed=CONFIG.seeds_for(workload))


def replay_options(workload):
    """Give the options that name a workload's traces and the folder of their rows."""
    return f"--traces {' '.join(seed_files(REPLAYED_TRACE, workload))} --out-dir {ROWS}".replace("{workload}", workload)


def row_files(backends, workloads):
    """Give the rows of each policy of each workload."""
    return [
        file
        for workload in workloads
        for file in expand(
            f"{ROWS}/{{part}}", backend=backends, workload=workload, policy=CONFIG.policies_for(workload), part=PARTS
        )
    ]


CATALOGUE = Catalogue(Path(source("config")))


@functools.cache
def reference_of(workload):
    """Give where a workload is described."""
    return CATALOGUE.find(workload)


def workload_files(wildcards):
    """Give the files that the settings of a job's workload come from."""
    return [str(file) for file in reference_of(wildcards.workload).files]


def workload_reference(wildcards):
    """Give what scripts call a workload."""
    return str(reference_of(wildcards.workload))


CORPUS_OF_FILE = {}  # every workload of one file has the same corpus: neither a variant nor the sweep changes it


def corpus_of(workload):
    """Give the corpus that a workload's requests are made of."""
    reference = reference_of(workload)
    if reference.file not in CORPUS_OF_FILE:
        CORPUS_OF_FILE[reference.file] = f"data/corpus/{FILE_NAMES[reference.load().corpus]}"
    return CORPUS_OF_FILE[reference.file]


def workload_corpus(wildcards):
    """Give the corpus of a job's workload."""
    return corpus_of(wildcards.workload)


@functools.cache
def profile_of(workload):
    """Give the name of the profile that a workload runs on: its variant's own, or the configuration's."""
    return reference_of(workload).profile or CONFIG.profile


def workload_profile(wildcards):
    """Give the profile of a job's workload."""
    return PROFILE.format(profile=profile_of(wildcards.workload))


def traces_rule(seeds):
    """Give the name of the rule that builds traces of these seeds."""
    return f"build_traces_{len(seeds)}_seeds_from_{seeds[0]}"


def one_of(names):
    """Give the constraint that a wildcard is one of some names."""
    return "|".join(map(re.escape, names))


CLAIMS_FILE = source("paper/claims.yaml")
CLAIMS = read_yaml(Path(CLAIMS_FILE)).values
CAUSES_FILE, MEASURED_CAUSES = source("paper/causes.yaml"), source("docs/causes")
CAUSES_OPTIONS = f"--causes {CAUSES_FILE!r} {MEASURED_CAUSES!r} --root {source('.')!r}"
CAUSES = [CAUSES_FILE, *sorted(map(str, Path(MEASURED_CAUSES).glob("*.json")))]
# What was measured on a device gets a column of the claims table: what is kept, or was made in this working directory.
KEPT_CLAIMS = {file.parent.name: str(file) for file in Path(source("docs/measured")).glob("*/claims.json")}
OWN_CLAIMS = {file.parents[1].name: str(file) for file in Path("results/measured").glob("*/tables/claims.json")}
MEASURED_CLAIMS = [file for _, file in sorted({**KEPT_CLAIMS, **OWN_CLAIMS}.items())]
SETS, GROUPS = CLAIMS["workload_sets"], CLAIMS["groups"]

# Workloads with seeds or policies of their own are asked apart: tables compare those that all policies ran alike.
TABLE_WORKLOADS = [
    workload
    for workload in CONFIG.workloads
    if (CONFIG.policies_for(workload), CONFIG.seeds_for(workload)) == (CONFIG.policies, CONFIG.seeds)
]
WORKLOADS_BY_SEEDS = workloads_by_seeds(CONFIG)
REPLAY_BATCHES = replay_batches(CONFIG, profile_of, apart=SETS["dynamic"])
CORPORA = sorted({corpus_of(workload) for workload in CONFIG.replayed_workloads})
PROFILES = sorted({PROFILE.format(profile=profile_of(workload)) for workload in CONFIG.replayed_workloads})
CALIBRATIONS = [file for workload in CONFIG.replayed_workloads for file in seed_files(CALIBRATION, workload)]
TRACES = [file for workload in CONFIG.replayed_workloads for file in seed_files(TRACE_FILES, workload)]
ROW_FILES = row_files(CONFIG.backends, CONFIG.replayed_workloads)
BOUND_FILES = expand(BOUNDS, workload=TABLE_WORKLOADS)
ENGINE_OPTIONS = (
    f"--budget-tokens {CONFIG.engine.budget_tokens} --max-num-seqs {CONFIG.engine.max_num_seqs}"
    f" --block-tokens {CONFIG.engine.block_tokens}"
)


def table_rows(backend):
    """Give the rows that tables compare: those of one backend; backends stand beside each other, never pooled."""
    return row_files(backend, TABLE_WORKLOADS)


def groups_of(workloads):
    """Give those workloads together that have the same policies and as many seeds: (workloads, policies, seeds)."""
    groups = {}
    for workload in workloads:
        group = (CONFIG.policies_for(workload), len(CONFIG.seeds_for(workload)))
        groups.setdefault(group, []).append(workload)
    return [(names, policies, seeds) for (policies, seeds), names in groups.items()]


def as_options(groups):
    """Give groups of results as answer_claims.py wants them beside the first one."""
    return [f"{','.join(names)}:{','.join(policies)}:{seeds}" for names, policies, seeds in groups]


def other_groups():
    """Give the results that claims are asked on beside the tables' ones."""
    return as_options(groups_of([name for name in CONFIG.workloads if name not in TABLE_WORKLOADS]))


SPIKE_WORKLOAD = "sec-dynamic-a"
FLOOD_WORKLOAD = "sec-flood"
# More lines than these make a figure unreadable; a policy added to the configuration leaves the figures alone.
FIGURE_POLICIES = ["fcfs", "lpm", "ragcache", "fairway"]


def figure_policies(workload):
    """Give the policies that a figure of one workload draws."""
    run = CONFIG.policies_for(workload) if workload in CONFIG.workloads else []
    return [name for name in FIGURE_POLICIES if name in run]


def figure_rows(workload):
    """Give the rows that a figure of one workload draws."""
    policies = figure_policies(workload)
    return expand(f"{ROWS}/{{part}}", backend="sim", workload=workload, policy=policies, part=PARTS)


def vllm_tables():
    """Give what the rows of vLLM's own scheduler add, if they are configured."""
    if not VLLM_IS_ASKED:
        return []
    tables = expand("results/tables/vllm-virtual/{name}.{kind}", name=["metrics", "claims"], kind=["csv", "md", "json"])
    return [*tables, "results/tables/backends_agree.json"]


SIZES = {
    f"replay_{batch.name}": ("replay", sum(len(CONFIG.seeds_for(workload)) for workload in batch.workloads))
    for batch in REPLAY_BATCHES
}
SIZES |= {traces_rule(seeds): ("build_traces", len(seeds)) for seeds in WORKLOADS_BY_SEEDS}
if workflow.is_main_process:
    report_progress(SIZES, workflow.output_settings.quiet or [], compiles=not is_compiled())
