"""The page on which one can watch a queue: what a few policies do at every step, recorded and played."""

WATCHED_POLICIES = figure_policies(SPIKE_WORKLOAD)
QUEUE_PAGE = ["figures/queue.html"] if len(WATCHED_POLICIES) > 1 else []  # it sets two side by side


def watching_code(wildcards):
    """Give the fingerprint of what records and plays: the package's part, and the policies' own files."""
    scripts = scripts_of("watching", SCRIPTS)
    policies = [policy_fingerprint(PACKAGE, policy, "sim", scripts) for policy in WATCHED_POLICIES]
    return "-".join([fingerprint(PACKAGE, WATCHING_SOURCES), *policies])


def watched_trace(wildcards):
    """Give the trace of the spike's first seed, and its header."""
    return expand(REPLAYED_FILES, workload=SPIKE_WORKLOAD, seed=CONFIG.seeds_for(SPIKE_WORKLOAD)[0])


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
        watched_trace,
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
        'python "$SCRIPTS"/record_queue.py --trace {input[0]:q} --phase spike --policies {params.policies}'
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
