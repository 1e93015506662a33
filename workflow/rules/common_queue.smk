"""What is watched: the spike's first seed, under the policies that figures of one workload draw."""

WATCHED_POLICIES = figure_policies(SPIKE_WORKLOAD)
QUEUE_PAGE = ["figures/queue.html"] if len(WATCHED_POLICIES) > 1 else []  # it sets two side by side


def watching_code(wildcards):
    """Give the fingerprint of what records and plays: the package's part, and the policies' own files."""
    scripts = scripts_of("watching", SCRIPTS)
    policies = [policy_fingerprint(PACKAGE, policy, "sim", scripts) for policy in WATCHED_POLICIES]
    return "-".join([fingerprint(PACKAGE, WATCHING_SOURCES), *policies])


def watched(pattern):
    """Give a file of the spike's first seed."""
    return seed_files(pattern, SPIKE_WORKLOAD)[0]
