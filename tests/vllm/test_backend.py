"""Backend vllm-virtual: the rows of vLLM's own scheduler, byte by byte those of the readable engine."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairway.analysis.agreement import compare_backends
from fairway.engine import Limits, Request, Scheduler
from fairway.errors import InputError
from fairway.experiment import Experiment, run_experiment
from fairway.parity import random_case
from fairway.policies import Capability, Policy, make_policy, policy_names
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.rows import read_runs
from fairway.traces import write_trace
from fairway.vllm.engine import VllmEngine

PROFILE = load_profile("a6000-llama-3.1-8b-modelled")
ROOT = Path(__file__).parents[2]
SEEDS = (0, 1)  # random cases with refused, preempted and repeated requests


@pytest.fixture
def traces(tmp_path):
    files = [tmp_path / f"{seed}.jsonl" for seed in SEEDS]
    for seed, file in zip(SEEDS, files, strict=True):
        header = {"workload": "w", "seed": seed, "parameters": {"cache_blocks": 50}}
        write_trace(replace(random_case(seed).trace(), header=header), file)
    return files


def test_rows_are_byte_identical_under_every_policy(traces, tmp_path):
    roots = tmp_path / "sim", tmp_path / "vllm-virtual"
    policies = policy_names()
    for root in roots:
        for policy in policies:
            run_experiment(Experiment(policy, PROFILE, backend=root.name), traces, root / "w" / policy)
    agreement = compare_backends(roots, ["w"], policies)
    assert agreement.differences == ()
    assert agreement.files == 2 * len(policies)
    labels = [read_runs(root / "w" / "lpm")["backend"].to_pylist() for root in roots]
    assert labels == [["sim", "sim"], ["vllm-virtual", "vllm-virtual"]]


def test_the_workflow_s_script_has_the_same_rows(traces, tmp_path):
    roots = tmp_path / "sim", tmp_path / "vllm-virtual"
    for root in roots:
        options = ["--policy", "lpm", "--profile", PROFILE.name, "--backend", root.name, "--out-dir", root / "w/lpm"]
        command = [sys.executable, ROOT / "scripts/replay.py", *options, "--traces", *traces]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert compare_backends(roots, ["w"], ["lpm"]).differences == ()


class Listening(Policy):
    """Orders by arrival and keeps what it is told."""

    name = "listening"
    columns = frozenset()
    capabilities = frozenset({Capability.ON_ARRIVAL, Capability.ON_ADMIT, Capability.ON_STEP})

    def __init__(self):
        self.told = []

    def order(self, view):
        return iter(range(len(view)))

    def on_arrival(self, request_id):
        self.told.append(("arrival", request_id))

    def on_admit(self, request_id):
        self.told.append(("admit", request_id))

    def on_step(self, executed_tokens):
        self.told.append(("step", executed_tokens))


def test_a_policy_is_told_the_same_by_both_engines():
    case = random_case(0)
    listeners = []
    for engine in (Scheduler, VllmEngine):
        listeners.append(Listening())
        replay(case.trace(), listeners[-1], PROFILE, case.limits, engine=engine)
    assert listeners[0].told == listeners[1].told
    assert {kind for kind, _ in listeners[1].told} == {"arrival", "admit", "step"}


class Repeating(Listening):
    name = "repeating"
    capabilities = frozenset()

    def order(self, view):
        return iter([0, 0])


class Demanding(Listening):
    name = "demanding"
    capabilities = frozenset({Capability.RUNNING_CAP})


@pytest.mark.parametrize(
    ("policy", "problem"),
    [(Repeating(), "yielded position 0 of .* twice"), (Demanding(), "'demanding' needs running_cap")],
    ids=["twice", "unsupported"],
)
def test_what_a_policy_may_not_do_is_refused_alike(policy, problem):
    case = random_case(0)
    for engine in (Scheduler, VllmEngine):
        with pytest.raises(InputError, match=problem):
            replay(case.trace(), policy, PROFILE, case.limits, engine=engine)


def test_a_request_beyond_the_models_context_is_refused_by_name():
    engine = VllmEngine(make_policy("fcfs"), replace(random_case(0).limits, cache_blocks=10_000, block_tokens=16))
    with pytest.raises(InputError, match="request 3 has 131072 prompt and 1 output tokens"):
        engine.submit(Request(3, 0, 131_072, 1, list(range(8192))))


def test_an_eviction_that_vllm_lacks_is_refused():
    with pytest.raises(InputError, match="vLLM does not know eviction 'pgdsf'"):
        VllmEngine(make_policy("fcfs"), Limits(64, eviction="pgdsf"), prefill_time=lambda n, h: n - h)
