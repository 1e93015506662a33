import json
import sys
from pathlib import Path

import pytest

from benchmarks.load import Load
from benchmarks.peer import Peer, config
from fairway.engine import Limits
from fairway.errors import InputError

LIMITS = Limits(cache_blocks=12_000)
FAKE = """\
#!{python}
import json, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output-dir") + 1])
out.mkdir()
configuration = json.loads(pathlib.Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
if "--capture-per-request" in sys.argv:
    rows = [(0.0, 0.0, 10.0), (1.0, 10.0, 20.0)]
    names = ("arrival_time_ms", "first_admit_ms", "last_token_ms")
    lines = [json.dumps(dict(zip(names, row))) for row in rows]
    (out / "requests.jsonl").write_text("\\n".join(lines))
print(json.dumps({{"wall_time_ms": 1500.0, "num_requests": 2, "completed_requests": {completed}}}))
print("a warning", file=sys.stderr)
sys.exit({status})
"""


def fake(tmp_path: Path, completed: int = 2, status: int = 0) -> Peer:
    program = tmp_path / "aisimulate"
    program.write_text(FAKE.format(python=sys.executable, completed=completed, status=status), encoding="utf-8")
    program.chmod(0o755)
    return Peer(program)


def test_the_peer_states_its_time_and_its_records_give_its_load(tmp_path: Path) -> None:
    peer = fake(tmp_path)
    assert peer.replay_s(tmp_path / "t.jsonl", LIMITS) == 1.5
    assert peer.load(tmp_path / "t.jsonl", LIMITS) == Load(longest_queue=1, mean_queue=1.0, busy_share=1.0)


def test_a_run_that_fails_or_leaves_requests_out_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="aisimulate failed: a warning"):
        fake(tmp_path, status=1).replay_s(tmp_path / "t.jsonl", LIMITS)
    with pytest.raises(InputError, match="did not complete every request"):
        fake(tmp_path, completed=1).replay_s(tmp_path / "t.jsonl", LIMITS)


def test_the_peer_is_asked_for_the_same_sizes() -> None:
    asked = config(Path("t.jsonl"), Limits(cache_blocks=700, budget_tokens=512, max_num_seqs=8))
    worker = asked["engine"]["workers"]["aggregated"]
    assert worker["scheduler"] == {"max_batched_tokens": 512, "max_sequences": 8}
    assert worker["kv_cache"]["capacity"] == {"type": "fixed", "blocks": 700}
    assert (worker["kv_cache"]["block_size"], asked["traffic"]["source"]["block_size"]) == (16, 16)
    assert json.loads(json.dumps(asked)) == asked
