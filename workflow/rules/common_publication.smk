"""What the rules of the paper, the report and the notebook share."""

PUBLICATION_CODE = fingerprint(PACKAGE, PUBLICATION_SOURCES, scripts_of("publication", SCRIPTS))
# Captions of the report find it here. Jobs, which are processes of their own, do not: results must not depend on it.
if workflow.is_main_process:
    config["made_by"] = made_by(BASE)
FURTHER = "4 Paper, notebook, queue"  # categories of the report are sorted by name
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
        "main": source("paper/fairway.typ"),
        "text": PAPER_FILES,
        "captions": [source(f"workflow/report/{name}.rst") for name in figures],
        "parity": source("docs/parity.json"),
        "variants": source("config/variants.yaml"),
        "workloads": sorted({str(file) for name in workloads for file in reference_of(name).files}),
    }


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
EXPLORED_TRACES = [
    pattern.format(workload=workload, seed=CONFIG.seeds_for(workload)[0])
    for workload in EXPLORED
    for pattern in REPLAYED_FILES
]
NOTEBOOK_CODE = fingerprint(PACKAGE, NOTEBOOK_SOURCES)
