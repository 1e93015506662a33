"""Write a profile whose steps are as slow as those of measured runs were."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.measured import slowness
from fairway.command import refuse_overwriting, run
from fairway.files import write_sealed
from fairway.profile import load_profile, read_document
from fairway.rows import MEASUREMENT


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Divide a profile's efficiency by how long a server took for the steps of its runs over what the "
        "profile says of the same steps: simulated with it, what is left of a difference is not the device's speed "
        "during those runs."
    )
    parser.add_argument("--profile", required=True, type=Path, help="profile that the runs were measured with")
    parser.add_argument("--measured", required=True, type=Path, help=f"{MEASUREMENT} beside rows of scripts/measure.py")
    parser.add_argument("--out", required=True, type=Path, help="profile to write (JSON)")
    arguments = parser.parse_args()
    refuse_overwriting(arguments.out, arguments.profile, arguments.measured)
    factor = slowness(arguments.measured)
    document = dict(read_document(arguments.profile))
    efficiency = load_profile(arguments.profile).efficiency / factor
    write_sealed(arguments.out, {**document, "name": f"{document['name']}-at-speed", "efficiency": efficiency})
    print(f"{arguments.out}: steps {factor:.3f} of the profile's")
    return 0


if __name__ == "__main__":
    run(main)
