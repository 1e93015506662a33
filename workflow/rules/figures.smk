"""Figures of several workloads: each shows what is configured and names what is not."""


rule plot_scenarios:
    input:
        study_rows(*STUDIES["scenarios"]),
    output:
        pdf="figures/scenarios.pdf",
        svg=in_report("scenarios"),
    log:
        "logs/plot_scenarios.log",
    benchmark:
        "benchmarks/dag/plot_scenarios.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        script="plot_scenarios.py",
        options=study_options(*STUDIES["scenarios"]),
    shell:
        'python "$SCRIPTS"/{params.script} {params.options}'
        " --out-pdf {output.pdf:q} --out-svg {output.svg:q} 2>&1 | tee {log:q}"


use rule plot_scenarios as plot_plane with:
    input:
        study_rows(*STUDIES["plane"]),
    output:
        pdf="figures/plane.pdf",
        svg=in_report("plane"),
    log:
        "logs/plot_plane.log",
    benchmark:
        "benchmarks/dag/plot_plane.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_plane.py",
        options=study_options(*STUDIES["plane"]),


use rule plot_scenarios as plot_targets with:
    input:
        study_rows(*STUDIES["targets"]),
    output:
        pdf="figures/targets.pdf",
        svg=in_report("targets"),
    log:
        "logs/plot_targets.log",
    benchmark:
        "benchmarks/dag/plot_targets.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_targets.py",
        options=study_options(*STUDIES["targets"]),


use rule plot_scenarios as plot_ablations with:
    input:
        study_rows(*STUDIES["ablations"]),
    output:
        pdf="figures/ablations.pdf",
        svg=in_report("ablations"),
    log:
        "logs/plot_ablations.log",
    benchmark:
        "benchmarks/dag/plot_ablations.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_ablations.py",
        options=study_options(*STUDIES["ablations"]),


use rule plot_scenarios as plot_spread with:
    input:
        study_rows(*STUDIES["spread"]),
    output:
        pdf="figures/spread.pdf",
        svg=in_report("spread"),
    log:
        "logs/plot_spread.log",
    benchmark:
        "benchmarks/dag/plot_spread.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_spread.py",
        options=result_options(*STUDIES["spread"]),


use rule plot_scenarios as plot_sensitivity with:
    input:
        study_rows(*STUDIES["sensitivity"]),
    output:
        pdf="figures/sensitivity.pdf",
        svg=in_report("sensitivity"),
    log:
        "logs/plot_sensitivity.log",
    benchmark:
        "benchmarks/dag/plot_sensitivity.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_sensitivity.py",
        options=study_options(*STUDIES["sensitivity"]),


use rule plot_scenarios as plot_regimes with:
    input:
        study_rows(*STUDIES["regimes"]),
        SWEEP_PLACES,
    output:
        pdf="figures/regimes.pdf",
        svg=in_report("regimes"),
    log:
        "logs/plot_regimes.log",
    benchmark:
        "benchmarks/dag/plot_regimes.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_regimes.py",
        options=f"{study_options(*STUDIES['regimes'])} --places results/regimes",


use rule plot_scenarios as plot_order_shift with:
    input:
        study_rows([SPIKE_WORKLOAD], ["fairway"]),
    output:
        pdf="figures/order-shift.pdf",
        svg=in_report("order-shift"),
    log:
        "logs/plot_order_shift.log",
    benchmark:
        "benchmarks/dag/plot_order_shift.tsv"
    params:
        code=ANALYSIS_CODE,
        script="plot_order_shift.py",
        options=f"--rows-root {ROWS_ROOT.format(backend='sim')} --workload {SPIKE_WORKLOAD} --policy fairway",


use rule plot_spike_timeline as plot_spike_timeline_b with:
    input:
        figure_rows("sec-dynamic-b"),
    output:
        pdf="figures/spike-timeline-b.pdf",
        svg=in_report("spike-timeline-b"),
    log:
        "logs/plot_spike_timeline_b.log",
    benchmark:
        "benchmarks/dag/plot_spike_timeline_b.tsv"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workload="sec-dynamic-b",
        policies=figure_policies("sec-dynamic-b"),


use rule plot_flood as plot_flood_long with:
    input:
        figure_rows("sec-flood-long"),
    output:
        pdf="figures/flood-long.pdf",
        svg=in_report("flood-long"),
    log:
        "logs/plot_flood_long.log",
    benchmark:
        "benchmarks/dag/plot_flood_long.tsv"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workload="sec-flood-long",
        policies=figure_policies("sec-flood-long"),
