"""Rows of two backends are the same bytes, or the first row that differs is named."""

import pytest
from tests.analysis.conftest import write_result

from fairway.analysis.agreement import compare_backends
from fairway.errors import InputError

PLACE = {"workloads": ["sec-flood"], "policies": ["fcfs"]}


def roots(tmp_path, **changes):
    write_result(tmp_path / "one", "sec-flood", "fcfs", seeds=2)
    write_result(tmp_path / "other", "sec-flood", "fcfs", seeds=2, **changes)
    return tmp_path / "one", tmp_path / "other"


def test_equal_rows_are_the_same_bytes(tmp_path):
    agreement = compare_backends(roots(tmp_path), **PLACE)
    assert (agreement.files, agreement.differences) == (2, ())


def test_the_first_row_that_differs_is_named(tmp_path):
    (difference,) = compare_backends(roots(tmp_path, preemptions=3), **PLACE).differences
    assert difference == "sec-flood, fcfs, requests.parquet: seed 1, request 0: preemptions 0 and 3"


def test_missing_rows_are_told(tmp_path):
    one, _ = roots(tmp_path)
    with pytest.raises(InputError, match="rows are missing"):
        compare_backends((one, tmp_path / "nowhere"), **PLACE)


def test_more_rows_are_told(tmp_path):
    write_result(tmp_path / "one", "sec-flood", "fcfs", seeds=1)
    write_result(tmp_path / "other", "sec-flood", "fcfs", seeds=2)
    differences = compare_backends((tmp_path / "one", tmp_path / "other"), **PLACE).differences
    assert len(differences) == 2
    assert all("rows, of which the shared ones are equal" in difference for difference in differences)
