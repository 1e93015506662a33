"""Corpora, calibration and traces: one job per workload, all seeds inside."""


rule build_corpus:
    output:
        "data/corpus/{corpus}.json",
    log:
        "logs/build_corpus/{corpus}.log",
    benchmark:
        "benchmarks/dag/build_corpus/{corpus}.tsv"
    conda:
        "../../envs/traces.yaml"
    params:
        code=TRACE_CODE,
        seed=CONFIG.corpus.seed,
    shell:
        'python "$SCRIPTS"/build_corpus.py --corpus {wildcards.corpus:q} --seed {params.seed} --out {output:q}'
        " 2>&1 | tee {log:q}"


rule build_agent_trace:
    output:
        corpus="data/corpus/{corpus}.jsonl",
        header="data/corpus/{corpus}.header.json",
    log:
        "logs/build_agent_trace/{corpus}.log",
    benchmark:
        "benchmarks/dag/build_agent_trace/{corpus}.tsv"
    conda:
        "../../envs/traces.yaml"
    params:
        code=TRACE_CODE,
        seed=CONFIG.corpus.seed,
    shell:
        'python "$SCRIPTS"/build_corpus.py --corpus {wildcards.corpus:q} --seed {params.seed} --out {output.corpus:q}'
        " 2>&1 | tee {log:q}"


for seeds, workloads in WORKLOADS_BY_SEEDS.items():

    rule:
        name:
            traces_rule(seeds)
        input:
            workload=workload_files,
            corpus=workload_corpus,
            profile=workload_profile,
        output:
            calibrations=expand(CALIBRATION, seed=seeds, allow_missing=True),
            traces=expand(TRACE_FILES, seed=seeds, allow_missing=True),
        log:
            "logs/build_traces/{workload}.log",
        benchmark:
            "benchmarks/dag/build_traces/{workload}.tsv"
        wildcard_constraints:
            workload=one_of(workloads),
        conda:
            "../../envs/traces.yaml"
        params:
            code=TRACE_CODE,
            workload=workload_reference,
            seeds=seeds,
            engine=ENGINE_OPTIONS,
            calibrations=parent_of(CALIBRATION),
            traces=parent_of(TRACE),
        shell:
            'python "$SCRIPTS"/build_traces.py --workload {params.workload:q} --seeds {params.seeds}'
            " --corpus {input.corpus:q} --profile {input.profile:q} {params.engine}"
            " --calibrations-dir {params.calibrations:q} --traces-dir {params.traces:q} 2>&1 | tee {log:q}"
