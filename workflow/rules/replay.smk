"""Replays: one job per backend, batch of workloads and policy, all seeds inside; checks and bounds, which need none."""

# What runs the steps of a backend: the Python of its jobs, their environment under --use-conda, its rules' names.
PYTHON = {"sim": "python", "vllm-virtual": '"$VLLM_PYTHON"'}
ENVIRONMENT = {"sim": "../../envs/replay.yaml", "vllm-virtual": "../../envs/vllm-cpu.yaml"}
RULE = {"sim": "replay", "vllm-virtual": "replay_vllm"}

for backend in CONFIG.backends:
    for batch in REPLAY_BATCHES:

        rule:
            name:
                f"{RULE[backend]}_{batch.name}"
            input:
                traces=[file for workload in batch.workloads for file in seed_files(REPLAYED_FILES, workload)],
                profile=PROFILE.format(profile=profile_of(batch.workloads[0])),
            output:
                expand(f"{ROWS}/{{part}}", workload=batch.workloads, part=PARTS, allow_missing=True),
            log:
                f"logs/replay/{{backend}}/{batch.workloads[0]}/{{policy}}.log",
            benchmark:
                f"benchmarks/dag/replay/{{backend}}/{batch.workloads[0]}/{{policy}}.tsv"
            wildcard_constraints:
                backend=re.escape(backend),
                policy=one_of(CONFIG.policies_for(batch.workloads[0])),
            conda:
                ENVIRONMENT[backend]
            params:
                code=replay_code,
                python=PYTHON[backend],
                engine=ENGINE_OPTIONS,
                policy=policy_options,
                runs=" ".join(map(replay_options, batch.workloads)),
            shell:
                '{params.python} "$SCRIPTS"/replay.py {params.policy} {params.runs}'
                " --profile {input.profile:q} --backend {wildcards.backend} {params.engine} 2>&1 | tee {log:q}"


# All rows and nothing else: `snakemake replays`.
rule replays:
    input:
        ROW_FILES,


rule compute_bounds:
    input:
        traces=lambda wildcards: seed_files(REPLAYED_TRACE, wildcards.workload),
        headers=lambda wildcards: seed_files(REPLAYED_FILES, wildcards.workload),
        profile=workload_profile,
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
