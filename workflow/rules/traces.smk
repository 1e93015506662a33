"""Corpus, calibration and traces: one job per workload and seed."""


rule build_corpus:
    output:
        CORPUS,
    log:
        "logs/build_corpus.log",
    benchmark:
        "benchmarks/dag/build_corpus.tsv"
    conda:
        "../../envs/traces.yaml"
    params:
        code=TRACE_CODE,
        seed=CONFIG.corpus.seed,
    shell:
        'python "$SCRIPTS"/build_corpus.py --seed {params.seed} --out {output:q} 2>&1 | tee {log:q}'


rule calibrate:
    input:
        workload=WORKLOAD_FILE,
        corpus=CORPUS,
        profile=PROFILE,
    output:
        CALIBRATION,
    log:
        "logs/calibrate/{workload}/{seed}.log",
    benchmark:
        "benchmarks/dag/calibrate/{workload}/{seed}.tsv"
    conda:
        "../../envs/traces.yaml"
    params:
        code=TRACE_CODE,
        engine=ENGINE_OPTIONS,
    shell:
        'python "$SCRIPTS"/calibrate.py --workload {input.workload:q} --seed {wildcards.seed}'
        " --corpus {input.corpus:q} --profile {input.profile:q} {params.engine}"
        " --out {output:q} 2>&1 | tee {log:q}"


rule build_trace:
    input:
        workload=WORKLOAD_FILE,
        corpus=CORPUS,
        calibration=rules.calibrate.output,
    output:
        trace=TRACE,
        header=TRACE_HEADER,
    log:
        "logs/build_trace/{workload}/{seed}.log",
    benchmark:
        "benchmarks/dag/build_trace/{workload}/{seed}.tsv"
    conda:
        "../../envs/traces.yaml"
    params:
        code=TRACE_CODE,
    shell:
        'python "$SCRIPTS"/build_trace.py --workload {input.workload:q} --corpus {input.corpus:q}'
        " --calibration {input.calibration:q} --out {output.trace:q} 2>&1 | tee {log:q}"
