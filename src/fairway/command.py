"""What every script shares: one place that turns bad input into one line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairway.errors import EXIT_BAD_INPUT, InputError


def run(main: Callable[[], int]) -> None:
    """Run a script's ``main`` and exit with its status; bad input prints one line and exits with status 2."""
    try:
        status = main()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        status = EXIT_BAD_INPUT
    sys.exit(status)
