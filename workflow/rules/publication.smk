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


def paper_inputs(workloads, figures):
    """Give the files, by name, that the paper about some workloads rests on beside its summary."""
    return {
        "calibrations": [file for workload in workloads for file in seed_files(CALIBRATION, workload)],
        "profiles": sorted({PROFILE.format(profile=profile_of(workload)) for workload in workloads}),
        "figures": expand("figures/{name}.pdf", name=figures),
        "text": PAPER_FILES,
        "captions": [source(f"workflow/report/{name}.rst") for name in figures],
        "parity": source("docs/parity.json"),
        "workloads": sorted({str(file) for name in workloads for file in reference_of(name).files}),
    }


rule build_paper:
    input:
        **paper_inputs(CONFIG.replayed_workloads, FIGURES),
        summary=rules.summarise.output,
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


# The notebook looks at one trace again: that of the spike, else the first one that Fairway runs on.
EXPLORED = [
    workload
    for workload in sorted(CONFIG.workloads, key=lambda name: name != SPIKE_WORKLOAD)
    if "fairway" in CONFIG.policies_for(workload)
][:1]
EXPLORED_POLICIES = [
    name for workload in EXPLORED for name in ["fcfs", "lpm", "fairway"] if name in CONFIG.policies_for(workload)
]
NOTEBOOK_FILES = ["results/notebooks/explore.ipynb", "results/notebooks/explore.html"] if EXPLORED else []

if EXPLORED:
    EXPLORED_TRACES = [
        pattern.format(workload=EXPLORED[0], seed=CONFIG.seeds_for(EXPLORED[0])[0]) for pattern in REPLAYED_FILES
    ]

    # Snakemake hands the executed notebook on as a log only. As an output as well it is made again where it is missing.
    rule explore:
        input:
            trace=EXPLORED_TRACES[0],
            header=EXPLORED_TRACES[1],
            profile=PROFILE.format(profile=profile_of(EXPLORED[0])),
            rows=expand(f"{ROWS}/requests.parquet", backend="sim", workload=EXPLORED, policy=EXPLORED_POLICIES),
            seals=expand(f"{ROWS}/seal.json", backend="sim", workload=EXPLORED, policy=EXPLORED_POLICIES),
        output:
            "logs/explore.ipynb",
        log:
            notebook="logs/explore.ipynb",
        benchmark:
            "benchmarks/dag/explore.tsv"
        conda:
            "../../envs/notebook.yaml"
        params:
            code=fingerprint(PACKAGE, [*REPLAY_SOURCES, *ANALYSIS_SOURCES, "policies/fairway.py", "policies/lpm.py"]),
            workload=EXPLORED[0],
            policies=EXPLORED_POLICIES,
            limits=vars(CONFIG.engine),
        notebook:
            "../notebooks/explore.py.ipynb"

    rule publish_notebook:
        input:
            rules.explore.output,
        output:
            notebook=NOTEBOOK_FILES[0],
            page=report(
                NOTEBOOK_FILES[1], caption="../report/notebook.rst", category=FURTHER, labels={"Document": "notebook"}
            ),
        log:
            "logs/publish_notebook.log",
        benchmark:
            "benchmarks/dag/publish_notebook.tsv"
        conda:
            "../../envs/notebook.yaml"
        params:
            code=PUBLICATION_CODE,
        shell:
            'python "$SCRIPTS"/publish_notebook.py --executed {input:q} --out-notebook {output.notebook:q}'
            " --out-html {output.page:q} 2>&1 | tee {log:q}"
