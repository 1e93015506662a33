"""What tables and figures of several workloads ask: results that are configured, and names of those that are not."""


def study_rows(workloads, policies):
    """Give the rows of those workloads and policies that are configured."""
    return [
        file
        for workload in workloads
        if workload in CONFIG.workloads
        for policy in policies
        if policy in CONFIG.policies_for(workload)
        for file in expand(f"{ROWS}/{{part}}", backend="sim", workload=workload, policy=policy, part=PARTS)
    ]


def result_options(workloads, policies):
    """Give the options of a script that shows what is configured and names what is not."""
    there = [workload for workload in workloads if workload in CONFIG.workloads]
    run = [policy for policy in policies if any(policy in CONFIG.policies_for(workload) for workload in there)]
    lists = {
        "--workloads": there,
        "--policies": run,
        "--lacking-workloads": [name for name in workloads if name not in there],
        "--lacking-policies": [name for name in policies if name not in run],
    }
    options = [f"{option} {' '.join(names)}" for option, names in lists.items() if names]
    return " ".join([f"--rows-root {ROWS_ROOT.format(backend='sim')}", *options])


def study_options(workloads, policies):
    """Give the options of a script that also compares, with intervals."""
    bootstrap = f"--resamples {CONFIG.bootstrap.resamples} --bootstrap-seed {CONFIG.bootstrap.seed}"
    return f"{result_options(workloads, policies)} --claims {CLAIMS_FILE!r} {bootstrap}"


def variant_options():
    """Give the options that name each variant and which results of it stand for which workload."""
    return " ".join(
        f"--variant {variant} {' '.join(f'{name}={varied(name, variant)}' for name in workloads)}"
        for variant, workloads in CONFIG.workload_variants.workloads.items()
    )


ABLATIONS = ["fairway", "fairway-absolute", "fairway-nofair", "fairway-absolute-nofair"]
ABLATION_WORKLOADS = ["sec-short-0.9", "sec-long-0.9", "sec-mixed-0.9", "sec-mixed-1.1"]
COMPARED = [*GROUPS["baselines"], "fairway"]
# Recorded traces beside the claims' own: no figure names one that is not configured.
RECORDED = [name for name in TABLE_WORKLOADS if name.startswith("conversation-")]
MOVED = ["fairway", *GROUPS["one_parameter_moved"]]
# Each figure's workloads and policies; it is drawn if at least one result of them is configured.
STUDIES = {
    "scenarios": ([*SETS["eleven"], *RECORDED], COMPARED),
    "plane": (SETS["dynamic"], [*COMPARED, "srpt"]),
    "targets": (SETS["dynamic"], COMPARED),
    "ablations": (ABLATION_WORKLOADS, ABLATIONS),
    "spread": ([*SETS["fourteen"], *RECORDED], ["fcfs"]),
    "sensitivity": (SETS["tuning"], MOVED),
    "regimes": (SETS["sweep"], COMPARED),
}
# What a study shows nothing without.
NEEDED = {name: {"fairway"} for name in STUDIES} | {"spread": {"fcfs"}, "plane": set(), "targets": {"fcfs", "lpm"}}


FIGURES_OF_ONE = {
    "spike-timeline": SPIKE_WORKLOAD,
    "spike-timeline-b": "sec-dynamic-b",
    "flood": FLOOD_WORKLOAD,
    "flood-long": "sec-flood-long",
    "order-shift": SPIKE_WORKLOAD,
}


def labels_of(figure):
    """Give what the report says beside a figure's name; n and evidence stand in the figure itself."""
    shown = [FIGURES_OF_ONE[figure]] if figure in FIGURES_OF_ONE else STUDIES[figure][0]
    there = [workload for workload in shown if workload in CONFIG.workloads]
    return {
        "Figure": figure,
        "Workloads": ", ".join(there) if len(there) < 4 else str(len(there)),
        "Seeds": ", ".join(sorted({str(len(CONFIG.seeds_for(workload))) for workload in there})),
        "Profile": ", ".join(sorted({profile_of(workload) for workload in there})),
    }


def in_report(figure):
    """Mark the SVG of a figure for the report, under its caption."""
    caption = f"../report/{figure}.rst"
    return report(f"figures/{figure}.svg", caption=caption, category="3 Figures", labels=labels_of(figure))


def figures():
    """Give the names of the figures of which at least one result is configured."""
    drawn = [name for name, workload in FIGURES_OF_ONE.items() if name != "order-shift" and figure_policies(workload)]
    drawn += [name for name in STUDIES if can_be_shown(name)]
    if study_rows([SPIKE_WORKLOAD], ["fairway"]):
        drawn.append("order-shift")
    return drawn


def can_be_shown(study):
    """Say whether a study has its needed policies, and something to compare with, on one of its workloads."""
    workloads, policies = STUDIES[study]
    run = [set(policies) & set(CONFIG.policies_for(workload)) for workload in workloads if workload in CONFIG.workloads]
    return any(NEEDED[study] <= some and len(some) >= min(2, len(policies)) for some in run)


FIGURES = figures()

REGIME = "results/regimes/{workload}.json"
MAPPED = [name for name in SETS["sweep"] if name in CONFIG.workloads and "fcfs" in CONFIG.policies_for(name)]
SWEEP_PLACES = expand(REGIME, workload=MAPPED)


def regime_options(workload):
    """Give the options that name FCFS's rows on a workload, its traces, and the file of its place."""
    rows = ROWS.format(backend="sim", workload=workload, policy="fcfs")
    return f"--rows {rows} --traces {' '.join(seed_files(REPLAYED_TRACE, workload))} --out {REGIME.format(workload=workload)}"
