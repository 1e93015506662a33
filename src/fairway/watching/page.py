"""The page that plays recordings: one file of HTML with its style, its script and its data inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fairway import jsontext
from fairway.analysis.figures.seal import seal
from fairway.analysis.figures.style import look
from fairway.errors import InputError
from fairway.files import atomic_path, is_sealed, without_seal

Recording = Mapping[str, Any]

_PARTS = Path(__file__).with_name("parts")
_SCHEMA = Path(__file__).with_name("recording.schema.json")
_REMEDY = "record it again with scripts/record_queue.py"


def read_recording(path: Path) -> Recording:
    """Read a recording.

    Raises:
        InputError: it cannot be read, is not what `recording.schema.json` describes, or was edited.
    """
    try:
        document = jsontext.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, remedy="check the path") from error
    except ValueError as error:  # bad UTF-8 or JSON
        raise InputError(f"is no JSON: {error}", file=path, remedy=_REMEDY) from error
    if not isinstance(document, dict) or not is_sealed(document):
        raise InputError("is no recording, or was edited after it was written", file=path, remedy=_REMEDY)
    recording = without_seal(document)
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    fault = best_match(Draft202012Validator(schema).iter_errors(recording))
    if fault is not None:
        raise InputError(f"{fault.json_path}: {fault.message[:200]}", file=path, remedy=_REMEDY)
    return recording


def write_page(target: Path, recordings: Sequence[Recording]) -> None:
    """Write the page that plays ``recordings``, the first one first; sealed, atomically."""
    data = {"scenes": recordings, "looks": _looks(recordings)}
    # No "<" inside, so that no value can end the element that holds it.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {name: (_PARTS / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")}
    page = parts["page.html"].replace("{style}", parts["page.css"]).replace("{script}", parts["page.js"])
    with atomic_path(target) as part:
        part.write_text(page.replace("{data}", text), encoding="utf-8", newline="\n")
        seal(part, "html")


def _looks(recordings: Sequence[Recording]) -> Mapping[str, Any]:
    """Give each policy the name and the line that it has in every figure."""
    policies = sorted({run["policy"] for recording in recordings for run in recording["runs"]})
    looks = {policy: look(policy) for policy in policies}
    return {
        policy: {"label": one.label, "color": one.color, "dashes": list(one.dashes[1])} for policy, one in looks.items()
    }
