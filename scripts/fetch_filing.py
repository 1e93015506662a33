"""Fetch a pinned filing and take its text."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.errors import InputError
from fairway.sources.edgar.fetch import Edgar
from fairway.sources.edgar.listing import find_filing
from fairway.sources.settings import read_sources


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Fetch a 10-Q filing from SEC EDGAR, unless its document lies in the folder of downloads with the "
        "listed checksum (placed by hand, for instance), and write its text by section as JSON. Many of these may run "
        "at once: together they keep to the rate of the sources file."
    )
    parser.add_argument("--accession", required=True, help="the filing's number, one of the list")
    parser.add_argument("--sources", required=True, type=Path, help="sources file (YAML), as config/sources.yaml")
    parser.add_argument("--downloads", required=True, type=Path, help="folder of documents, <accession>.htm")
    parser.add_argument("--out", required=True, type=Path, help="file to write (JSON)")
    arguments = parser.parse_args()
    from fairway.sources.edgar.text import extract_text, write_filing_text  # only now: --help needs no lxml

    source = read_sources(arguments.sources).edgar
    filing = find_filing(source.filings(), arguments.accession)
    edgar = Edgar(source, arguments.downloads)
    if arguments.out.resolve() == edgar.place_of(filing).resolve():
        raise InputError("is the filing's document itself", remedy="give another --out", file=arguments.out)
    text = extract_text(filing, edgar.document(filing))
    write_filing_text(text, arguments.out)
    print(f"{filing.ticker} {filing.period}: {len(text.sections)} sections, {len(text.text)} characters")
    return 0


if __name__ == "__main__":
    run(main)
