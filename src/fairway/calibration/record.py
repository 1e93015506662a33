"""What calibration found, as a file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.calibration.seeds import ReplacedSeed
from fairway.errors import InputError
from fairway.files import is_sealed, sealed, without_seal, write_json
from fairway.traces.settings import settings
from fairway.yamlfile import YamlFile


@dataclass(frozen=True)
class Calibration:
    """What was calibrated, on which device, with which seed, and the cache that goes with it."""

    workload: str
    seed_asked: int
    seed: int  # differs from the one asked for where that one was replaced
    replaced: tuple[ReplacedSeed, ...]
    corpus_kind: str
    corpus_sha256: str
    profile: str
    profile_evidence: str
    budget_tokens: int
    max_num_seqs: int
    block_tokens: int
    cache_blocks: int


@dataclass(frozen=True)
class PhasedCalibration(Calibration):
    """Rate 1.0, and the load that brings FCFS's median to the target (None where no phase's load is calibrated)."""

    reused_blocks: int  # used twice or more by the reference requests
    rate_1_per_s: float
    calibrated_phase: str | None
    calibrated_load: float | None
    fcfs_median_s: float | None  # TTFT over the calibrated phase's arrivals
    iterations: int  # replays that it took to find the load


@dataclass(frozen=True)
class FloodCalibration(Calibration):
    """The rate of the hits, consistent with their number."""

    hits: int
    hits_per_s: float
    warm_end_s: float  # when FCFS has finished the warm-up
    iterations: int  # replays that it took to find the number


KINDS: dict[str, type[PhasedCalibration] | type[FloodCalibration]] = {
    "phased": PhasedCalibration,
    "flood": FloodCalibration,
}


def calibration_fields(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON values."""
    kind = next(name for name, record in KINDS.items() if isinstance(calibration, record))
    fields = dataclasses.asdict(calibration)
    return {"family": kind, **fields, "replaced": list(fields["replaced"])}


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration as JSON."""
    write_json(path, sealed(calibration_fields(calibration)))


def read_calibration(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        InputError: the file cannot be read or is no calibration.
    """
    remedy = "calibrate again"
    try:
        fields = jsontext.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the calibration cannot be read ({error.strerror})", remedy=remedy, file=path) from error
    except ValueError as error:
        raise InputError(f"the calibration is not JSON ({error})", remedy=remedy, file=path) from error
    if isinstance(fields, dict) and "family" in fields and not is_sealed(fields):
        raise InputError(
            "the calibration was edited after it was written", remedy="delete it and calibrate again", file=path
        )
    fields = without_seal(fields) if isinstance(fields, dict) else {}
    family = fields.pop("family", None)
    if not isinstance(family, str) or family not in KINDS:
        raise InputError("this is not a calibration file", remedy=remedy, file=path)
    return settings(KINDS[family], YamlFile(path, fields, lines={}))
