"""What readers open: the paper, and the pages of the HTML report."""


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
        text=subpath(input.main, parent=True),
        configuration=subpath(input.variants, parent=True),
    shell:
        'python "$SCRIPTS"/build_paper.py --text {params.text:q} --summary {input.summary:q}'
        " --calibrations {input.calibrations:q} --profiles {input.profiles:q} --figures {input.figures:q}"
        " --captions {input.captions:q} --parity {input.parity:q} --configuration {params.configuration:q}"
        " --out-facts {output.facts:q} --out-pdf {output.pdf:q} 2>&1 | tee {log:q}"


rule render_pages:
    input:
        summary=rules.summarise.output,
        calibrations=CALIBRATIONS,
        settings=[CLAIMS_FILE, CAUSES_FILE, *dict.fromkeys(map(os.path.relpath, CONFIG_FILES))],
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


if EXPLORED:

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
            code=NOTEBOOK_CODE,
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
