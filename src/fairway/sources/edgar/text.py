"""A filing's text by section, as a file between the documents and the corpus."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from fairway import jsontext
from fairway.errors import InputError
from fairway.files import sha256, write_json
from fairway.sources.edgar.document import decode, is_markup, primary_text, refuse_other_kinds
from fairway.sources.edgar.listing import Filing
from fairway.sources.edgar.markup import lines_of, plain_lines
from fairway.sources.edgar.sections import Section, sections_of
from fairway.traces.settings import settings
from fairway.yamlfile import YamlFile


@dataclass(frozen=True)
class FilingText:
    """The text of one filing; ``document_sha256`` is that of the document it was taken from."""

    ticker: str
    company: str
    accession: str
    period: str
    document_sha256: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """All sections one after the other."""
        return "\n\n".join(section.text for section in self.sections) + "\n"


def extract_text(filing: Filing, document: Path) -> FilingText:
    """Take the text out of a filing's document.

    Raises:
        InputError: the document has none, is of another kind, or cannot be read to its end.
    """
    served = document.read_bytes()
    refuse_other_kinds(served, document)
    content = decode(served)
    if "<DOCUMENT>" in content[:20_000].upper():
        content = primary_text(content, filing.form)
    try:
        lines = lines_of(content) if is_markup(content) else plain_lines(content)
    except InputError as error:
        problem = f"{filing.ticker} {filing.period}, {filing.accession}: {error.problem}"
        raise InputError(problem, remedy=error.remedy, file=document) from error
    if not lines:
        raise InputError("the document has no text", remedy="delete it, and fetch it again", file=document)
    return FilingText(
        filing.ticker, filing.company, filing.accession, filing.period, sha256(document), sections_of(lines)
    )


def write_filing_text(text: FilingText, path: Path) -> None:
    """Write a filing's text as JSON."""
    write_json(path, asdict(text))


def read_filing_text(path: Path) -> FilingText:
    """Read a filing's text.

    Raises:
        InputError: the file is not one that `write_filing_text` wrote.
    """
    remedy = "make it again"
    try:
        fields = jsontext.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the filing's text cannot be read ({error})", remedy=remedy, file=path) from error
    if not isinstance(fields, dict):
        raise InputError("this is no filing's text", remedy=remedy, file=path)
    return settings(FilingText, YamlFile(path, fields, lines={}))
