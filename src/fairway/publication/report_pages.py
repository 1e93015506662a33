"""Pages of the HTML report: every table, and what a run rests on, each a file that needs no other one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from fairway.analysis import markdown
from fairway.analysis.blocks import blocks_of, to_html
from fairway.analysis.claims_table import head_lines, readers_table
from fairway.analysis.figures.seal import write_page
from fairway.analysis.summary import pages, read_summary
from fairway.analysis.tables import Document
from fairway.files import sha256
from fairway.publication.pages import html_page
from fairway.publication.setting import read_calibrations

OVERVIEW = "overview.html"
PROVENANCE = "provenance"
_LIBRARIES = ("matplotlib", "numpy", "pandas", "pyarrow", "seaborn", "typst")


def write_report_pages(summary_file: Path, calibrations: Iterable[Path], files: Sequence[Path], folder: Path) -> None:
    """Write ``<table>.html`` of every table, ``provenance.html``, and ``overview.html`` without a head; all sealed.

    ``files`` are settings of the run, such as configurations, whose checksums the provenance names.

    Raises:
        InputError: a table or a calibration is missing or was edited.
    """
    summary = read_summary(summary_file)
    rests_on = provenance_markdown(summary["claims"], read_calibrations(calibrations), files)
    for name, page in {**pages(summary), PROVENANCE: rests_on}.items():
        body = f"<h1>{name}</h1>\n{to_html(blocks_of(page))}"
        write_page(folder / f"{name}.html", html_page(name, body))
    claims = "\n\n".join([*head_lines(summary["claims"]), readers_table(summary["claims"])])
    write_page(folder / OVERVIEW, f'<div class="claims">\n{to_html(blocks_of(claims))}\n</div>\n')


def provenance_markdown(claims: Document, calibrations: Mapping[str, Sequence[Document]], files: Sequence[Path]) -> str:
    """The page: what was run on what, by checksums that say whether two runs are of the same things."""
    evidence, profiles, corpora = (", ".join(claims[name]) or "none" for name in ("evidence", "profiles", "corpora"))
    return "\n\n".join(
        [
            f"Evidence: {evidence}. Step times: {profiles}. Corpus: {corpora}.",
            markdown.table(("Setting", "SHA-256"), [(f"`{file.name}`", f"`{sha256(file)}`") for file in files]),
            markdown.table(("Library", "Version"), [(name, version(name)) for name in _LIBRARIES]),
            "### Workloads",
            markdown.table(
                ("Workload", "Seeds", "Corpus", "Profile", "Calibrations"),
                [_calibrated(name, found) for name, found in calibrations.items()],
            ),
        ]
    )


def _calibrated(workload: str, found: Sequence[Document]) -> tuple[str, ...]:
    first = found[0]
    corpus = f"{first['corpus_kind']}, `{first['corpus_sha256'][:16]}`"
    profile = f"{first['profile']} ({first['profile_evidence']})"
    seeds = ", ".join(str(one["seed"]) for one in found)
    return workload, seeds, corpus, profile, str(len(found))
