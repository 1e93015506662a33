"""Bounds over the selections of the metrics, and the schedule behind the one on the mean."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.conftest import write_result

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.bounds import bounds_row, least_total_flow_ns, read_bounds
from fairway.analysis.metrics import EVERYTHING, Selection
from fairway.analysis.metrics_table import bounds_rows, metrics_document, metrics_rows, write_metrics
from fairway.analysis.results import read_result
from fairway.errors import InputError
from fairway.files import sealed, without_seal, write_sealed


def test_shortest_remaining_by_hand():
    # 10 runs for 2, gives way to 3 (done at 5) and to 4 (done at 9), has 8 left: done at 17; 20 to 21 for the last
    assert least_total_flow_ns([0, 2, 4, 20], [10, 3, 4, 1]) == 17 + 3 + 5 + 1
    assert least_total_flow_ns([], []) == 0


def flow_of(order, arrivals, sizes):
    """Total flow of unit time slots in which the first present job of ``order`` runs."""
    left, now, total = dict(enumerate(sizes)), 0, 0
    while left:
        present = [job for job in order if job in left and arrivals[job] <= now]
        if present:
            left[present[0]] -= 1
            if not left[present[0]]:
                del left[present[0]]
                total += now + 1 - arrivals[present[0]]
        now += 1
    return total


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=4))
def test_no_order_of_preference_has_less_and_one_has_as_much(jobs):
    """For one device and total flow, the best schedules are those of a fixed preference among them."""
    arrivals = list(itertools.accumulate(gap for gap, _ in jobs))
    sizes = [size for _, size in jobs]
    flows = [flow_of(order, arrivals, sizes) for order in itertools.permutations(range(len(jobs)))]
    assert least_total_flow_ns(arrivals, sizes) == min(flows)


def write_bounds(path, seeds, requests=720, size_ns=2_000_000):
    least_ns = [1_000_000 * (1 + one % 100) for one in range(requests)]
    columns = {"size_ns": [size_ns] * requests, "least_ns": least_ns}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(sealed({"seeds": {str(seed): columns for seed in seeds}})), encoding="utf-8")
    return path


def test_bounds_are_over_the_same_requests_as_the_metrics(tmp_path):
    write_result(tmp_path / "rows", "w", "fcfs")
    result = read_result(tmp_path / "rows", "w", "fcfs")
    bounds = read_bounds(write_bounds(tmp_path / "w.json", range(1, 6)))
    whole, spike = bounds_row(result, bounds, EVERYTHING), bounds_row(result, bounds, Selection(phase="spike"))
    assert whole.requests == len(result.requests["seed"]) < 5 * 720, "without the warm-up"
    assert spike.requests == int((result.requests["phase"] == "spike").sum())
    assert whole.request_bound_worst_s == 0.1
    assert 0.04 < whole.request_bound_p50_s < 0.06
    assert whole.mean_bound_mean_s >= 0.002
    (row, *_) = metrics_rows([result], Resampling(20, 1))
    assert row.requests == whole.requests


def test_refused_requests_count_for_no_bound(tmp_path):
    write_result(tmp_path / "rows", "w", "fcfs")
    result = read_result(tmp_path / "rows", "w", "fcfs")
    bounds = read_bounds(write_bounds(tmp_path / "w.json", range(1, 6)))
    before = bounds_row(result, bounds, EVERYTHING)
    result.requests["outcome"][::2] = "unservable"
    after = bounds_row(result, bounds, EVERYTHING)
    assert after.requests == before.requests // 2
    assert after.mean_bound_mean_s <= before.mean_bound_mean_s


def test_the_table_says_what_the_bounds_are(tmp_path):
    for policy in ("fcfs", "lpm"):
        write_result(tmp_path / "rows", "w", policy)
    results = [read_result(tmp_path / "rows", "w", policy) for policy in ("fcfs", "lpm")]
    rows = bounds_rows(results, {"w": read_bounds(write_bounds(tmp_path / "w.json", range(1, 6)))})
    document = metrics_document(metrics_rows(results, Resampling(20, 1)), Resampling(20, 1), rows)
    write_metrics(tmp_path / "out", document)
    text = (tmp_path / "out" / "metrics.md").read_text(encoding="utf-8")
    assert "never forgets" in text
    assert "far below what can be reached" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| spike | bound-mean |")]
    assert line.endswith(", lpm |")
    assert "| spike | bound-request |" in text
    written = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))["bounds"]
    assert [row["phase"] for row in written][:3] == ["all", "steady", "burst"]


@pytest.mark.parametrize("seeds", [range(1, 5), range(1, 6)])
def test_bounds_of_other_traces_are_refused(tmp_path, seeds):
    write_result(tmp_path / "rows", "w", "fcfs")
    result = read_result(tmp_path / "rows", "w", "fcfs")
    bounds = read_bounds(write_bounds(tmp_path / "w.json", seeds, requests=720 if len(seeds) == 4 else 700))
    with pytest.raises(InputError, match=r"the bounds of w lack requests of seed \d"):
        bounds_row(result, bounds, EVERYTHING)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seeds": {"1": {"size_ns": [1]}}}', '{"seeds": {"x": {}}}'])
def test_a_file_that_holds_no_bounds_is_refused(tmp_path, text):
    held = json.loads(text) if text else ""
    (tmp_path / "w.json").write_text(json.dumps(sealed(held)) if isinstance(held, dict) else text, encoding="utf-8")
    with pytest.raises(InputError, match=r"w\.json.*no file of bounds"):
        read_bounds(tmp_path / "w.json")
    with pytest.raises(InputError, match=r"gone\.json.*cannot be read"):
        read_bounds(tmp_path / "gone.json")


def test_peek_is_called_peek_like_in_the_table(tmp_path):
    for policy in ("peek", "peek-fair", "fcfs"):
        write_result(tmp_path / "rows", "w", policy)
    results = [read_result(tmp_path / "rows", "w", policy) for policy in ("peek", "peek-fair", "fcfs")]
    write_metrics(tmp_path / "out", metrics_document(metrics_rows(results, Resampling(20, 1)), Resampling(20, 1)))
    text = (tmp_path / "out" / "metrics.md").read_text(encoding="utf-8")
    assert {"| peek (PEEK-like) |", "| peek-fair (PEEK-like) |", "| fcfs |"} <= {
        f"| {line.split('|')[2].strip()} |" for line in text.splitlines() if line.startswith("| all")
    }
    assert "| peek |" not in text


def test_an_edited_file_of_bounds_is_refused(tmp_path):
    path = tmp_path / "w.json"
    write_sealed(path, {"seeds": {"1": {"size_ns": [4], "least_ns": [5]}}})
    assert read_bounds(path)[1].size_ns.tolist() == [4]
    path.write_text(path.read_text(encoding="utf-8").replace("4", "2", 1), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        read_bounds(path)
    path.write_text(json.dumps(without_seal(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        read_bounds(path)
