"""Check configuration files before a run."""

import argparse
from pathlib import Path

from fairway.command import run
from fairway.configuration import load_configuration


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Check configuration files: keys, values, and names of policies, workloads and profiles. "
        "Prints what would run; a fault ends with its file, line and remedy, and exit status 2."
    )
    parser.add_argument(
        "--config", type=Path, nargs="+", required=True, help="YAML files; later ones override earlier ones"
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parents[1],
        help="the repository's folder (default: this script's)",
    )
    arguments = parser.parse_args()
    configuration = load_configuration(arguments.config, arguments.root)
    print(
        f"{len(configuration.policies)} policies on {len(configuration.workloads)} workloads "
        f"with {len(configuration.seeds)} seeds, profile {configuration.profile}"
    )
    return 0


if __name__ == "__main__":
    run(main)
