"""Architectures without weights, each a folder with a config.json; vLLM makes weights up for them.

``llama-3.1-8b`` has that model's public numbers, ``tiny-llama`` is small enough for a CPU.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def model_folder(name: str) -> Path:
    """Return the folder of a shipped architecture, or ``name`` itself as a path."""
    shipped = _FOLDER / name
    return shipped if (shipped / "config.json").is_file() else Path(name)
