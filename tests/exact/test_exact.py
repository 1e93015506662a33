"""Golden examples and the bound hold, and are sharp enough to catch planted faults."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fairway
from fairway.exact import EXAMPLES, count_violations, exact_claims, miss_before_ten_hits, overtaking, queue
from fairway.policies import TwoLanes, make_policy
from fairway.policies import rules as rules_module

SOURCE = Path(fairway.__file__).parent
CHECK = (
    "import json; from fairway.exact import exact_claims; "
    "print(json.dumps({k: v['holds'] for k, v in exact_claims(3000, 1).items()}))"
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_example(example):
    assert example.computed() == example.expected


def test_the_bound_holds_over_a_hundred_thousand_random_queues():
    assert count_violations(100_000, seed=2) == 0


def test_ledgers_of_the_worked_example(monkeypatch):
    lanes = []

    class Watched(rules_module._Lane):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            lanes.append(self)

    monkeypatch.setattr(rules_module, "_Lane", Watched)
    order = make_policy("fairway").order(miss_before_ten_hits())
    seen = []
    for _ in range(6):
        next(order)
        seen.append((lanes[0].ledger, lanes[1].ledger))  # before the release just made is charged
    assert seen == [(1200, 6000), (2400, 6000), (3600, 6000), (4800, 6000), (6000, 6000), (7200, 6000)]


def test_the_bound_is_tight():
    measured = overtaking(make_policy("fairway"), miss_before_ten_hits())
    assert measured.ahead_tokens == 1500 == measured.bound_tokens


def test_the_bound_counts_nothing_where_the_oldest_goes_first():
    assert overtaking(make_policy("fairway"), queue([0, 0], [100, 100])).bound_tokens is None


def test_without_the_fair_lane_the_bound_is_broken():
    assert not overtaking(make_policy("fairway-nofair"), miss_before_ten_hits()).holds


MUTANTS = {
    "ledger from 0": ("policies/rules.py", "self.ledger = self.work_of(self.head)", "self.ledger = 0"),
    "weight 3": ("policies/fairway.py", "fast_weight: float = 4", "fast_weight: float = 3"),
    "tie to the fair lane": ("policies/rules.py", "if fast.ledger <= fair.ledger", "if fast.ledger < fair.ledger"),
    "no reset": (
        "policies/rules.py",
        "        self.ledger = self.work_of(self.head)",
        "        self._kept = vars(_Lane).get(f'kept{weight}', 0)\n"
        "        self.ledger = self._kept + self.work_of(self.head)\n"
        "        setattr(_Lane, f'kept{weight}', self.ledger)",
    ),
    "patience from c": (
        "policies/fairway.py",
        "patience_multiple * prefill_ns)",
        "patience_multiple * prefill_ns * uncached_tokens / (hit_tokens + uncached_tokens))",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_planted_fault_is_caught(mutant, tmp_path):
    file, sound, faulty = MUTANTS[mutant]
    shutil.copytree(SOURCE, tmp_path / "fairway", ignore=shutil.ignore_patterns("__pycache__"))
    source = (tmp_path / "fairway" / file).read_text(encoding="utf-8")
    assert source.count(sound) == 1
    (tmp_path / "fairway" / file).write_text(source.replace(sound, faulty), encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-c", CHECK], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert not all(json.loads(answer.stdout).values())


def test_the_unplanted_source_passes_the_same_check():
    assert all(claim["holds"] for claim in exact_claims(3000, 1).values())


def test_a_failing_example_is_named(monkeypatch):
    monkeypatch.setattr("fairway.policies.fairway.TwoLanes", lambda *a: TwoLanes(a[0], 1))
    claim = exact_claims(10, 1)["score-identities"]
    assert not claim["holds"]
    assert "a: five hits" in claim["detail"]


def test_random_queues_are_those_of_their_seed():
    from fairway.exact import random_queue

    first, second = (random_queue(np.random.Generator(np.random.PCG64(3))) for _ in range(2))
    assert first.n_tokens.tolist() == second.n_tokens.tolist()
