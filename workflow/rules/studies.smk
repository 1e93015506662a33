"""What tables and figures of several workloads ask: results that are configured, and names of those that are not."""

from fairway.yamlfile import read_yaml

CLAIMS_FILE = source("paper/claims.yaml")
CLAIMS = read_yaml(Path(CLAIMS_FILE)).values
SETS, GROUPS = CLAIMS["workload_sets"], CLAIMS["groups"]


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
