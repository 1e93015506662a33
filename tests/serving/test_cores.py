"""A CPU's engine and all that serves it do not take each other's cores."""

import os
import subprocess
import sys

import pytest

from fairway.engine import Limits
from fairway.serving import Serving, cores

NAMED = "open('/proc/self/comm', 'w').write({name!r}); print(flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {NAMED.format(name='VLLM::EngineCor')!r}])"


@pytest.fixture
def own_choice(monkeypatch):
    monkeypatch.delenv("VLLM_CPU_OMP_THREADS_BIND", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("allowed", "engine", "others"), [({0, 1}, [1], [0]), ({2, 3, 5}, [3, 5], [2]), ({4}, [4], [4])]
)
def test_all_cores_but_the_first_compute(own_choice, allowed, engine, others):
    own_choice.setattr(os, "sched_getaffinity", lambda _: allowed)
    assert (cores.engine_cores(), cores.other_cores()) == (engine, others)


def test_a_choice_of_cores_stays_and_other_settings_of_vllm_are_none(own_choice):
    own_choice.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    own_choice.setenv("VLLM_CPU_OMP_THREADS_BIND", "0,2")
    assert (cores.engine_cores(), cores.other_cores()) == ([0, 2], [1, 3])
    own_choice.setenv("VLLM_CPU_OMP_THREADS_BIND", "auto")
    assert cores.engine_cores() == [1, 2, 3]


def test_an_engine_has_a_thread_for_each_of_its_cores_whatever_a_workflow_gives_its_jobs(own_choice):
    own_choice.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    own_choice.setenv("OMP_NUM_THREADS", "3")
    own_choice.setenv("MKL_NUM_THREADS", "3")
    variables = Serving(Limits(100), policy=None).engine_environment()
    assert variables["VLLM_CPU_OMP_THREADS_BIND"] == "1,2"
    assert (variables["OMP_NUM_THREADS"], variables["MKL_NUM_THREADS"]) == ("2", "2")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core: nothing can be kept apart")
def test_engine_and_server_get_cores_of_their_own_and_the_client_its_own_back(own_choice):
    before = os.sched_getaffinity(0)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()  # the engine has its name
        (engine,) = cores.psutil.Process(server.pid).children()
        cores.keep_apart(server.pid)
        assert sorted(os.sched_getaffinity(engine.pid)) == cores.engine_cores()
        assert sorted(os.sched_getaffinity(server.pid)) == cores.other_cores()
        with cores.beside_the_engine():
            assert sorted(os.sched_getaffinity(0)) != sorted(before)
        assert os.sched_getaffinity(0) == before
        server.communicate("\n")
