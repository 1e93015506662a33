"""Names and helpers of the rules that make corpora."""

import json
import shlex

from fairway.sources.settings import read_sources
from fairway.sources.tokenizer import tokenizer_file
from fingerprint import SOURCES_SOURCES


def sources_file(named):
    """Give the sources file: of the working directory, or of the repository, as shipped configurations name it."""
    if named and (os.path.exists(named) or not (BASE / named).exists()):
        return named
    return source(named or "config/sources.yaml")


SOURCES_CODE = fingerprint(PACKAGE, SOURCES_SOURCES, scripts_of("sources", SCRIPTS))
SOURCES_FILE = sources_file(CONFIG.corpus.sources)
FOUND = "data/sources.json"
FILING = "data/filings/{accession}.json"
CORPUS_ENVIRONMENT = "../../envs/" + ("traces.yaml" if CONFIG.corpus.kind == "embedded" else "sources.yaml")
# Not outputs: what was downloaded, or placed there by hand, outlives changed code and settings.
DOWNLOADS = "data/downloads"


def corpus_kind():
    """Give the kind of the corpora: the configured one, or what was found."""
    if CONFIG.corpus.kind != "auto":
        return CONFIG.corpus.kind
    with checkpoints.find_sources.get().output[0].open(encoding="utf-8") as file:
        return json.load(file)["kind"]


def corpus_inputs(wildcards):
    """Give what a corpus is made of."""
    found = [FOUND] if CONFIG.corpus.kind == "auto" else []
    if corpus_kind() != "real":
        return found
    filings = listed_filings() if wildcards.corpus == "sec" else []
    return [*found, SOURCES_FILE, *expand(FILING, accession=filings)]


def listed_filings():
    """Give the numbers of the filings to fetch; none is fetched that could not be made tokens of."""
    try:
        sources = read_sources(Path(SOURCES_FILE))
        if not IN_CONDA:
            tokenizer_file(sources.tokenizer)
        return [filing.accession for filing in sources.edgar.filings()]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)


def corpus_options(wildcards, input):
    """Give build_corpus.py's options."""
    options = ["--corpus", wildcards.corpus, "--kind", corpus_kind(), "--seed", str(CONFIG.corpus.seed)]
    if corpus_kind() == "real":
        filings = [file for file in input if file.startswith(parent_of(FILING))]
        options += ["--sources", SOURCES_FILE, "--downloads", DOWNLOADS, "--filings", *filings]
    return shlex.join(options)


def corpus_code(wildcards):
    """Give the fingerprint of what makes a corpus."""
    return SOURCES_CODE if corpus_kind() == "real" else TRACE_CODE
