"""What readers open: the paper, and the pages of the HTML report."""

PUBLICATION_CODE = fingerprint(PACKAGE, PUBLICATION_SOURCES, scripts_of("publication", SCRIPTS))
FURTHER = "4 Paper and notebook"  # categories of the report are sorted by name
PAPER_TEXT = source("paper")
PAPER_FILES = [
    source(file.relative_to(BASE))
    for pattern in ("*.typ", "text/*.typ", "references.yml")
    for file in sorted((BASE / "paper").glob(pattern))
]
REPORT_TABLES = ["metrics", "comparison", *EXTRA_TABLES]
WORKLOAD_FILES = sorted({str(file) for name in CONFIG.replayed_workloads for file in reference_of(name).files})


rule build_paper:
    input:
        summary=rules.summarise.output,
        calibrations=CALIBRATIONS,
        profiles=PROFILES,
        figures=expand("figures/{name}.pdf", name=FIGURES),
        text=PAPER_FILES,
        captions=[source(f"workflow/report/{name}.rst") for name in FIGURES],
        parity=source("docs/parity.json"),
        workloads=WORKLOAD_FILES,
    output:
        pdf=report(
            "results/paper/fairway.pdf", caption="../report/paper.rst", category=FURTHER, labels={"Document": "paper"}
        ),
        facts="results/paper/facts.json",
    log:
        "logs/build_paper.log",
    benchmark:
        "benchmarks/dag/build_paper.tsv"
    conda:
        "../../envs/publication.yaml"
    params:
        code=PUBLICATION_CODE,
        text=PAPER_TEXT,
        captions=source("workflow/report"),
        configuration=source("config"),
    shell:
        'python "$SCRIPTS"/build_paper.py --text {params.text:q} --summary {input.summary:q}'
        " --calibrations {input.calibrations:q} --profiles {input.profiles:q} --figures {input.figures:q}"
        " --captions {params.captions:q} --parity {input.parity:q} --configuration {params.configuration:q}"
        " --out-facts {output.facts:q} --out-pdf {output.pdf:q} 2>&1 | tee {log:q}"


rule render_pages:
    input:
        summary=rules.summarise.output,
        calibrations=CALIBRATIONS,
        settings=[CLAIMS_FILE, CAUSES_FILE, *map(os.path.relpath, CONFIG_FILES)],
    output:
        overview="results/report/overview.html",
        claims=report(
            "results/report/claims.html",
            caption="../report/claims.rst",
            category="1 Claims",
            labels={"Table": "claims"},
        ),
        tables=[
            report(
                f"results/report/{name}.html",
                caption=f"../report/{name}-table.rst",
                category="2 Tables",
                labels={"Table": name},
            )
            for name in REPORT_TABLES
        ],
        provenance=report(
            "results/report/provenance.html",
            caption="../report/provenance.rst",
            category="5 Provenance",
            labels={"Table": "provenance"},
        ),
    log:
        "logs/render_pages.log",
    benchmark:
        "benchmarks/dag/render_pages.tsv"
    conda:
        "../../envs/publication.yaml"
    params:
        code=PUBLICATION_CODE,
        folder=subpath(output.overview, parent=True),
    shell:
        'python "$SCRIPTS"/render_pages.py --summary {input.summary:q} --calibrations {input.calibrations:q}'
        " --settings {input.settings:q} --out-dir {params.folder:q} 2>&1 | tee {log:q}"
