"""Calibration and traces: one job per workload, all seeds inside."""

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
            token_ids=expand(TOKEN_IDS, seed=seeds, allow_missing=True) if CONFIG.corpus.token_ids else [],
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
            token_ids="--token-ids" if CONFIG.corpus.token_ids else "",
        shell:
            'python "$SCRIPTS"/build_traces.py --workload {params.workload:q} --seeds {params.seeds}'
            " --corpus {input.corpus:q} --profile {input.profile:q} {params.engine}"
            " --calibrations-dir {params.calibrations:q} --traces-dir {params.traces:q} {params.token_ids}"
            " 2>&1 | tee {log:q}"
