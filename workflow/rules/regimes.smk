"""Where each configuration of the sweep lies on the regime map, from FCFS's replays alone."""

REGIME_CODE = fingerprint(PACKAGE, REGIME_SOURCES, scripts_of("regime", SCRIPTS))


rule measure_regimes:
    input:
        rows=study_rows(MAPPED, ["fcfs"]),
        traces=[file for workload in MAPPED for file in seed_files(REPLAYED_FILES, workload)],
    output:
        SWEEP_PLACES,
    log:
        "logs/measure_regimes.log",
    benchmark:
        "benchmarks/dag/measure_regimes.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=REGIME_CODE,
        runs=" ".join(map(regime_options, MAPPED)),
        phase=CLAIMS["default_phase"]["sweep"],
    shell:
        'python "$SCRIPTS"/measure_regimes.py {params.runs} --phase {params.phase} 2>&1 | tee {log:q}'
