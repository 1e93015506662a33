"""Set the paper with typst: the same bytes from the same files, on any machine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typst

from fairway.analysis.figures.seal import seal
from fairway.analysis.tables import Document
from fairway.errors import InputError
from fairway.files import atomic_path

MAIN = "fairway.typ"


def typeset(sources: Path, facts: Document, figures: Sequence[Path], target: Path) -> None:
    """Write the PDF of the typst files in ``sources`` with these facts and figures, atomically.

    Text and results may lie in different folders, and typst reads nothing outside of one, so they meet in a temporary
    one. Only the fonts that typst brings along are used; the document has no date, so no clock gets into it. It is
    sealed as figures are.

    Raises:
        InputError: typst cannot set the text; with its message.
    """
    with tempfile.TemporaryDirectory() as name, atomic_path(target) as part:
        desk = Path(name)
        shutil.copytree(sources, desk, dirs_exist_ok=True)
        (desk / "facts.json").write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")
        (desk / "figures").mkdir()
        for figure in figures:
            shutil.copy(figure, desk / "figures" / figure.name)
        try:
            part.write_bytes(typst.compile(str(desk / MAIN), root=str(desk), ignore_system_fonts=True, timestamp=0))
        except typst.TypstError as error:
            raise InputError(f"cannot be set: {error}", remedy="correct the text", file=sources / MAIN) from error
        seal(part, "pdf")
