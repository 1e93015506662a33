"""Make a public trace into one of ours."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import file_path, positive, refuse_overwriting, run
from fairway.errors import InputError
from fairway.files import write_text
from fairway.traces import write_trace
from fairway.traces.description import describe_trace
from fairway.traces.header import header_path
from fairway.traces.imported import import_trace
from fairway.traces.public_formats import FORMATS
from fairway.traces.screening import ScreeningRule


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Read a public trace, judge every row by one rule (served, excluded or truncated), and write those "
        "that can be served in Mooncake's format. X.header.json has the counts, X.verdicts.csv each row's verdict."
    )
    parser.add_argument("--format", required=True, choices=list(FORMATS), help="the file's format")
    parser.add_argument("--trace", required=True, type=Path, help="file to read")
    parser.add_argument("--max-model-tokens", type=positive, help="prompt and output together (default: no limit)")
    parser.add_argument(
        "--failures-as-prefill", action="store_true", help="serve rows without output as a prefill instead of none"
    )
    parser.add_argument("--out", required=True, type=file_path, help="file to write, JSON lines or .parquet")
    arguments = parser.parse_args()
    verdicts = arguments.out.with_suffix(".verdicts.csv")
    for out in (arguments.out, header_path(arguments.out), verdicts):
        refuse_overwriting(out, arguments.trace)
        if out.is_dir():
            raise InputError("is a folder, and would be written to", remedy="give another --out", file=out)
    rule = ScreeningRule(arguments.max_model_tokens, arguments.failures_as_prefill)
    imported = import_trace(arguments.trace, arguments.format, rule)
    write_text(verdicts, imported.verdict_table())
    write_trace(imported.trace, arguments.out)
    print(f"{arguments.out}: {describe_trace(imported.trace)}")
    if together := imported.trace.header.get("rounded_together"):
        print(f"rounded to the microsecond of the request before: {together} requests")
    for verdict, count in imported.trace.header["screening"]["counts"].items():
        print(f"{verdict}: {count['requests']} requests, {count['prompt_tokens']} prompt tokens")
    return 0


if __name__ == "__main__":
    run(main)
