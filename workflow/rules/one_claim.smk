"""One claim alone: the rows that it rests on and its line of the claims table, for the README's artifact appendix."""


use rule answer_claims as answer_claim with:
    input:
        rows=lambda wildcards: [
            file for names, _, _ in GROUPS_OF_CLAIM[wildcards.claim] for file in row_files("sim", names)
        ],
        exact=rules.check_exact.output,
        claims=CLAIMS_FILE,
        causes=CAUSES,
        measured=MEASURED_CLAIMS,
    output:
        csv="results/claims/{claim}/claims.csv",
        md="results/claims/{claim}/claims.md",
        json="results/claims/{claim}/claims.json",
    log:
        "logs/answer_claim/{claim}.log",
    benchmark:
        "benchmarks/dag/answer_claim/{claim}.tsv"
    wildcard_constraints:
        claim=one_of(GROUPS_OF_CLAIM),
    params:
        code=ANALYSIS_CODE,
        rows_root=subpath(input[0], ancestor=3),
        workloads=lambda wildcards: first_group(wildcards)[0],
        policies=lambda wildcards: first_group(wildcards)[1],
        seeds=lambda wildcards: first_group(wildcards)[2],
        also=lambda wildcards: as_options(GROUPS_OF_CLAIM[wildcards.claim][1:]),
        about=lambda wildcards: f"--claim {wildcards.claim}",
        causes=CAUSES_OPTIONS,
        resamples=CONFIG.bootstrap.resamples,
        bootstrap_seed=CONFIG.bootstrap.seed,
        folder=subpath(output.csv, parent=True),
