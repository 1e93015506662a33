"""Replays: one job per backend, workload and policy, all seeds inside; and the checks and bounds that need none."""


rule replay:
    input:
        traces=expand(TRACE, seed=CONFIG.seeds, allow_missing=True),
        headers=expand(TRACE_HEADER, seed=CONFIG.seeds, allow_missing=True),
        profile=PROFILE,
    output:
        requests=f"{ROWS}/requests.parquet",
        hooks=f"{ROWS}/hooks.parquet",
        runs=f"{ROWS}/runs.parquet",
        seal=f"{ROWS}/seal.json",
    log:
        "logs/replay/{backend}/{workload}/{policy}.log",
    benchmark:
        "benchmarks/dag/replay/{backend}/{workload}/{policy}.tsv"
    wildcard_constraints:
        backend="sim",
    conda:
        "../../envs/replay.yaml"
    params:
        code=replay_code,
        folder=subpath(output.seal, parent=True),
        engine=ENGINE_OPTIONS,
        python="python",
    shell:
        '{params.python} "$SCRIPTS"/replay.py --policy {wildcards.policy:q} --traces {input.traces:q}'
        " --profile {input.profile:q} --backend {wildcards.backend} {params.engine}"
        " --out-dir {params.folder:q} 2>&1 | tee {log:q}"


use rule replay as replay_vllm with:
    wildcard_constraints:
        backend="vllm-virtual",
    conda:
        "../../envs/vllm-cpu.yaml"
    params:
        code=replay_code,
        folder=subpath(output.seal, parent=True),
        engine=ENGINE_OPTIONS,
        python='"$VLLM_PYTHON"',


rule compute_bounds:
    input:
        traces=expand(TRACE, seed=CONFIG.seeds, allow_missing=True),
        headers=expand(TRACE_HEADER, seed=CONFIG.seeds, allow_missing=True),
        profile=PROFILE,
    output:
        BOUNDS,
    log:
        "logs/compute_bounds/{workload}.log",
    benchmark:
        "benchmarks/dag/compute_bounds/{workload}.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=BOUNDS_CODE,
        sizes=f"--budget-tokens {CONFIG.engine.budget_tokens} --block-tokens {CONFIG.engine.block_tokens}",
    shell:
        'python "$SCRIPTS"/compute_bounds.py --traces {input.traces:q} --profile {input.profile:q} {params.sizes}'
        " --out {output:q} 2>&1 | tee {log:q}"


rule check_exact:
    output:
        "results/exact.json",
    log:
        "logs/check_exact.log",
    benchmark:
        "benchmarks/dag/check_exact.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=EXACT_CODE,
    shell:
        'python "$SCRIPTS"/check_exact.py --out {output:q} 2>&1 | tee {log:q}'
