"""Tables and figures from rows, whichever backend they came from."""


rule tabulate_metrics:
    input:
        table_rows("sim"),
        BOUND_FILES,
    output:
        csv="results/tables/metrics.csv",
        md="results/tables/metrics.md",
        json="results/tables/metrics.json",
    log:
        "logs/tabulate_metrics.log",
    benchmark:
        "benchmarks/dag/tabulate_metrics.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        bounds_root=subpath(input[-1], parent=True),
        workloads=TABLE_WORKLOADS,
        policies=CONFIG.policies,
        resamples=CONFIG.bootstrap.resamples,
        bootstrap_seed=CONFIG.bootstrap.seed,
        folder=subpath(output.csv, parent=True),
    shell:
        'python "$SCRIPTS"/tabulate_metrics.py --rows-root {params.rows_root:q} --bounds-root {params.bounds_root:q}'
        " --workloads {params.workloads:q} --policies {params.policies:q} --resamples {params.resamples}"
        " --bootstrap-seed {params.bootstrap_seed} --out-dir {params.folder:q} 2>&1 | tee {log:q}"


rule answer_claims:
    input:
        rows=row_files("sim", CONFIG.workloads),
        exact=rules.check_exact.output,
        claims=CLAIMS_FILE,
        causes=CAUSES,
        measured=MEASURED_CLAIMS,
    output:
        csv="results/tables/claims.csv",
        md="results/tables/claims.md",
        json="results/tables/claims.json",
    log:
        "logs/answer_claims.log",
    benchmark:
        "benchmarks/dag/answer_claims.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workloads=TABLE_WORKLOADS,
        policies=CONFIG.policies,
        also=other_groups(),
        about="",
        causes=CAUSES_OPTIONS,
        seeds=len(CONFIG.seeds),
        resamples=CONFIG.bootstrap.resamples,
        bootstrap_seed=CONFIG.bootstrap.seed,
        folder=subpath(output.csv, parent=True),
    # --status-later: the files stay also when a result was edited; showing them then ends with status 1.
    shell:
        'python "$SCRIPTS"/answer_claims.py --rows-root {params.rows_root:q}'
        " --workloads {params.workloads:q} --policies {params.policies:q} --seeds-expected {params.seeds}"
        " --also {params.also:q} {params.about} --exact {input.exact:q} --claims {input.claims:q}"
        " {params.causes} --measured {input.measured:q} --resamples {params.resamples}"
        " --bootstrap-seed {params.bootstrap_seed} --out-dir {params.folder:q} --status-later 2>&1 | tee {log:q}"


rule plot_spike_timeline:
    input:
        figure_rows(SPIKE_WORKLOAD),
    output:
        pdf="figures/spike-timeline.pdf",
        svg=in_report("spike-timeline"),
    log:
        "logs/plot_spike_timeline.log",
    benchmark:
        "benchmarks/dag/plot_spike_timeline.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workload=SPIKE_WORKLOAD,
        policies=figure_policies(SPIKE_WORKLOAD),
    shell:
        'python "$SCRIPTS"/plot_spike_timeline.py --rows-root {params.rows_root:q}'
        " --workload {params.workload} --policies {params.policies:q}"
        " --out-pdf {output.pdf:q} --out-svg {output.svg:q} 2>&1 | tee {log:q}"


rule plot_flood:
    input:
        figure_rows(FLOOD_WORKLOAD),
    output:
        pdf="figures/flood.pdf",
        svg=in_report("flood"),
    log:
        "logs/plot_flood.log",
    benchmark:
        "benchmarks/dag/plot_flood.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workload=FLOOD_WORKLOAD,
        policies=figure_policies(FLOOD_WORKLOAD),
    shell:
        'python "$SCRIPTS"/plot_flood.py --rows-root {params.rows_root:q}'
        " --workload {params.workload} --policies {params.policies:q}"
        " --out-pdf {output.pdf:q} --out-svg {output.svg:q} 2>&1 | tee {log:q}"


# The same tables from rows that vLLM's own scheduler decided.
use rule tabulate_metrics as tabulate_metrics_vllm with:
    input:
        table_rows("vllm-virtual"),
        BOUND_FILES,
    output:
        csv="results/tables/vllm-virtual/metrics.csv",
        md="results/tables/vllm-virtual/metrics.md",
        json="results/tables/vllm-virtual/metrics.json",
    log:
        "logs/tabulate_metrics_vllm.log",
    benchmark:
        "benchmarks/dag/tabulate_metrics_vllm.tsv"


use rule answer_claims as answer_claims_vllm with:
    input:
        rows=row_files("vllm-virtual", CONFIG.workloads),
        exact=rules.check_exact.output,
        claims=CLAIMS_FILE,
        causes=CAUSES,
        measured=MEASURED_CLAIMS,
    output:
        csv="results/tables/vllm-virtual/claims.csv",
        md="results/tables/vllm-virtual/claims.md",
        json="results/tables/vllm-virtual/claims.json",
    log:
        "logs/answer_claims_vllm.log",
    benchmark:
        "benchmarks/dag/answer_claims_vllm.tsv"


rule backends_agree:
    input:
        sim=table_rows("sim"),
        vllm=table_rows("vllm-virtual"),
    output:
        "results/tables/backends_agree.json",
    log:
        "logs/backends_agree.log",
    benchmark:
        "benchmarks/dag/backends_agree.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        sim_root=subpath(input[0], ancestor=3),
        vllm_root=subpath(input[-1], ancestor=3),
        workloads=TABLE_WORKLOADS,
        policies=CONFIG.policies,
    shell:
        'python "$SCRIPTS"/compare_backends.py --rows-root {params.sim_root:q} {params.vllm_root:q}'
        " --workloads {params.workloads:q} --policies {params.policies:q} --out {output:q} 2>&1 | tee {log:q}"
