"""What EDGAR says that a company has filed: the recent page and older ones, originals and amendments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.errors import InputError

AMENDED = "/A"
_NEEDED = ("accessionNumber", "form", "reportDate", "primaryDocument")
_FILED = "filingDate"
_REMEDY = "fetch it again; if it stays so, the service has changed"


@dataclass(frozen=True)
class Submission:
    """One entry of a company's list; ``document`` is empty for old filings that are one text file."""

    accession: str
    form: str
    period: str
    document: str
    filed: str = ""  # day; empty where the list does not say


@dataclass(frozen=True)
class OlderPage:
    """A further page of a company's list, and the filing dates that it spans."""

    name: str
    first: str
    last: str


@dataclass(frozen=True)
class Page:
    """One page of a company's list."""

    submissions: tuple[Submission, ...]
    older: tuple[OlderPage, ...]


def read_page(path: Path) -> Page:
    """Read the main page or an older one, which holds the columns alone.

    Raises:
        InputError: the file is not such a page.
    """
    try:
        value = jsontext.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InputError(f"the list of submissions is not JSON ({error})", remedy=_REMEDY, file=path) from error
    filings = value.get("filings", {"recent": value}) if isinstance(value, dict) else {}
    columns, older = (filings.get("recent"), filings.get("files", [])) if isinstance(filings, dict) else (None, [])
    try:
        return Page(tuple(_submissions(columns)), tuple(_older(older)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no list of submissions ({error})", remedy=_REMEDY, file=path) from error


def find_submission(pages: Callable[[str | None], Page], accession: str) -> Submission | None:
    """Look for a filing on the main page, ``pages(None)``, then on the older ones that may have it, by name.

    A filing is numbered in the year in which it is filed, so pages that end before or begin after it are left alone.
    """
    main = pages(None)
    for submission in main.submissions:
        if submission.accession == accession:
            return submission
    year = _year(accession)
    for older in main.older:
        if older.first[:4] <= year <= older.last[:4]:
            for submission in pages(older.name).submissions:
                if submission.accession == accession:
                    return submission
    return None


def filed_between(
    pages: Callable[[str | None], Page], form: str, first: str, last: str, amended: bool = False
) -> list[Submission]:
    """Return one filing for each quarter that ends in ``first`` to ``last`` (ISO dates), the latest quarter first.

    That is the original, or with ``amended`` the last amendment where there is one; of several originals it is the
    first one filed, wherever it stands. All older pages are read that can hold such a filing, as filings come after the
    quarter's end.
    """
    main = pages(None)
    found = list(main.submissions)
    for older in main.older:
        if older.last >= first:
            found += pages(older.name).submissions
    found.sort(key=lambda submission: (submission.filed, submission.accession))
    chosen: dict[str, Submission] = {}
    for wanted in [form + AMENDED, form] if amended else [form]:
        for submission in reversed(found) if wanted.endswith(AMENDED) else found:
            if submission.form == wanted and first <= submission.period <= last:
                chosen.setdefault(submission.period, submission)
    return sorted(chosen.values(), key=lambda submission: submission.period, reverse=True)


def _submissions(columns: Any) -> Iterator[Submission]:
    filed = columns.get(_FILED, [""] * len(columns[_NEEDED[0]]))
    rows = zip(*(columns[name] for name in _NEEDED), filed, strict=True)
    for row in rows:
        if not all(isinstance(value, str) for value in row):
            raise ValueError(f"an entry is {row!r}")
        yield Submission(*row)


def _older(files: Sequence[Any]) -> Iterator[OlderPage]:
    for file in files:
        yield OlderPage(str(file["name"]), str(file["filingFrom"]), str(file["filingTo"]))


def _year(accession: str) -> str:
    two_digits = int(accession.split("-")[1])
    return str(two_digits + (1900 if two_digits >= 90 else 2000))
