"""The real filings: all of them have text and items; ten were read beside their HTML, and what was seen is pinned."""

import gzip
import re
from pathlib import Path

import pytest

from fairway.sources.edgar.listing import Filing, pinned_filings
from fairway.sources.edgar.text import FilingText, extract_text

ITEMS = {("I", "1"), ("I", "2"), ("I", "4"), ("II", "1"), ("II", "6")}  # that every quarterly report has
# Filings whose own text has no heading for one of these, and those that only have an index of pages.
WITHOUT = {"CL": "I", "HON": "I1", "T": "II1", "TXN": "II1"}
INDEX_ONLY = {"GE", "INTC"}

# Whole lines that the text must have, some of them in a row, and pieces that it must not have. Workiva's software made
# the documents, but for Oracle's (DFIN's) and Marathon's (M2's).
READ = {
    "GME": (
        [
            "Net sales | $1,163.8 | $1,136.0 | $2,400.9 | $2,514.4",
            "Net sales | $1,163.8 | 100.0% | $1,136.0 | 100.0% | $27.8 | 2.4%",
            "Three Months Ended | Six Months Ended\nJuly 29, 2023 | July 30, 2022 | July 29, 2023 | July 30, 2022",
            "Amount | Percent of Net Sales | Amount | Percent of Net Sales | $ | %",
            "Class A Common Stock | GME | NYSE",
            "• Level 1 inputs are quoted prices in active markets for identical assets or liabilities.",
        ],
        ["NOTES TO CONDENSED CONSOLIDATED FINANCIAL STATEMENTS\n(Tabular amounts", "\nGAMESTOP CORP.\nNOTES", "\n22\n"],
    ),
    "ORCL": (
        [
            "9. SEGMENT INFORMATION",
            "• the timing and amount of expenses we expect to incur;",
            "Cash and cash equivalents | $11,613 | $9,765",
            "Net income | $2,420 | $1,548",
        ],
        ["—(Continued)", "\n•\n", "\n9.\n"],
    ),
    "MARA": (
        [
            "Cash and cash equivalents | $113,675 | $103,705",
            "Balance as of June 30, 2023 | 174,209,038 | $17 | $1,461,188 | $(866,709) | $594,496",
            "Common stock, 0.0001 par value, 200,000,000 shares authorized; 174,209,038 and 145,565,916 issued and "
            "outstanding at June 30, 2023 and December 31, 2022, respectively | 17 | 15",
            "PART II - OTHER INFORMATION",
        ],
        [
            "\n50\n",
            "us-gaap",
            "The accompanying notes are an integral part",
            "SUBSIDIARIES\nCONDENSED CONSOLIDATED STATEMENTS",
        ],
    ),
    "CSCO": (
        [
            "1. Organization and Basis of Presentation",
            "(a) Disaggregation of Revenue",
            "Balance at April 30, 2022 | 4,149 | $42,587 | $(724) | $(1,463) | $40,400",
        ],
        ["(Continued)", "\nCISCO SYSTEMS, INC.\n(Unaudited)", "(Unaudited)\n(a) Disaggregation"],
    ),
    "NKE": (
        [
            "Revenues | $12,939 | $12,687",
            "Foreign exchange forwards and options | 86 | 109 | Cost of sales",
            "Total shareholders' equity | 13,971 | 14,004",
            "(2) Restricted stock units include RSUs and PSUs.",
        ],
        [
            "\nTable of Contents\n",
            "\n42\n",
            "The accompanying Notes to the",
            "\nNIKE, INC.\nUNAUDITED CONDENSED CONSOLIDATED BAL",
        ],
    ),
    "BMY": (
        [
            "Dollars in millions | 2023 | 2022 | 2023 | 2022",
            "Net earnings attributable to BMS | $2,073 | $1,421 | $4,335 | $2,699",
        ],
        [],
    ),
    "CVX": (
        [
            "Three Months Ended June 30 | Six Months Ended June 30\n2023 | 2022 | 2023 | 2022\n(Millions of dollars)\n"
            "Exploration expenses | $169 | $196 | $359 | $405"
        ],
        ["(Continued)", "\nCHEVRON CORPORATION AND SUBSIDIARIES\nCONSOLIDATED STATEMENT OF CASH FLOWS"],
    ),
    "KO": (
        [
            "Basic Net Income Per Share¹ | $0.59 | $0.44 | $1.31 | $1.08",
            "Restricted cash and restricted cash equivalents¹,² | 288 | 306",
            "Contingent consideration liability | $— | $— | $1,590 | ⁵ | $— | $— | $1,590",
        ],
        ["equivalents1", "Share1"],
    ),
    "SJM": (
        ["Balance at July 31, 2023 | 102,132,673 | $25.5 | $5,242.1 | $1,964.8 | $(229.0) | $7,003.4"],
        ["\nsegment profit. The obligation"],
    ),
    "TXN": (
        [
            "Revenue | $4,531 | $5,212 | $8,910 | $10,117",
            "June 30, | December 31,\nConsolidated Balance Sheets | 2023 | 2022",
        ],
        ["\nTEXAS INSTRUMENTS INCORPORATED AND SUBSIDIARIES\n"],
    ),
}
# Parts of long lines.
WITHIN = {
    "CVX": ["In some cases, the guarantee arrangements may have recourse provisions that would enable the company"],
    "SJM": [
        "are not allocated to segment profit. The obligation related to employee separation costs is included in",
        "\nNote 14: Contingencies\nWe, like other food manufacturers, are from time to time subject to various",
    ],
    "TXN": ["\nSIGNATURE\nPursuant to the requirements of the Securities Exchange Act of 1934, the Registrant"],
}
# How often the HTML has a line that pages begin with and that is none of their headers.
REPEATED = {
    "BMY": ("Three Months Ended June 30, | Six Months Ended June 30,", 26),
    "CVX": ("Three Months Ended June 30 | Six Months Ended June 30", 24),
    "TXN": ("June 30, | December 31,", 3),
}


