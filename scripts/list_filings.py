"""List companies' quarterly filings, for a corpus of other ones than those that are pinned."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fairway.command import run
from fairway.errors import InputError
from fairway.sources.edgar.fetch import Edgar
from fairway.sources.edgar.listing import write_listing
from fairway.sources.settings import read_sources


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Ask SEC EDGAR for the 10-Q filings of companies whose quarters end between two days, older pages "
        "of their lists included, one filing a quarter, and write them as CSV for edgar.listing of the sources file."
    )
    parser.add_argument(
        "--companies", required=True, nargs="+", type=_company, metavar="TICKER:CIK", help="such as AAPL:320193"
    )
    parser.add_argument("--first", required=True, type=_day, help="earliest end of a quarter, as 2012-01-01")
    parser.add_argument("--last", required=True, type=_day, help="latest end of a quarter")
    parser.add_argument(
        "--amended", action="store_true", help="take the amendment where there is one (default: original)"
    )
    parser.add_argument("--sources", required=True, type=Path, help="sources file (YAML), as config/sources.yaml")
    parser.add_argument("--downloads", required=True, type=Path, help="folder of the pages that EDGAR answers with")
    parser.add_argument("--out", required=True, type=Path, help="file to write (CSV)")
    arguments = parser.parse_args()
    edgar = Edgar(read_sources(arguments.sources).edgar, arguments.downloads)
    days = (arguments.first, arguments.last)
    filings = [
        filing
        for ticker, cik in dict.fromkeys(arguments.companies)
        for filing in edgar.list_filings(ticker, cik, *days, amended=arguments.amended)
    ]
    if not filings:
        raise InputError("these companies have no such filings", remedy="check the numbers and the days")
    write_listing(filings, arguments.out)
    print(f"{len(filings)} filings of {len(set(arguments.companies))} companies")
    return 0


def _company(text: str) -> tuple[str, int]:
    ticker, _, cik = text.partition(":")
    if not (ticker and re.fullmatch(r"\d{1,10}", cik)):
        raise argparse.ArgumentTypeError(f"{text!r} is no TICKER:CIK")
    return ticker, int(cik)


def _day(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no day like 2012-01-31")
    return text


if __name__ == "__main__":
    run(main)
