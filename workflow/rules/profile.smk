"""The step-time profile, checked and with its fits."""


rule check_profile:
    input:
        source("src/fairway/profile/data/{profile}.toml"),
    output:
        PROFILE,
    log:
        "logs/check_profile/{profile}.log",
    benchmark:
        "benchmarks/dag/check_profile/{profile}.tsv"
    conda:
        "../../envs/profile.yaml"
    params:
        code=TRACE_CODE,
    shell:
        'python "$SCRIPTS"/check_profile.py --profile {wildcards.profile:q} --out {output:q} 2>&1 | tee {log:q}'
