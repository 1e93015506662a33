"""Corpora: embedded ones, or real ones from what is downloaded; where `corpus: auto` is asked, from what was found."""


wildcard_constraints:
    accession=r"\d{10}-\d{2}-\d{6}",


# The network is tried once: whatever is asked for later rests on what was found then.
checkpoint find_sources:
    input:
        sources=SOURCES_FILE,
    output:
        FOUND,
    log:
        "logs/find_sources.log",
    conda:
        "../../envs/sources.yaml"
    shell:
        'python "$SCRIPTS"/find_sources.py --sources {input.sources:q} --out {output:q} 2>&1 | tee {log:q}'


rule fetch_filing:
    input:
        sources=SOURCES_FILE,
    output:
        FILING,
    log:
        "logs/fetch_filing/{accession}.log",
    conda:
        "../../envs/sources.yaml"
    params:
        code=SOURCES_CODE,
        downloads=DOWNLOADS,
    shell:
        'python "$SCRIPTS"/fetch_filing.py --accession {wildcards.accession} --sources {input.sources:q}'
        " --downloads {params.downloads:q}/edgar --out {output:q} 2>&1 | tee {log:q}"


rule build_corpus:
    input:
        corpus_inputs,
    output:
        "data/corpus/{corpus}.json",
    log:
        "logs/build_corpus/{corpus}.log",
    benchmark:
        "benchmarks/dag/build_corpus/{corpus}.tsv"
    conda:
        CORPUS_ENVIRONMENT
    params:
        code=corpus_code,
        options=corpus_options,
    shell:
        'python "$SCRIPTS"/build_corpus.py {params.options} --out {output:q} 2>&1 | tee {log:q}'


rule build_agent_trace:
    input:
        corpus_inputs,
    output:
        corpus="data/corpus/{corpus}.jsonl",
        header="data/corpus/{corpus}.header.json",
    log:
        "logs/build_agent_trace/{corpus}.log",
    benchmark:
        "benchmarks/dag/build_agent_trace/{corpus}.tsv"
    conda:
        CORPUS_ENVIRONMENT
    params:
        code=corpus_code,
        options=corpus_options,
    shell:
        'python "$SCRIPTS"/build_corpus.py {params.options} --out {output.corpus:q} 2>&1 | tee {log:q}'


# Asked for by name (`make data-card`): real corpora beside the embedded ones.
rule describe_corpora:
    input:
        corpora=expand("data/corpus/{name}", name=FILE_NAMES.values()),
        workload=source("config/workloads/sec-short-0.9.yaml"),
    output:
        md="results/data-card.md",
        json="results/data-card.json",
    log:
        "logs/describe_corpora.log",
    conda:
        "../../envs/traces.yaml"
    params:
        code=SOURCES_CODE,
        seed=CONFIG.corpus.seed,
    shell:
        'python "$SCRIPTS"/describe_corpora.py --corpora {input.corpora:q} --workload {input.workload:q}'
        " --seed {params.seed} --out-md {output.md:q} --out-json {output.json:q} 2>&1 | tee {log:q}"


rule plot_corpora:
    input:
        rules.describe_corpora.output.json,
    output:
        pdf="figures/corpora.pdf",
        svg="figures/corpora.svg",
    log:
        "logs/plot_corpora.log",
    conda:
        "../../envs/analysis.yaml"
    params:
        code=ANALYSIS_CODE,
    shell:
        'python "$SCRIPTS"/plot_corpora.py --curves {input:q} --out-pdf {output.pdf:q} --out-svg {output.svg:q}'
        " 2>&1 | tee {log:q}"
