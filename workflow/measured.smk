"""Measurements on a real engine: `snakemake -s workflow/measured.smk --config day=config/gpu-day.yaml --cores 2`.

First the profile, then stage after stage; a run that is killed goes on where it stopped. One job has the device at a
time.
"""

import os
import re
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.14")

BASE = Path(workflow.basedir).parent
sys.path[:0] = [str(BASE / "src"), str(BASE / "workflow")]

from fairway.errors import EXIT_BAD_INPUT, InputError
from fairway.measuring.day import budget, load_day
from fairway.rows import FILE_NAMES as ROW_FILES, MEASUREMENT
from fairway.traces.corpus import FILE_NAMES
from fairway.traces.workload import load_workload
from environment import missing_vllm, use_sources
from single_run import claim_folder, refuse_folder_that_cannot_be_written_to

refuse_folder_that_cannot_be_written_to(BASE / "workflow/measured.smk")
use_sources(BASE, workflow.deployment_settings)
workflow.global_resources["device"] = 1  # whatever --cores says

DAY_FILE = Path(config.get("day", BASE / "config/measured/cpu-loop.yaml"))
try:
    DAY = load_day(DAY_FILE, BASE)
except InputError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(EXIT_BAD_INPUT)


ROOT = f"results/measured/{DAY.profile.name}"
PROFILE = f"{ROOT}/profile.json"
CALIBRATION = f"{ROOT}/calibration/{{workload}}/{{seed}}.json"
TRACE = f"{ROOT}/traces/{{workload}}/{{seed}}.jsonl"
SIMULATED = f"{ROOT}/rows/sim/{{workload}}/{{policy}}"
SLOW_PROFILE = f"{ROOT}/speeds/{{repeat}}/{{workload}}/{{policy}}.json"
AT_SPEED = f"{ROOT}/rows/at-speed/{{repeat}}/{{workload}}/{{policy}}"
MEASURED = f"{ROOT}/rows/vllm/{{repeat}}/{{workload}}/{{policy}}"
UNDER_WAY = f"{ROOT}/rows/under-way/{{repeat}}/{{workload}}/{{policy}}"
MEASURED_LIST = f"{ROOT}/rows/vllm/{{workload}}.json"
REPEATS = range(1, DAY.repeats + 1)
SIZES = (
    f"--budget-tokens {DAY.engine.budget_tokens} --max-num-seqs {DAY.engine.max_num_seqs}"
    f" --block-tokens {DAY.engine.block_tokens}"
)
DEVICE = f"--device {DAY.device} --model {DAY.model}"
ENVIRONMENT = f"../envs/vllm-{'gpu' if DAY.device == 'cuda' else 'cpu'}.yaml"
STAGE_NAMES = [stage.name for stage in DAY.stages]
ALL_CORES = 1000 if DAY.device == "cpu" else 1  # of those given: nothing may compute beside what is measured on a CPU


wildcard_constraints:
    seed=r"\d+",
    repeat=r"\d+",
    workload=r"[^/]+",
    policy=r"[^/]+",
    stage="|".join(STAGE_NAMES),


def workload_file(wildcards):
    """Give the file of a job's workload."""
    return os.path.relpath(BASE / DAY.file_of(wildcards.workload))


def workload_corpus(wildcards):
    """Give the corpus that a workload's requests are made of."""
    return f"data/corpus/{FILE_NAMES[load_workload(BASE / DAY.file_of(wildcards.workload)).corpus]}"


def names(stage):
    """Give the names of a stage's workloads."""
    return [Path(file).stem for file in stage.workloads]


def stage_named(name):
    """Give the stage of that name."""
    return DAY.stages[STAGE_NAMES.index(name)]


def row_files(pattern):
    """Give the files of rows, each of which may have been edited or deleted."""
    return expand(f"{pattern}/{{file}}", file=ROW_FILES, allow_missing=True)


