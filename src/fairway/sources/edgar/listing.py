"""The pinned list of filings: which ones the corpus is made of, with the checksums of their documents."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path

from fairway.errors import InputError
from fairway.files import write_text

_SHAPES = {
    "cik": r"\d{1,10}",
    "accession": r"\d{10}-\d{2}-\d{6}",
    "period": r"\d{4}-\d{2}-\d{2}",
    "sha256": r"[0-9a-f]{64}|",
}


@dataclass(frozen=True)
class Filing:
    """One filing of one company."""

    ticker: str
    cik: int
    company: str
    accession: str  # EDGAR's number of the filing
    form: str
    period: str  # last day of the quarter
    sha256: str  # of the primary document as EDGAR serves it; empty where it is not known yet

    @property
    def folder(self) -> str:
        """Its folder below ``/Archives/edgar/data``."""
        return f"{self.cik}/{self.accession.replace('-', '')}"


COLUMNS = tuple(field.name for field in fields(Filing))


def pinned_filings() -> tuple[Filing, ...]:
    """Return the list that comes with this package."""
    return read_listing(Path(str(resources.files("fairway.sources.edgar") / "listing.csv")))


def read_listing(path: Path) -> tuple[Filing, ...]:
    """Read a list of filings.

    Raises:
        InputError: the file cannot be read, or a line is wrong or names a filing or quarter twice (with its line).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # as spreadsheets save it
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the list of filings cannot be read ({error})", remedy="check the path", file=path) from error
    rows = csv.DictReader(io.StringIO(text), strict=True)
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise InputError("the list has other columns", remedy=f"give {','.join(COLUMNS)}", file=path, line=1)
    filings = [_filing(row, path, rows.line_num) for row in rows]
    if not filings:
        raise InputError("the list has no filing", remedy="add one", file=path)
    _refuse_twins(filings, path)
    return tuple(filings)


def write_listing(filings: Sequence[Filing], path: Path) -> None:
    """Write a list of filings as CSV; `InputError` if one filing or quarter is in it twice."""
    _refuse_twins(filings, path)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(filing) for filing in filings)
    write_text(path, text.getvalue())


def find_filing(filings: Sequence[Filing], accession: str) -> Filing:
    """Return the filing of that number.

    Raises:
        InputError: the list has none.
    """
    for filing in filings:
        if filing.accession == accession:
            return filing
    raise InputError(f"the list of filings has no {accession!r}", remedy="add it, or give one that the list has")


def _filing(row: dict[str | None, str | None], path: Path, line: int) -> Filing:
    values = {name: row.get(name) for name in COLUMNS}
    if None in row or None in values.values():
        raise InputError(
            "the line has too many or too few fields", remedy=f"give {','.join(COLUMNS)}", file=path, line=line
        )
    texts = {name: str(value).strip() for name, value in values.items()}
    for name, shape in _SHAPES.items():
        if not re.fullmatch(shape, texts[name]):
            raise InputError(f"{name} is {texts[name]!r}", remedy="copy it from EDGAR's page", file=path, line=line)
    return Filing(**{**texts, "cik": int(texts["cik"])})  # type: ignore[arg-type]  # all others are text


def _refuse_twins(filings: Sequence[Filing], path: Path) -> None:
    """Refuse two documents for one quarter: an amendment repeats its original and would look like shared text."""
    lines: dict[tuple[object, ...], int] = {}
    for line, filing in enumerate(filings, start=2):
        for key in ((filing.accession,), (filing.cik, filing.period)):
            if key in lines:
                raise InputError(
                    f"{filing.ticker} {filing.period} is listed in line {lines[key]} too",
                    remedy="keep the original, or the amendment",
                    file=path,
                    line=line,
                )
            lines[key] = line
