"""An executed notebook made fit to keep: nothing of the machine or the hour in it, and as a page beside it."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from fairway.analysis.figures.seal import notebook_seal, write_page
from fairway.errors import InputError
from fairway.files import SEAL, write_text
from fairway.publication.pages import html_page

_JOB = "snakemake-job-properties"  # tag of the cell that Snakemake puts in front; it names folders of this machine


def publish(executed: Path, notebook: Path, page: Path) -> None:
    """Write an executed notebook, sealed, without what differs from run to run, and as HTML that needs no network.

    Raises:
        InputError: the file is no notebook.
    """
    try:
        cleaned = clean(nbformat.read(executed, as_version=4))
    except (OSError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise InputError(
            "no notebook", remedy="delete it and run the workflow, which makes it again", file=executed
        ) from error
    cleaned.metadata[SEAL] = notebook_seal(json.loads(nbformat.writes(cleaned)))  # as it stands in the file
    write_text(notebook, nbformat.writes(cleaned) + "\n")
    # Other templates load scripts from the network.
    body, _ = HTMLExporter(template_name="basic", exclude_anchor_links=True).from_notebook_node(cleaned)
    write_page(page, html_page("One run, step by step", body, HtmlFormatter().get_style_defs(".highlight")))


def clean(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without the job's cell, times, and the versions of whatever ran it."""
    cells = [cell for cell in notebook.cells if _JOB not in cell.metadata.get("tags", [])]
    for count, cell in enumerate((cell for cell in cells if cell.cell_type == "code"), start=1):
        cell.metadata.pop("execution", None)
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)
