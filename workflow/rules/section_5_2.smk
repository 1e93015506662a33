"""Section 5.2 of the paper alone: the two dynamic traces, their table, claims, matrix, timelines and paper."""

SECTION_WORKLOADS = [name for name in SETS["dynamic"] if name in TABLE_WORKLOADS]
SECTION_FIGURES = [name for name in ["spike-timeline", "spike-timeline-b", "targets"] if name in FIGURES]


use rule tabulate_metrics as tabulate_section_5_2 with:
    input:
        row_files("sim", SECTION_WORKLOADS),
        expand(BOUNDS, workload=SECTION_WORKLOADS),
    output:
        csv="results/section_5_2/metrics.csv",
        md="results/section_5_2/metrics.md",
        json="results/section_5_2/metrics.json",
    log:
        "logs/tabulate_section_5_2.log",
    benchmark:
        "benchmarks/dag/tabulate_section_5_2.tsv"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        bounds_root=subpath(input[-1], parent=True),
        workloads=SECTION_WORKLOADS,
        policies=CONFIG.policies,
        resamples=CONFIG.bootstrap.resamples,
        bootstrap_seed=CONFIG.bootstrap.seed,
        folder=subpath(output.csv, parent=True),


use rule answer_claims as answer_section_5_2 with:
    input:
        rows=row_files("sim", SECTION_WORKLOADS),
        exact=rules.check_exact.output,
        claims=CLAIMS_FILE,
        causes=CAUSES,
        measured=MEASURED_CLAIMS,
    output:
        csv="results/section_5_2/claims.csv",
        md="results/section_5_2/claims.md",
        json="results/section_5_2/claims.json",
    log:
        "logs/answer_section_5_2.log",
    benchmark:
        "benchmarks/dag/answer_section_5_2.tsv"
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workloads=SECTION_WORKLOADS,
        policies=CONFIG.policies,
        also=[],
        causes=CAUSES_OPTIONS,
        seeds=len(CONFIG.seeds),
        resamples=CONFIG.bootstrap.resamples,
        bootstrap_seed=CONFIG.bootstrap.seed,
        about=f"--about {' '.join(SETS['dynamic'])}",
        folder=subpath(output.csv, parent=True),


use rule summarise as summarise_section_5_2 with:
    input:
        rules.answer_section_5_2.output.json,
        rules.tabulate_section_5_2.output.json,
    output:
        "results/section_5_2/summary.json",
    log:
        "logs/summarise_section_5_2.log",
    benchmark:
        "benchmarks/dag/summarise_section_5_2.tsv"


use rule build_paper as build_paper_section_5_2 with:
    input:
        **paper_inputs(SECTION_WORKLOADS, SECTION_FIGURES),
        summary=rules.summarise_section_5_2.output,
    output:
        pdf="results/section_5_2/fairway.pdf",
        facts="results/section_5_2/facts.json",
    log:
        "logs/build_paper_section_5_2.log",
    benchmark:
        "benchmarks/dag/build_paper_section_5_2.tsv"


rule section_5_2:
    input:
        rules.tabulate_section_5_2.output,
        rules.answer_section_5_2.output,
        rules.build_paper_section_5_2.output.facts,
        claims=rules.answer_section_5_2.output.json,
        figures=[
            *expand("figures/{name}.{kind}", name=SECTION_FIGURES, kind=["pdf", "svg"]),
            rules.build_paper_section_5_2.output.pdf,
        ],
    log:
        "logs/section_5_2.log",
    conda:
        "../../envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/show_claims.py --claims {input.claims:q} --figures {input.figures:q} 2>&1 | tee {log:q}'