def real_text(filing: Filing, real_data: Path, folder: Path) -> FilingText:
    (packed,) = (real_data / "edgar/Archives/edgar/data" / filing.folder).glob("*.gz")
    document = folder / f"{filing.accession}.htm"
    document.write_bytes(gzip.decompress(packed.read_bytes()))
    text = extract_text(filing, document)
    assert text.document_sha256 == filing.sha256
    return text


@pytest.mark.parametrize("ticker", READ)
def test_filings_that_were_read_by_eye(ticker: str, real_data: Path, tmp_path: Path) -> None:
    (filing,) = [filing for filing in pinned_filings() if filing.ticker == ticker]
    text = real_text(filing, real_data, tmp_path).text
    wanted, unwanted = READ[ticker]
    assert [lines for lines in wanted if f"\n{lines}\n" not in text] == []
    assert [piece for piece in unwanted if piece in text] == []
    assert [piece for piece in WITHIN.get(ticker, []) if piece not in text] == []
    if ticker in REPEATED:
        line, count = REPEATED[ticker]
        assert text.split("\n").count(line) == count


def test_the_data_page_lists_them(root: Path) -> None:
    page = (root / "data/README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| [^|]+ \| ([A-Z]+), (\d{10}-\d{2}-\d{6}) \|", page, re.MULTILINE)
    assert dict(listed) == {one.ticker: one.accession for one in pinned_filings() if one.ticker in READ}
    assert len(listed) == len(READ) >= 5
    for ticker, (_, count) in REPEATED.items():
        assert re.search(rf"^\| [^|]+ \| {ticker}, .*\b{count} ", page, re.MULTILINE)


@pytest.mark.slow
def test_all_filings_have_clean_text_by_item(real_data: Path, tmp_path: Path) -> None:
    for filing in pinned_filings():
        text = real_text(filing, real_data, tmp_path)
        found = {(section.part, section.item) for section in text.sections}
        missing = {part + item for part, item in ITEMS - found}
        if filing.ticker not in INDEX_ONLY:
            assert all(name.startswith(WITHOUT.get(filing.ticker, "none")) for name in missing), filing.ticker
        assert 50_000 < len(text.text) < 500_000
        assert not re.search(r"xbrl|us-gaap:|dei:|[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffd]", text.text), filing.ticker
