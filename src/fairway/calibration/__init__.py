"""Calibration: cache sizes and loads from FCFS alone, and the traces that follow from them."""

from fairway.calibration.assembly import build_trace, write_built_trace
from fairway.calibration.calibrate import calibrate
from fairway.calibration.record import (
    Calibration,
    FloodCalibration,
    PhasedCalibration,
    read_calibration,
    write_calibration,
)

__all__ = [
    "Calibration",
    "FloodCalibration",
    "PhasedCalibration",
    "build_trace",
    "calibrate",
    "read_calibration",
    "write_built_trace",
    "write_calibration",
]