def simulated_rows(stage, pattern=SIMULATED):
    """Give the files of a stage's simulated rows; at the speed of each repeat for that pattern."""
    return expand(row_files(pattern), repeat=REPEATS, workload=names(stage), policy=stage.policies)


def folders(files):
    """Give the folders of rows."""
    return list(dict.fromkeys(str(Path(file).parent) for file in files))


def measured_lists(stage):
    """Give the lists of what was measured in a stage."""
    return expand(MEASURED_LIST, workload=names(stage))


def measured_rows(workloads, policies, repeats=REPEATS):
    """Give the files of measured rows, with what was measured beside them."""
    files = [*row_files(MEASURED), f"{MEASURED}/{MEASUREMENT}"]
    return expand(files, repeat=repeats, workload=workloads, policy=policies)


def stage_rows(stage, repeats=REPEATS):
    """Give what was measured in a stage."""
    return measured_rows(names(stage), stage.policies, repeats)


onstart:
    if missing_vllm(BASE):
        print(f"error: {missing_vllm(BASE)}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    claim_folder()
    print(budget(DAY, BASE), file=sys.stderr)


def claim_group(stage):
    """Give a stage's results as answer_claims.py wants them."""
    return f"{','.join(names(stage))}:{','.join(stage.policies)}:{DAY.seeds.count}"


rule all:
    input:
        [stage_rows(stage) for stage in DAY.stages],  # what lacks comes again, also where tables are there
        [simulated_rows(stage, pattern) for stage in DAY.stages for pattern in (SIMULATED, AT_SPEED)],
        claims=f"{ROOT}/tables/claims.json",
        tables=expand(f"{ROOT}/tables/{{stage}}.json", stage=STAGE_NAMES),
        figures=expand(f"{ROOT}/figures/{{name}}.{{kind}}", name=["profile", "runs"], kind=["pdf", "svg"]),
    log:
        f"{ROOT}/logs/show_claims.log",
    conda:
        "../envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/show_claims.py --claims {input.claims:q} --tables {input.tables:q}'
        " --figures {input.figures:q} 2>&1 | tee {log:q}"


rule measure_profile:
    output:
        PROFILE,
    log:
        f"{ROOT}/logs/profile.log",
    conda:
        ENVIRONMENT
    threads: ALL_CORES
    resources:
        device=1,
    params:
        sizes=SIZES,
        device=DEVICE,
        name=DAY.profile.name,
        blocks=DAY.profile.cache_blocks,
        contexts=f"--most-context {DAY.profile.most_context} --repeats {DAY.profile.repeats} --seed {DAY.profile.seed}",
    shell:
        '"$VLLM_PYTHON" "$SCRIPTS"/measure_profile.py {params.device} --name {params.name} {params.sizes}'
        ' --cache-blocks {params.blocks} {params.contexts} --commit "$COMMIT" --out {output:q} 2>&1 | tee {log:q}'


rule draw_profile:
    input:
        PROFILE,
    output:
        pdf=f"{ROOT}/figures/profile.pdf",
        svg=f"{ROOT}/figures/profile.svg",
    log:
        f"{ROOT}/logs/draw_profile.log",
    conda:
        "../envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/draw_profile.py --profile {input:q} --out-pdf {output.pdf:q} --out-svg {output.svg:q}'
        " 2>&1 | tee {log:q}"


for corpus, file_name in FILE_NAMES.items():

    rule:
        name:
            f"build_{corpus}_corpus"
        output:
            f"data/corpus/{file_name}",
        log:
            f"{ROOT}/logs/corpus/{corpus}.log",
        conda:
            "../envs/traces.yaml"
        params:
            corpus=corpus,
            seed=DAY.corpus_seed,
        shell:
            'python "$SCRIPTS"/build_corpus.py --corpus {params.corpus} --seed {params.seed} --out {output:q} 2>&1'
            " | tee {log:q}"


rule build_traces:
    input:
        corpus=workload_corpus,
        profile=PROFILE,
        workload=workload_file,
    output:
        calibrations=expand(CALIBRATION, seed=DAY.seeds.all, allow_missing=True),
        traces=expand(TRACE, seed=DAY.seeds.all, allow_missing=True),
    log:
        f"{ROOT}/logs/build_traces/{{workload}}.log",
    conda:
        "../envs/traces.yaml"
    params:
        seeds=DAY.seeds.all,
        sizes=SIZES,
        calibrations=subpath(output[0], parent=True),
        traces=subpath(output[DAY.seeds.count], parent=True),
    shell:
        'python "$SCRIPTS"/build_traces.py --workload {input.workload:q} --seeds {params.seeds}'
        " --corpus {input.corpus:q} --profile {input.profile:q} {params.sizes}"
        " --calibrations-dir {params.calibrations:q} --traces-dir {params.traces:q} 2>&1 | tee {log:q}"


rule simulate:
    input:
        traces=expand(TRACE, seed=DAY.seeds.all, allow_missing=True),
        profile=PROFILE,
    output:
        row_files(SIMULATED),
    log:
        f"{ROOT}/logs/simulate/{{workload}}/{{policy}}.log",
    conda:
        "../envs/replay.yaml"
    params:
        sizes=SIZES,
        folder=subpath(output[0], parent=True),
    shell:
        'python "$SCRIPTS"/replay.py --policy {wildcards.policy} --traces {input.traces:q} --profile {input.profile:q}'
        " {params.sizes} --out-dir {params.folder:q} 2>&1 | tee {log:q}"


for place, stage in enumerate(DAY.stages):

    rule:
        name:
            f"measure_{stage.name}"
        input:
            before=measured_lists(DAY.stages[place - 1]) if place else [],
            traces=expand(TRACE, seed=DAY.seeds.all, allow_missing=True),
            profile=PROFILE,
        output:
            listed=MEASURED_LIST,
            # Rows are not removed beforehand: what lacks is measured again, and what is there is kept. Those of a job
            # that is stopped wait in UNDER_WAY, and the next one goes on behind them.
            rows=update(measured_rows("{workload}", stage.policies)),
        log:
            f"{ROOT}/logs/measure/{{workload}}.log",
        wildcard_constraints:
            workload="|".join(map(re.escape, names(stage))),
        conda:
            ENVIRONMENT
        threads: ALL_CORES
        resources:
            device=1,
        params:
            sizes=SIZES,
            device=DEVICE,
            policies=stage.policies,
            repeats=DAY.repeats,
            rows=lambda wildcards: MEASURED.replace("{workload}", wildcards.workload),
            under_way=lambda wildcards: UNDER_WAY.replace("{workload}", wildcards.workload),
            logs=f"{ROOT}/logs/servers/{{workload}}",
        shell:
            '"$VLLM_PYTHON" "$SCRIPTS"/measure.py --policies {params.policies} --repeats {params.repeats}'
            " --traces {input.traces:q} --profile {input.profile:q} {params.device} {params.sizes}"
            " --rows {params.rows:q} --under-way {params.under_way:q} --logs {params.logs:q}"
            ' --commit "$COMMIT" --out {output.listed:q} 2>&1 | tee {log:q}'


rule slow_profile:
    input:
        profile=PROFILE,
        listed=MEASURED_LIST,
        rows=row_files(MEASURED),
        measured=f"{MEASURED}/{MEASUREMENT}",
    output:
        SLOW_PROFILE,
    log:
        f"{ROOT}/logs/slow_profile/{{repeat}}/{{workload}}/{{policy}}.log",
    conda:
        "../envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/slow_profile.py --profile {input.profile:q} --measured {input.measured:q} --out {output:q}'
        " 2>&1 | tee {log:q}"


rule simulate_at_speed:
    input:
        traces=expand(TRACE, seed=DAY.seeds.all, allow_missing=True),
        profile=SLOW_PROFILE,
    output:
        row_files(AT_SPEED),
    log:
        f"{ROOT}/logs/simulate_at_speed/{{repeat}}/{{workload}}/{{policy}}.log",
    conda:
        "../envs/replay.yaml"
    params:
        sizes=SIZES,
        folder=subpath(output[0], parent=True),
    shell:
        'python "$SCRIPTS"/replay.py --policy {wildcards.policy} --traces {input.traces:q} --profile {input.profile:q}'
        " {params.sizes} --out-dir {params.folder:q} 2>&1 | tee {log:q}"


rule compare:
    input:
        simulated=lambda wildcards: simulated_rows(stage_named(wildcards.stage)),
        at_speed=lambda wildcards: simulated_rows(stage_named(wildcards.stage), AT_SPEED),
        measured=lambda wildcards: measured_lists(stage_named(wildcards.stage)),
        rows=lambda wildcards: stage_rows(stage_named(wildcards.stage)),
    output:
        f"{ROOT}/tables/{{stage}}.json",
        f"{ROOT}/tables/{{stage}}.csv",
        f"{ROOT}/tables/{{stage}}.md",
    log:
        f"{ROOT}/logs/compare/{{stage}}.log",
    conda:
        "../envs/analysis.yaml"
    params:
        simulated=lambda wildcards, input: folders(input.simulated),
        at_speed=lambda wildcards, input: folders(input.at_speed),
        folder=subpath(output[0], parent=True),
    shell:
        'python "$SCRIPTS"/compare_measured.py --simulated {params.simulated:q} --at-speed {params.at_speed:q}'
        " --measured {input.measured:q}"
        " --out-dir {params.folder:q} --name {wildcards.stage} 2>&1 | tee {log:q}"


rule draw_runs:
    input:
        expand(f"{ROOT}/tables/{{stage}}.json", stage=STAGE_NAMES),
    output:
        pdf=f"{ROOT}/figures/runs.pdf",
        svg=f"{ROOT}/figures/runs.svg",
    log:
        f"{ROOT}/logs/draw_runs.log",
    conda:
        "../envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/draw_measured.py --tables {input:q} --out-pdf {output.pdf:q} --out-svg {output.svg:q}'
        " 2>&1 | tee {log:q}"


rule check_exact:
    output:
        "results/exact.json",
    log:
        f"{ROOT}/logs/check_exact.log",
    conda:
        "../envs/replay.yaml"
    shell:
        'python "$SCRIPTS"/check_exact.py --out {output:q} 2>&1 | tee {log:q}'


rule answer_claims:
    input:
        measured=[file for stage in DAY.stages for file in stage_rows(stage, repeats=[1])],
        exact=rules.check_exact.output,
        claims=os.path.relpath(BASE / "paper/claims.yaml"),
    output:
        csv=f"{ROOT}/tables/claims.csv",
        md=f"{ROOT}/tables/claims.md",
        json=f"{ROOT}/tables/claims.json",
    log:
        f"{ROOT}/logs/answer_claims.log",
    conda:
        "../envs/analysis.yaml"
    params:
        rows_root=subpath(input[0], ancestor=3),  # the first repeat; tables/{stage} has the spread of all
        stand_ins=[f"{one.stands_for}={one.workload}" for one in DAY.stand_ins],
        workloads=names(DAY.stages[0]),
        policies=DAY.stages[0].policies,
        also=[claim_group(stage) for stage in DAY.stages[1:]],
        seeds=DAY.seeds.count,
        folder=subpath(output.csv, parent=True),
    shell:
        'python "$SCRIPTS"/answer_claims.py --rows-root {params.rows_root:q} --workloads {params.workloads:q}'
        " --policies {params.policies:q} --seeds-expected {params.seeds} --also {params.also:q}"
        " --stand-for {params.stand_ins:q} --exact {input.exact:q}"
        " --claims {input.claims:q} --out-dir {params.folder:q} --status-later 2>&1 | tee {log:q}"
