"""Documents of the pinned filings: from the cache where their checksum is right, otherwise from EDGAR."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from fairway.errors import InputError
from fairway.sources.edgar.listing import Filing
from fairway.sources.edgar.submissions import AMENDED, Page, Submission, filed_between, find_submission, read_page
from fairway.sources.settings import EdgarSource
from fairway.sources.web import Web, is_there

QUARTERLY = "10-Q"


class Edgar:
    """EDGAR's client: ``downloads`` keeps every document as ``<accession>.htm``, whoever put it there."""

    def __init__(self, source: EdgarSource, downloads: Path) -> None:
        self._source = source
        self._downloads = downloads
        self._web: Web | None = None

    def place_of(self, filing: Filing) -> Path:
        """Return where a filing's document lies, or will."""
        return self._downloads / f"{filing.accession}.htm"

    def document(self, filing: Filing) -> Path:
        """Return the file of a filing's primary document; old filings are whole submissions in one text file.

        Raises:
            InputError: EDGAR refuses, cannot be reached, does not know the filing or has another document.
        """
        target = self.place_of(filing)
        must_match = filing.sha256 and self._source.changed_documents == "refuse"
        checksum = filing.sha256 if must_match else None
        if not is_there(target, checksum):
            self._asked().fetch(self._address(filing), target, checksum)
        return target

    def list_filings(self, ticker: str, cik: int, first: str, last: str, amended: bool = False) -> list[Filing]:
        """Return a company's quarterly filings for quarters that end in ``first`` to ``last``, without checksums."""
        found = filed_between(lambda name: self._page(cik, name), QUARTERLY, first, last, amended)
        return [Filing(ticker, cik, ticker, entry.accession, entry.form, entry.period, "") for entry in found]

    def _address(self, filing: Filing) -> str:
        entry = self._entry(filing)
        archive = f"{self._source.archives_url.rstrip('/')}/Archives/edgar/data"
        if not entry.document:
            return f"{archive}/{filing.cik}/{filing.accession}.txt"
        return f"{archive}/{filing.folder}/{entry.document}"

    def _entry(self, filing: Filing) -> Submission:
        entry = find_submission(lambda name: self._page(filing.cik, name), filing.accession)
        if entry is None:
            raise InputError(
                f"EDGAR lists no filing {filing.accession} of {filing.ticker} (CIK {filing.cik})",
                remedy="correct the list of filings",
            )
        if entry.form != filing.form:
            kind = "an amendment" if entry.form.endswith(AMENDED) else f"form {entry.form}"
            raise InputError(
                f"filing {filing.accession} of {filing.ticker} is {kind}, the list says {filing.form}",
                remedy="correct the list of filings",
            )
        return entry

    def _page(self, cik: int, name: str | None) -> Page:
        """Return a page of a company's submissions; always asked for, as companies go on filing."""
        file = name or f"CIK{cik:010d}.json"
        target = self._downloads / "submissions" / Path(file).name
        self._asked().fetch(f"{self._source.data_url.rstrip('/')}/submissions/{file}", target)
        return read_page(target)

    def _asked(self) -> Web:
        if self._web is None:  # what is in the cache needs no contact
            self._web = Web(urlsplit(self._source.archives_url).netloc, self._source.manners())
        return self._web
