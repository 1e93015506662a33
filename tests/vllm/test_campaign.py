"""What scripts/check_parity.py says and writes."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from fairway.engine import Scheduler
from fairway.errors import InputError
from fairway.parity import Counts, random_case, read_case, write_case
from fairway.parity.campaign import SEEDS_PER_CHUNK, code_digest, compared_policies
from fairway.parity.checks import DIFFERENCE_FILE, Extent, Label, check_case, check_random_cases
from fairway.traces import write_trace

LABEL = Label(date="2000-01-01", commit="0123456789abcdef")


def store_chunks(folder, steps, differs=None) -> Extent:
    """Lay out chunks as an earlier run of the same code leaves them: enough that none has to be made."""
    for chunk in range(4):
        path = folder / "chunks" / code_digest() / f"{chunk * SEEDS_PER_CHUNK}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        counts = {policy: asdict(Counts(cases=8, steps=steps, longest_queue=chunk)) for policy in compared_policies()}
        path.write_text(json.dumps({"counts": counts, "differs": differs}), encoding="utf-8")
    return Extent(least_steps=2 * steps * len(compared_policies()), processes=1, chunks_folder=folder / "chunks")


def test_finished_chunks_are_not_made_again_and_are_summed_up(tmp_path, capsys):
    shares = []
    assert check_random_cases(store_chunks(tmp_path, steps=1000), LABEL, tmp_path, shares.append) == 0
    assert shares == [0.5, 1.0]
    summary = json.loads((tmp_path / "parity.json").read_text(encoding="utf-8"))
    policies = len(compared_policies())
    assert summary["differences"] == 0
    assert summary["seeds"] == 2 * SEEDS_PER_CHUNK
    assert summary["total"]["steps"] == 2000 * policies
    assert summary["total"]["longest_queue"] == 1
    assert summary["versions"]["vllm"] == "0.32.0"
    page = (tmp_path / "parity.md").read_text(encoding="utf-8")
    assert f"**0 differences** in {2000 * policies:,} steps" in page
    assert "0123456789ab" in page
    assert f"0 differences in {2000 * policies:,} steps" in capsys.readouterr().out


def test_a_difference_ends_with_status_1_and_the_smallest_trace(tmp_path, capsys, monkeypatch):
    def skip_the_last_block(self, one, original=Scheduler._hit_limit_blocks):
        return max(0, original(self, one) - 1)

    extent = store_chunks(tmp_path, steps=1000, differs=[2, "lpm"])
    monkeypatch.setattr(Scheduler, "_hit_limit_blocks", skip_the_last_block)
    assert check_random_cases(extent, LABEL, tmp_path, lambda share: None) == 1
    said = capsys.readouterr().out
    assert "Seed 2, policy lpm; shrunk to 2 requests" in said
    assert "readable engine: " in said
    case, policy = read_case(tmp_path / DIFFERENCE_FILE)
    assert (len(case.arrivals), policy) == (2, "lpm")
    assert check_case(tmp_path / DIFFERENCE_FILE) == 1
    assert "vLLM: " in capsys.readouterr().out
    monkeypatch.undo()
    assert check_case(tmp_path / DIFFERENCE_FILE) == 0
    assert "0 differences in" in capsys.readouterr().out


def test_a_case_comes_back_from_its_file_as_it_was(tmp_path):
    for seed in range(12):
        case = random_case(seed)
        write_case(case, "fairway", tmp_path / "case.jsonl")
        assert read_case(tmp_path / "case.jsonl") == (case, "fairway")


def test_the_script_runs_a_case_again(tmp_path):
    write_case(random_case(2), "lpm", tmp_path / "case.jsonl")
    script = Path(__file__).parents[2] / "scripts/check_parity.py"
    command = [sys.executable, script, "--case", tmp_path / "case.jsonl", "--out-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 differences in" in done.stdout


def test_a_trace_that_is_no_case_is_refused(tmp_path):
    write_trace(random_case(0).trace(), tmp_path / "trace.jsonl")
    with pytest.raises(InputError, match="describes no case"):
        check_case(tmp_path / "trace.jsonl")
