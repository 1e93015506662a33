"""Tables beside metrics and claims, and the one document that holds all of them."""

EXTRA_TABLES = [name for name in ["sensitivity", "regimes"] if can_be_shown(name)]
EXTRA_TABLES += ["variants"] if CONFIG.workload_variants.names else []
VARIANTS_STUDY = (TABLE_WORKLOADS, CONFIG.workload_variants.policies)


rule tabulate_comparison:
    input:
        table_rows("sim"),
    output:
        csv="results/tables/comparison.csv",
        md="results/tables/comparison.md",
        json="results/tables/comparison.json",
    log:
        "logs/tabulate_comparison.log",
    benchmark:
        "benchmarks/dag/tabulate_comparison.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
        script="tabulate_comparison.py",
        options=study_options(TABLE_WORKLOADS, CONFIG.policies),
        folder=subpath(output.csv, parent=True),
    shell:
        'python "$SCRIPTS"/{params.script} {params.options} --out-dir {params.folder:q} 2>&1 | tee {log:q}'


use rule tabulate_comparison as tabulate_sensitivity with:
    input:
        study_rows(*STUDIES["sensitivity"]),
    output:
        csv="results/tables/sensitivity.csv",
        md="results/tables/sensitivity.md",
        json="results/tables/sensitivity.json",
    log:
        "logs/tabulate_sensitivity.log",
    benchmark:
        "benchmarks/dag/tabulate_sensitivity.tsv"
    params:
        code=ANALYSIS_CODE,
        script="tabulate_sensitivity.py",
        options=study_options(*STUDIES["sensitivity"]),
        folder=subpath(output.csv, parent=True),


use rule tabulate_comparison as tabulate_regimes with:
    input:
        study_rows(*STUDIES["regimes"]),
        SWEEP_PLACES,
    output:
        csv="results/tables/regimes.csv",
        md="results/tables/regimes.md",
        json="results/tables/regimes.json",
    log:
        "logs/tabulate_regimes.log",
    benchmark:
        "benchmarks/dag/tabulate_regimes.tsv"
    params:
        code=ANALYSIS_CODE,
        script="tabulate_regimes.py",
        options=f"{study_options(*STUDIES['regimes'])} --places results/regimes",
        folder=subpath(output.csv, parent=True),


use rule tabulate_comparison as tabulate_variants with:
    input:
        study_rows(*VARIANTS_STUDY),
        row_files("sim", CONFIG.workload_variants.names),
        answers=rules.answer_claims.output.json,
    output:
        csv="results/tables/variants.csv",
        md="results/tables/variants.md",
        json="results/tables/variants.json",
    log:
        "logs/tabulate_variants.log",
    benchmark:
        "benchmarks/dag/tabulate_variants.tsv"
    params:
        code=ANALYSIS_CODE,
        script="tabulate_variants.py",
        options=f"{study_options(*VARIANTS_STUDY)} {variant_options()} --answers {rules.answer_claims.output.json}",
        folder=subpath(output.csv, parent=True),


rule summarise:
    input:
        rules.answer_claims.output.json,
        rules.tabulate_metrics.output.json,
        rules.tabulate_comparison.output.json,
        expand("results/tables/{name}.json", name=EXTRA_TABLES),
    output:
        "results/tables/summary.json",
    log:
        "logs/summarise.log",
    benchmark:
        "benchmarks/dag/summarise.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
    shell:
        'python "$SCRIPTS"/summarise.py --parts {input:q} --out {output:q} 2>&1 | tee {log:q}'
