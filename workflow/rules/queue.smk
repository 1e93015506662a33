"""The page on which one can watch a queue: what a few policies do at every step, recorded and played."""


rule record_worked_example:
    input:
        profile=PROFILE.format(profile=CONFIG.profile),
    output:
        "results/queue/worked-example.json",
    log:
        "logs/record_worked_example.log",
    benchmark:
        "benchmarks/dag/record_worked_example.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=watching_code,
        policies=WATCHED_POLICIES,
        engine=ENGINE_OPTIONS,
    shell:
        'python "$SCRIPTS"/record_queue.py --policies {params.policies} --profile {input.profile:q} {params.engine}'
        " --out {output:q} 2>&1 | tee {log:q}"


rule record_spike:
    input:
        trace=watched(REPLAYED_FILES[0]),
        header=watched(REPLAYED_FILES[1]),
        profile=PROFILE.format(profile=profile_of(SPIKE_WORKLOAD)),
    output:
        "results/queue/spike.json",
    log:
        "logs/record_spike.log",
    benchmark:
        "benchmarks/dag/record_spike.tsv"
    conda:
        "../../envs/replay.yaml"
    params:
        code=watching_code,
        policies=WATCHED_POLICIES,
        engine=ENGINE_OPTIONS,
    shell:
        'python "$SCRIPTS"/record_queue.py --trace {input.trace:q} --phase spike --policies {params.policies}'
        " --profile {input.profile:q} {params.engine} --out {output:q} 2>&1 | tee {log:q}"


rule build_queue_page:
    input:
        rules.record_worked_example.output,
        rules.record_spike.output,
    output:
        "figures/queue.html",
    log:
        "logs/build_queue_page.log",
    benchmark:
        "benchmarks/dag/build_queue_page.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=watching_code,
    shell:
        'python "$SCRIPTS"/build_queue_page.py --recordings {input:q} --out {output:q} 2>&1 | tee {log:q}'
