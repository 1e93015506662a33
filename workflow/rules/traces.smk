"""Corpora, calibration and traces: one job per workload and seed."""


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


rule calibrate:
    input:
        workload=workload_files,
        corpus=workload_corpus,
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
        workload=workload_reference,
        engine=ENGINE_OPTIONS,
    shell:
        'python "$SCRIPTS"/calibrate.py --workload {params.workload:q} --seed {wildcards.seed}'
        " --corpus {input.corpus:q} --profile {input.profile:q} {params.engine}"
        " --out {output:q} 2>&1 | tee {log:q}"


rule build_trace:
    input:
        workload=workload_files,
        corpus=workload_corpus,
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
        workload=workload_reference,
    shell:
        'python "$SCRIPTS"/build_trace.py --workload {params.workload:q} --corpus {input.corpus:q}'
        " --calibration {input.calibration:q} --out {output.trace:q} 2>&1 | tee {log:q}"
