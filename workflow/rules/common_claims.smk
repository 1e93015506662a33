"""What a claim alone rests on."""


def claim_groups(claim):
    """Give the groups of a claim's workloads, as far as they are configured."""
    asked = [workload for name in claim.get("workloads", []) for workload in SETS.get(name, [name])]
    return groups_of([workload for workload in asked if workload in CONFIG.workloads])


# Without those that rest on exact checks alone, whose page is results/exact.json.
GROUPS_OF_CLAIM = {claim["id"]: groups for claim in CLAIMS["claims"] if (groups := claim_groups(claim))}


def first_group(wildcards):
    """Give the claim's first group of results."""
    return GROUPS_OF_CLAIM[wildcards.claim][0]
