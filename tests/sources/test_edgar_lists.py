"""The pinned list, and what EDGAR says that a company has filed."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.errors import InputError
from fairway.sources.edgar.fetch import Edgar
from fairway.sources.edgar.listing import Filing, find_filing, pinned_filings, read_listing, write_listing
from fairway.sources.edgar.submissions import Page, Submission, filed_between, find_submission, read_page
from fairway.sources.settings import EdgarSource

RECENT = {
    "accessionNumber": ["0000000001-24-000003", "0000000001-24-000002", "0000000001-24-000001"],
    "form": ["10-Q/A", "10-Q", "10-K"],
    "reportDate": ["2024-03-31", "2024-03-31", "2023-12-31"],
    "filingDate": ["2024-06-01", "2024-05-02", "2024-02-20"],
    "primaryDocument": ["q1a.htm", "q1.htm", "k.htm"],
}
OLD = {
    "accessionNumber": ["0000000001-12-000007", "0000000001-09-000004"],
    "form": ["10-Q", "10-Q"],
    "reportDate": ["2012-03-31", "2009-03-31"],
    "primaryDocument": ["q12.htm", ""],
}
NAME = "CIK0000000001-submissions-001.json"
MAIN = {
    "filings": {
        "recent": RECENT,
        "files": [{"name": NAME, "filingCount": 40, "filingFrom": "2009-01-01", "filingTo": "2015-03-18"}],
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "edgar/submissions"
    pages.mkdir(parents=True)
    (pages / "CIK0000000001.json").write_text(json.dumps(MAIN), encoding="utf-8")
    (pages / NAME).write_text(json.dumps(OLD), encoding="utf-8")
    return tmp_path / "edgar"


@pytest.fixture
def pages(folder: Path) -> Callable[[str | None], Page]:
    return lambda name: read_page(folder / "submissions" / (name or "CIK0000000001.json"))


def test_one_document_a_quarter_and_older_pages_are_read(pages: Callable[[str | None], Page]) -> None:
    found = filed_between(pages, "10-Q", "2012-01-01", "2024-12-31")
    assert [entry.accession for entry in found] == ["0000000001-24-000002", "0000000001-12-000007"]
    amended = filed_between(pages, "10-Q", "2012-01-01", "2024-12-31", amended=True)
    assert [entry.accession for entry in amended] == ["0000000001-24-000003", "0000000001-12-000007"]


def test_the_order_of_the_list_does_not_choose(pages: Callable[[str | None], Page]) -> None:
    turned = Page(tuple(reversed(pages(None).submissions)), ())
    assert filed_between(lambda _: turned, "10-Q", "2024-01-01", "2024-12-31")[0].document == "q1.htm"


def test_of_several_documents_of_a_kind_the_filing_dates_choose() -> None:
    entries = [
        Submission("0000000009-24-000001", "10-Q", "2024-03-31", "again.htm", "2024-05-03"),
        Submission("0000000001-24-000002", "10-Q", "2024-03-31", "first.htm", "2024-05-02"),
        Submission("0000000001-24-000003", "10-Q/A", "2024-03-31", "first-amendment.htm", "2024-06-01"),
        Submission("0000000001-24-000004", "10-Q/A", "2024-03-31", "last-amendment.htm", "2024-07-01"),
    ]
    for listed in itertools.permutations(entries):
        page = Page(listed, ())
        for amended, document in ((False, "first.htm"), (True, "last-amendment.htm")):
            (found,) = filed_between(lambda _, page=page: page, "10-Q", "2024-01-01", "2024-12-31", amended)
            assert found.document == document


def test_older_pages_are_asked_only_where_they_can_have_it(pages: Callable[[str | None], Page]) -> None:
    asked: list[str | None] = []

    def noted(name: str | None) -> Page:
        asked.append(name)
        return pages(name)

    assert find_submission(noted, "0000000001-24-000002") is not None
    assert find_submission(noted, "0000000001-20-000001") is None
    assert asked == [None, None]
    assert find_submission(noted, "0000000001-09-000004") is not None
    assert asked[-1] == NAME


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"filings": 1}', '{"filings": {"recent": {"form": ["10-Q"]}}}', '{"form": [1]}']
)
def test_what_is_no_list_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "CIK.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"CIK\.json: "):
        read_page(path)


def test_documents_by_the_address_that_they_have(
    folder: Path, start_mirror: Callable[[Path], Any], tmp_path: Path
) -> None:
    archive = folder / "Archives/edgar/data/1"
    (archive / "000000000112000007").mkdir(parents=True)
    (archive / "000000000112000007/q12.htm").write_bytes(b"<p>2012</p>")
    (archive / "0000000001-09-000004.txt").write_bytes(b"<SEC-DOCUMENT>2009")
    mirror = start_mirror(folder)
    source = EdgarSource(
        mirror.address, mirror.address, "Test test@example.org", 10.0, 1.0, 2.0, 2, 0.05, "refuse", None
    )
    edgar = Edgar(source, tmp_path / "downloads")

    def filing(accession: str, form: str = "10-Q") -> Filing:
        return Filing("ONE", 1, "One Corp.", accession, form, "2012-03-31", "")

    assert edgar.document(filing("0000000001-12-000007")).read_bytes() == b"<p>2012</p>"
    assert edgar.document(filing("0000000001-09-000004")).read_bytes() == b"<SEC-DOCUMENT>2009"
    with pytest.raises(InputError, match="is an amendment, the list says 10-Q"):
        edgar.document(filing("0000000001-24-000003"))
    with pytest.raises(InputError, match="EDGAR lists no filing"):
        edgar.document(filing("0000000001-24-000009"))
    with pytest.raises(InputError, match=r"q1\.htm answers with status 404"):
        edgar.document(filing("0000000001-24-000002"))
    listed = edgar.list_filings("ONE", 1, "2012-01-01", "2024-12-31")
    assert [entry.period for entry in listed] == ["2024-03-31", "2012-03-31"]


def test_a_list_is_made_by_the_script(
    folder: Path, start_mirror: Callable[[Path], Any], tmp_path: Path, root: Path
) -> None:
    mirror = start_mirror(folder)
    text = (root / "config/sources.yaml").read_text(encoding="utf-8")
    text = text.replace("https://data.sec.gov", mirror.address).replace('contact: ""', "contact: Test test@example.org")
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(root / "scripts/list_filings.py"), "--companies", "ONE:1", *options]
        command += ["--sources", "sources.yaml", "--downloads", "downloads", "--out", "list.csv"]
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
        )

    nothing = run("--first", "1999-01-01", "--last", "1999-12-31")
    assert (nothing.returncode, (tmp_path / "list.csv").exists()) == (2, False)
    assert nothing.stderr.startswith("error: these companies have no such filings.")
    twice = run("--companies", "ONE:1", "OTHER:1", "--first", "2012-01-01", "--last", "2024-12-31")
    assert (twice.returncode, (tmp_path / "list.csv").exists()) == (2, False)
    assert twice.stderr.startswith("error: list.csv:4: OTHER 2024-03-31 is listed in line 2 too.")
    again = run("--companies", "ONE:1", "ONE:1", "--first", "2012-01-01", "--last", "2024-12-31")
    assert again.stdout == "2 filings of 1 companies\n"
    (tmp_path / "list.csv").unlink()
    assert run("--first", "2012-01-01", "--last", "2024-12-31").stdout == "2 filings of 1 companies\n"
    kept = {filing.period: filing.form for filing in read_listing(tmp_path / "list.csv")}
    assert kept == {"2024-03-31": "10-Q", "2012-03-31": "10-Q"}
    assert run("--first", "2012-01-01", "--last", "2024-12-31", "--amended").returncode == 0
    kept = {filing.period: filing.form for filing in read_listing(tmp_path / "list.csv")}
    assert kept == {"2024-03-31": "10-Q/A", "2012-03-31": "10-Q"}


def test_the_pinned_list() -> None:
    filings = pinned_filings()
    assert (len(filings), len({filing.cik for filing in filings})) == (64, 63)
    assert all(filing.sha256 for filing in filings)
    assert find_filing(filings, "0000320193-23-000077").folder == "320193/000032019323000077"
    with pytest.raises(InputError, match="the list of filings has no 'x'"):
        find_filing(filings, "x")


def test_a_list_is_read_as_written_and_faults_have_their_line(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    filings = pinned_filings()[:3]
    write_listing(filings, path)
    assert read_listing(path) == filings
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))  # saved by a spreadsheet
    assert read_listing(path) == filings
    lines = path.read_text(encoding="utf-8").splitlines()
    faults = {
        "list.csv:1: the list has other columns": ["a,b", *lines[1:]],
        "list.csv:3: .*too many or too few": [*lines[:2], "A,1"],
        "list.csv:2: cik is": [lines[0], lines[1].replace(",320193,", ",x,")],
        "list.csv:2: accession is": [lines[0], lines[1].replace("0000320193-23", "320193-23")],
        "list.csv:3: AAPL 2023-07-01 is listed in line 2 too": [*lines[:2], lines[1]],
        "list.csv: the list has no filing": lines[:1],
    }
    for match, content in faults.items():
        path.write_text("\n".join(content) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=match):
            read_listing(path)
