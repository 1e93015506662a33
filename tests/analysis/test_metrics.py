from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.analysis import metrics
from fairway.analysis.metrics import Selection, TtftPool
from fairway.analysis.results import read_result
from fairway.errors import InputError

ONCE = np.ones((1, 5), dtype=np.int64)


def frame(root: Path, name: str = "requests") -> pd.DataFrame:
    return pd.read_parquet(root / "sec-dynamic-a" / "fcfs" / f"{name}.parquet")


def test_percentiles_leave_the_warm_up_out(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fcfs")
    rows = frame(rows_root)
    rows = rows[rows.phase != "warm-up"]
    ttft_s = (rows.first_token_ns - rows.arrival_ns) / 1e9
    for percent in (50, 95, 99):
        found = TtftPool(result).percentile_s(percent, ONCE)[0]
        assert found == np.percentile(ttft_s, percent, method="inverted_cdf")
    assert TtftPool(result).mean_s(ONCE)[0] == pytest.approx(ttft_s.mean())


def test_selections_take_their_requests_apart(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fcfs")
    rows = frame(rows_root)
    counted = rows[rows.phase != "warm-up"]
    assert len(TtftPool(result, Selection(phase="spike"))) == (rows.phase == "spike").sum()
    assert len(TtftPool(result, Selection(prompts="short"))) == (counted.prompt_tokens <= 2048).sum()
    assert len(TtftPool(result, Selection(prompts="long"))) == (counted.prompt_tokens > 2048).sum()
    assert len(TtftPool(result, Selection(kind="miss"))) == (counted.kind == "miss").sum()
    assert len(TtftPool(result, Selection(phase="warm-up"))) == 0


def test_worst_is_taken_in_each_seed(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fcfs")
    rows = frame(rows_root)
    rows = rows[rows.phase == "spike"].assign(ttft=lambda f: f.first_token_ns - f.arrival_ns)
    worst = sorted(rows.groupby("seed").ttft.max())
    p99 = rows.groupby("seed").ttft.apply(lambda part: np.percentile(part, 99, method="inverted_cdf"))
    pool = TtftPool(result, Selection(phase="spike"))
    assert pool.worst_s(ONCE)[0] == worst[2] / 1e9
    assert pool.worst_s(ONCE, 100)[0] == worst[4] / 1e9
    assert pool.worst_over_p99(ONCE)[0] == sorted(rows.groupby("seed").ttft.max() / p99)[2]


def test_refused_requests_are_counted_and_have_no_ttft(write: Callable[..., Path], tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", outcome="unservable", first_token_ns=None, start_ns=None, hit_tokens=None)
    result = read_result(tmp_path, "w", "fcfs")
    assert metrics.refused(result, metrics.EVERYTHING) == len(result.requests["seed"])
    assert len(TtftPool(result)) == 0


def test_hit_rate_counts_tokens(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fcfs")
    rows = frame(rows_root)
    rows = rows[rows.phase == "spike"]
    found = metrics.hit_rate(result, Selection(phase="spike"), ONCE)[0]
    assert found == rows.hit_tokens.sum() / rows.prompt_tokens.sum()


def test_spread_is_the_median_over_long_queues_after_the_warm_up(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fcfs")
    hooks = frame(rows_root, "hooks")
    hooks = hooks[(hooks.waiting >= 10) & (hooks.now_ns >= 61 * 10**9)]
    spread = hooks.uncached_p95 / hooks.uncached_p5
    found = metrics.uncached_spread(result, ONCE)[0]
    assert found == pytest.approx(np.percentile(spread, 50, method="inverted_cdf"), rel=0.02)


def test_partly_hit_needs_some_but_not_all_possible_blocks(write: Callable[..., Path], tmp_path: Path) -> None:
    shares = {}
    for hit_tokens in (0, 16, 32):
        write(tmp_path, "w", f"hit-{hit_tokens}", prompt_tokens=48, hit_tokens=hit_tokens)
        result = read_result(tmp_path, "w", f"hit-{hit_tokens}")
        shares[hit_tokens] = metrics.partly_hit(result, ONCE)[0]
    # 48 tokens: one is always computed, so two blocks are the most that can hit.
    assert shares == {0: 0, 16: 1, 32: 0}
    write(tmp_path, "w", "large-blocks", prompt_tokens=48, hit_tokens=32, of_runs={"block_tokens": [32] * 5})
    assert metrics.partly_hit(read_result(tmp_path, "w", "large-blocks"), ONCE)[0] == 0
    write(tmp_path, "w", "small-blocks", prompt_tokens=48, hit_tokens=32, of_runs={"block_tokens": [8] * 5})
    assert metrics.partly_hit(read_result(tmp_path, "w", "small-blocks"), ONCE)[0] == 1


def test_correlation_follows_the_queue(rows_root: Path) -> None:
    result = read_result(rows_root, "sec-dynamic-a", "fairway")
    assert metrics.correlation_with_queue(result, "arrival_correlation", ONCE, waiting_at_least=5)[0] == 1
    assert metrics.correlation_with_queue(result, "lpm_correlation", ONCE, waiting_at_least=5)[0] == -1
    assert np.isnan(metrics.correlation_with_queue(result, "lpm_correlation", ONCE, waiting_at_least=99)[0])


@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_spearman_is_the_correlation_of_mean_ranks(pairs: list[tuple[int, int]]) -> None:
    x, y = pd.Series([a for a, _ in pairs]), pd.Series([b for _, b in pairs])
    found = metrics.spearman(x.to_numpy(), y.to_numpy())
    if x.nunique() == 1 or y.nunique() == 1:
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(x.rank(), y.rank())[0, 1])


def test_a_result_in_the_wrong_place_is_refused(rows_root: Path) -> None:
    (rows_root / "sec-dynamic-a" / "lpm").rename(rows_root / "sec-dynamic-a" / "peek")
    with pytest.raises(InputError, match="rows of lpm on sec-dynamic-a in the wrong place"):
        read_result(rows_root, "sec-dynamic-a", "peek")


def test_a_served_request_needs_a_first_token(write: Callable[..., Path], tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", first_token_ns=None)
    with pytest.raises(InputError, match="without a first token"):
        read_result(tmp_path, "w", "fcfs")
