"""The one error type that users see: what is wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path

EXIT_BAD_INPUT = 2


class InputError(Exception):
    """Bad input from outside: a file, a configuration value, a name.

    Scripts print it as one line and exit with status 2.
    """

    def __init__(
        self,
        problem: str,
        *,
        remedy: str,
        file: Path | str | None = None,
        line: int | None = None,
    ) -> None:
        self.problem = problem
        self.remedy = remedy
        self.file = file
        self.line = line
        super().__init__(str(self))

    def __str__(self) -> str:
        where = "" if self.file is None else str(self.file)
        if self.line is not None:
            where += f":{self.line}"
        prefix = f"{where}: " if where else ""
        return f"{prefix}{self.problem}. Remedy: {self.remedy}."
