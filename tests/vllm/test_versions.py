"""Another vLLM ends with one message that says what differs."""

import sys

import pytest
import vllm
from vllm.v1.core.sched.scheduler import Scheduler

from fairway.errors import InputError
from fairway.vllm import load_engine
from fairway.vllm.versions import NEEDED, TESTED_VERSIONS


def refused() -> InputError:
    with pytest.raises(InputError) as caught:
        load_engine()
    assert "make vllm-env" in caught.value.remedy
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_installed_version_is_a_tested_one():
    assert vllm.__version__ in TESTED_VERSIONS
    assert len(NEEDED) > 20
    load_engine()


def test_another_version_is_refused_even_if_nothing_differs_by_name(monkeypatch):
    monkeypatch.setattr(vllm, "__version__", "0.33.1")
    problem = refused().problem
    assert problem.startswith("vLLM 0.33.1 is installed, 0.32.0 is tested: none of the ")


def test_a_method_that_is_gone_is_named(monkeypatch):
    monkeypatch.setattr(vllm, "__version__", "0.33.1")
    monkeypatch.delattr(Scheduler, "finish_requests")
    assert "vllm.v1.core.sched.scheduler has no Scheduler.finish_requests" in refused().problem


def test_a_renamed_keyword_is_named_also_under_the_tested_version(monkeypatch):
    monkeypatch.setattr(Scheduler, "update_from_output", lambda self, scheduler_output, runner_output: {})
    assert "Scheduler.update_from_output has no parameter model_runner_output" in refused().problem


def test_all_differences_stand_in_one_message(monkeypatch):
    monkeypatch.delattr(Scheduler, "finish_requests")
    monkeypatch.delattr(Scheduler, "add_request")
    problem = refused().problem
    assert "Scheduler.finish_requests" in problem
    assert "Scheduler.add_request" in problem


def test_a_module_that_is_gone_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm.v1.core.block_pool", None)
    assert "vllm.v1.core.block_pool cannot be imported" in refused().problem
