"""Where each configuration of the sweep lies on the regime map, from FCFS's replays alone."""

REGIME_CODE = fingerprint(PACKAGE, REGIME_SOURCES)
SWEEP_PLACES = expand(
    "results/regimes/{workload}.json", workload=[name for name in SETS["sweep"] if name in CONFIG.workloads]
)


rule measure_regime:
    input:
        rows=expand(f"{ROWS}/{{part}}", backend="sim", policy="fcfs", part=PARTS, allow_missing=True),
        traces=lambda wildcards: seed_files(TRACE, wildcards.workload),
        headers=lambda wildcards: seed_files(TRACE_HEADER, wildcards.workload),
    output:
        "results/regimes/{workload}.json",
    log:
        "logs/measure_regime/{workload}.log",
    benchmark:
        "benchmarks/dag/measure_regime/{workload}.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=REGIME_CODE,
        folder=subpath(input[0], parent=True),
        phase=CLAIMS["default_phase"]["sweep"],
    shell:
        'python "$SCRIPTS"/measure_regime.py --rows {params.folder:q} --traces {input.traces:q}'
        " --phase {params.phase} --out {output:q} 2>&1 | tee {log:q}"
