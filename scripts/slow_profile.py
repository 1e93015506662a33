"""Write a profile whose steps are as slow as those of requests at once before a policy's measured runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.measured import measured_folders, slowness
from fairway.command import refuse_overwriting, run
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.profile import load_profile, read_document


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Divide a profile's efficiency by how long steps of requests at once took over what it says on a "
        "policy's server, the median of its runs: simulated with it, what is left of a difference is not that server's "
        "speed on that day."
    )
    parser.add_argument("--profile", required=True, type=Path, help="profile that the runs were measured with")
    parser.add_argument("--measured", required=True, type=Path, help="list that scripts/measure.py wrote")
    parser.add_argument("--policy", required=True, help="policy whose runs count: no two servers are equally fast")
    parser.add_argument("--out", required=True, type=Path, help="profile to write (JSON)")
    arguments = parser.parse_args()
    refuse_overwriting(arguments.out, arguments.profile, arguments.measured)
    folders = [folder for folder in measured_folders(arguments.measured) if folder.name == arguments.policy]
    if not folders:
        problem = f"has no runs of policy {arguments.policy!r}"
        raise InputError(problem, remedy="give the name that they have", file=arguments.measured)
    factor = slowness(folders)
    document = dict(read_document(arguments.profile))
    efficiency = load_profile(arguments.profile).efficiency / factor
    write_sealed(arguments.out, {**document, "name": f"{document['name']}-at-speed", "efficiency": efficiency})
    print(f"{arguments.out}: steps {factor:.3f} of the profile's")
    return 0


if __name__ == "__main__":
    run(main)
