"""The whole way from a corpus to answered claims: `snakemake --cores 1` does everything."""

from snakemake.utils import min_version

min_version("9.14")


DEFAULT_CONFIG = f"{workflow.basedir}/config/quick.yaml"


# Values of --configfile and --config override this one key by key.
configfile: DEFAULT_CONFIG


include: "workflow/rules/common.smk"
include: "workflow/rules/common_sources.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/traces.smk"
include: "workflow/rules/profile.smk"
include: "workflow/rules/replay.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/regimes.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/common_queue.smk"
include: "workflow/rules/common_publication.smk"
include: "workflow/rules/queue.smk"
include: "workflow/rules/publication.smk"
include: "workflow/rules/section_5_2.smk"
include: "workflow/rules/common_claims.smk"
include: "workflow/rules/one_claim.smk"


# The overview of `snakemake --report` (make report).
report: "workflow/report/workflow.rst"


onstart:
    # Snakemake allows 100 submissions a second, and each look at its queue plans another one a second later, for ever:
    # after some hundred jobs it looks a hundred times a second, which takes a core. Local jobs need no such limit.
    workflow.scheduler.job_rate_limiter = None
    claim_folder()


# Every result is asked for by name, not only the last ones, so that each one that is deleted is made again. And with no
# output (nor benchmark, which counts as one) the rule runs each time: every run ends with the claims, and with status 1
# if a result was edited.
rule all:
    input:
        CORPORA,
        PROFILES,
        CALIBRATIONS,
        TRACES,
        ROW_FILES,
        BOUND_FILES,
        rules.check_exact.output,
        rules.tabulate_metrics.output,
        rules.answer_claims.output,
        rules.tabulate_comparison.output,
        expand("results/tables/{name}.{kind}", name=EXTRA_TABLES, kind=["csv", "md", "json"]),
        rules.summarise.output,
        vllm_tables(),
        claims=rules.answer_claims.output.json,
        tables=[
            *expand("results/tables/{name}.json", name=["metrics", "comparison", *EXTRA_TABLES, "summary"]),
            *[table for table in vllm_tables() if table.endswith(".json")],
            rules.build_paper.output.facts,
        ],
        figures=[
            *expand("figures/{name}.{kind}", name=FIGURES, kind=["pdf", "svg"]),
            *QUEUE_PAGE,
            rules.build_paper.output.pdf,
            *rules.render_pages.output,
            *NOTEBOOK_FILES,
        ],
    log:
        "logs/show_claims.log",
    conda:
        "envs/analysis.yaml"
    shell:
        'python "$SCRIPTS"/show_claims.py --claims {input.claims:q} --tables {input.tables:q}'
        " --figures {input.figures:q} 2>&1 | tee {log:q}"
