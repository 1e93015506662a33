"""Steps of a server held against its profile."""

from types import SimpleNamespace

import pytest
from tests.vllm.plugin_server import PluginServer, prompt

from fairway.profile import load_profile
from fairway.vllm.plugin import step_times
from fairway.vllm.plugin.schedulers import AsyncPolicyScheduler, PolicyScheduler
from fairway.vllm.plugin.step_times import StepTimes

PROFILE = load_profile("a6000-llama-3.1-8b-modelled")


def output(*chunks):
    """Return a step of vLLM as far as it is read: (new tokens, tokens before, whether the request is new)."""
    named = {str(place): chunk for place, chunk in enumerate(chunks)}
    new = [SimpleNamespace(req_id=name, num_computed_tokens=one[1]) for name, one in named.items() if one[2]]
    later = {name: one[1] for name, one in named.items() if not one[2]}
    return SimpleNamespace(
        total_num_scheduled_tokens=sum(one[0] for one in chunks),
        num_scheduled_tokens={name: one[0] for name, one in named.items()},
        scheduled_new_reqs=new,
        scheduled_cached_reqs=SimpleNamespace(req_ids=list(later), num_computed_tokens=list(later.values())),
    )


def test_a_step_lasts_from_its_scheduling_or_the_end_of_the_one_before(monkeypatch):
    clock = iter([0, 30, 100, 130, 200, 260])
    monkeypatch.setattr(step_times, "perf_counter_ns", lambda: next(clock))
    times = StepTimes(PROFILE)
    first, second = output((64, 512, True), (1, 99, False)), output((7, 0, True))
    times.begin()  # at 0
    times.begin()  # the second at 30, while the first runs
    assert times.end(first) == (100, PROFILE.step_ns([(64, 576), (1, 100)]))
    assert times.end(second) == (30, PROFILE.step_ns([(7, 7)])), "it began to run as the first one ended"
    times.begin()  # at 200, after a pause
    assert times.end(output()) == (0, 0), "nothing was computed"


def test_a_server_goes_on_where_a_step_cannot_be_timed(monkeypatch):
    def raises(*_):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(type(PROFILE), "step_ns", raises)
    server = PluginServer(PolicyScheduler, policy="fcfs", time_steps=True)
    server.submit("a", prompt(1, 40), output_tokens=3)
    server.run()
    assert server.finished == ["a"]
    assert server.scheduler.step_times is None


@pytest.mark.parametrize("kind", [PolicyScheduler, AsyncPolicyScheduler])
def test_a_server_counts_its_steps_where_that_is_asked(kind):
    for asked in (False, True):
        server = PluginServer(kind, policy="fcfs", time_steps=asked)
        server.submit("a", prompt(1, 40))
        server.submit("b", prompt(2, 100), output_tokens=2)
        server.run()
        rest = server.scheduler.ordering.take_counts()  # the last step goes out with the next one
        said = PROFILE.step_ns([(40, 40), (100, 100)]) + PROFILE.step_ns([(1, 101)])
        assert server.profile_ns + rest.profile_ns == asked * said
        assert (server.step_ns + rest.step_ns > 0) is asked
