"""The plugin under what a server does: aborts, preemption, blocked requests, other keys, resets, broken policies."""

import logging
import random
from concurrent.futures import Future

import pytest
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.core.encoder_cache_manager import EncoderCacheManager
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.interface import PauseState
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import RequestStatus

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.policies import Policy, registry
from fairway.vllm.plugin import FairwayScheduler, clock
from fairway.vllm.plugin.counts import Counts
from fairway.vllm.plugin.schedulers import AsyncPolicyScheduler, PolicyScheduler
from fairway.vllm.plugin.settings import PluginSettings

from .connector import WithConnector
from .plugin_server import PluginServer, prompt

SECOND_NS = 10**9
KINDS = [PolicyScheduler, AsyncPolicyScheduler]


def warm(server, document, tokens=1_024):
    """Put a document into the cache."""
    server.submit(f"warm {document}", prompt(document, tokens))
    server.run()


# the order


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_orders_what_waits(kind):
    server = PluginServer(kind, policy="lpm")
    warm(server, 1)
    server.submit("cold", prompt(2, 1_024))
    server.submit("hit", prompt(1, 1_024, question=1))
    server.run()
    assert server.finished == ["warm 1", "hit", "cold"]
    assert server.leaks() == 0


def test_without_settings_it_is_fairway():
    assert PluginServer().scheduler.ordering.policy.name == "fairway"


@pytest.mark.parametrize("kind", KINDS)
def test_shadow_mode_decides_as_vllm_does(kind):
    served = {}
    for policy, shadow in (("lpm", True), ("fcfs", False)):
        server = PluginServer(kind, policy=policy, shadow=shadow)
        traffic(server, seed=3)
        served[policy] = server.admitted, server.tokens
        assert (server.disagreements > 0) == shadow
        assert server.overtaken_tokens == 0
    plain = PluginServer(kind.__mro__[2])  # vLLM's own class
    traffic(plain, seed=3)
    assert served["lpm"] == served["fcfs"] == (plain.admitted, plain.tokens)


def traffic(server, seed, requests=120, aborts=0.0):
    """Send requests over a few documents, some with many tokens to generate, stepping in between; then run dry."""
    draw = random.Random(seed)
    aborted = set()
    for number in range(requests):
        tokens = draw.choice([64, 160, 480, 1_200])
        server.submit(
            f"{number}",
            prompt(draw.randrange(8), tokens, number),
            output_tokens=draw.choice([1, 1, 4, 60]),
            arrival_s=number,
        )
        for _ in range(draw.choice([0, 0, 1, 2])):
            server.step()
        if draw.random() < aborts and server.scheduler.requests:
            name = draw.choice(list(server.scheduler.requests))
            server.abort(name)
            aborted.add(name)
    server.run()
    return aborted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["fairway", "lpm", "klpm-4", "preble", "hrrn", "lpm-sglang"])
def test_everybody_is_served_once_and_no_block_is_lost(kind, policy):
    server = PluginServer(kind, Limits(cache_blocks=140, budget_tokens=256, max_num_seqs=16), policy=policy)
    aborted = traffic(server, seed=1, requests=300, aborts=0.2)
    assert sorted(server.finished) == sorted({str(number) for number in range(300)} - aborted)
    assert server.leaks() == 0
    assert server.fallbacks == 0
    assert not server.scheduler.waiting
    assert column(server) == [], "nobody is kept in mind"


def test_preempted_requests_return_with_their_first_arrival():
    server = PluginServer(limits=Limits(cache_blocks=30, budget_tokens=256), policy="fcfs")
    for number in range(4):
        server.submit(f"{number}", prompt(number, 112), output_tokens=60, arrival_s=number)
    preempted = set()
    while server.scheduler.has_unfinished_requests():
        preempted |= set(server.step().preempted_req_ids or ())
        waiting = [one.request_id for one in server.scheduler.waiting]
        if waiting:
            server.scheduler.ordering._follow(server.scheduler.waiting)
            view = server.scheduler.ordering._waiting.view(10**18)
            assert view.arrival_ns.tolist() == sorted(int(name) * 10**9 for name in waiting)
    assert preempted
    assert [len(server.tokens[f"{number}"]) for number in range(4)] == [60] * 4


def test_a_clock_that_is_set_back_stops_no_wait_and_makes_nobody_younger(monkeypatch):
    server = PluginServer(limits=Limits(cache_blocks=30, budget_tokens=256), policy="fcfs")
    ordering, queue = server.scheduler.ordering, server.scheduler.waiting
    monkeypatch.setattr(clock, "time_ns", lambda: 5_000 * SECOND_NS)
    for number in range(4):
        server.submit(f"{number}", prompt(number, 112), output_tokens=60, arrival_s=4_000 + number)
    while not server.step().preempted_req_ids:
        pass
    monkeypatch.setattr(clock, "time_ns", lambda: 1_000 * SECOND_NS)
    server.submit("stamped before", prompt(4, 112), arrival_s=5_001)
    server.submit("stamped after", prompt(5, 112), arrival_s=1_001)
    ordering._follow(queue)
    monkeypatch.setattr(clock, "time_ns", lambda: 1_007 * SECOND_NS)
    ordering._start_over(queue)  # everybody is taken in anew
    ordering._follow(queue)
    view = ordering._waiting.view(ordering._now_ns)
    waits_s = {ordering._waiting.at(place).request_id: wait / SECOND_NS for place, wait in enumerate(view.wait_ns)}
    first_s = {str(number): 1_007 - number for number in range(4)}
    assert waits_s == {name: first_s.get(name, 7) for name in waits_s}
    assert {"stamped before", "stamped after"} < set(waits_s), "and one that was preempted"


@pytest.fixture
def late_token():
    """Return a scheduler's ordering, its queue, and a preempted request there that has just got a late token."""
    server = PluginServer(limits=Limits(cache_blocks=30, budget_tokens=256), policy="lpm")
    for number in range(4):
        server.submit(f"{number}", prompt(number, 112), output_tokens=60, arrival_s=number)
    while not server.step().preempted_req_ids:
        pass
    ordering, queue = server.scheduler.ordering, server.scheduler.waiting
    ordering._follow(queue)
    (request,) = [one for one in queue if one.num_preemptions]
    request.append_output_token_ids(7)  # as of a step that was under way
    return ordering, queue, request


def test_a_preempted_request_that_grows_while_it_waits_is_ordered_still(late_token):
    ordering, queue, _ = late_token
    ordering._follow(queue)
    assert ordering._waiting.view(10**18).n_tokens.tolist() == [one.num_tokens for one in queue]


def test_a_preempted_request_whose_late_token_ends_it_is_forgotten(late_token):
    ordering, queue, request = late_token
    queue.remove_requests([request])
    ordering._follow(queue)
    assert len(ordering._waiting) == len(queue)
    assert not ordering._blocked


def test_a_fault_changes_no_number_that_the_policy_knows_a_request_by():
    server = PluginServer(limits=Limits(cache_blocks=400, budget_tokens=16), policy="lpm")
    for number in range(3):
        server.submit(f"{number}", prompt(number, 112), arrival_s=number)
    server.step()
    ordering = server.scheduler.ordering
    waiting = list(server.scheduler.waiting)
    before = [ordering._waiting.number(request) for request in waiting]
    ordering._start_over(server.scheduler.waiting)
    ordering._follow(server.scheduler.waiting)
    assert [ordering._waiting.number(request) for request in waiting] == before
    server.run()


# requests that cannot run


def grammar() -> SamplingParams:
    return SamplingParams(max_tokens=1, structured_outputs=StructuredOutputsParams(json="{}"))


def test_a_request_blocked_on_its_grammar_is_ordered_once_it_is_ready():
    server = PluginServer(policy="lpm")
    warm(server, 1)
    blocked = server.submit("blocked", prompt(3, 256), sampling=grammar())
    blocked.structured_output_request.grammar = Future()
    for _ in range(3):
        server.step()
    server.submit("cold", prompt(2, 512))
    server.step()
    assert server.admitted == ["warm 1", "cold"]
    blocked.structured_output_request._grammar.set_exception(ValueError("no grammar"))
    server.step()
    server.run()
    assert server.reasons["blocked"] == "error"
    assert server.fallbacks == 0


def test_a_request_whose_blocks_come_from_elsewhere_is_treated_as_vllm_does():
    server = PluginServer(WithConnector, policy="lpm")
    remote = server.submit("remote", prompt(1, 256))
    server.submit("cold", prompt(2, 256))
    server.step()
    assert remote.status == RequestStatus.WAITING_FOR_REMOTE_KVS
    assert server.admitted == ["cold"]
    server.submit("other", prompt(3, 256))
    server.step()
    assert column(server) == [], "who holds blocks is vLLM's to run, first of all"
    server.step(received=["remote"])
    server.submit("last", prompt(4, 256))
    server.run()
    assert server.admitted == ["cold", "other", "remote", "last"]
    assert server.fallbacks == server.leaks() == 0


def test_blocks_from_elsewhere_that_are_ready_break_no_hits():
    server = PluginServer(WithConnector, policy="lpm", check_hits_every=1)
    warm(server, 1)
    server.submit("remote ready", prompt(2, 512))
    server.submit("hit", prompt(1, 512, question=1))
    server.run()
    server.submit("hit of remote", prompt(2, 512, question=1))
    server.submit("cold", prompt(3, 512))
    assert dict(column(server)) == {"hit of remote": 496, "cold": 0}
    server.run()
    assert server.scheduler.ordering.hits_are_indexed
    assert server.admitted == ["warm 1", "hit", "remote ready", "hit of remote", "cold"]
    assert server.fallbacks == server.leaks() == 0


def test_what_never_fits_is_refused_and_blocks_nobody(caplog):
    server = PluginServer(limits=Limits(cache_blocks=64, budget_tokens=256), policy="fairway")
    server.submit("too long", prompt(1, 2_000), arrival_s=0)  # its age makes it the first
    server.submit("short", prompt(2, 100))
    server.run()
    assert server.reasons == {"too long": "error", "short": "length"}
    assert "has 2000 tokens, and the whole cache holds 1008" in caplog.text
    assert server.leaks() == 0


def test_a_paused_scheduler_asks_nobody():
    server = PluginServer(policy="lpm")
    server.submit("one", prompt(1, 64))
    server.scheduler.set_pause_state(PauseState.PAUSED_NEW)
    server.step()
    assert not server.admitted
    assert not server.ordered
    server.scheduler.set_pause_state(PauseState.UNPAUSED)
    assert server.run().finished == ["one"]


# hits


def column(server):
    """Return (name, hit tokens) of who waits, as the policy sees them at the next hook."""
    ordering = server.scheduler.ordering
    ordering._follow(server.scheduler.waiting)
    view = ordering._waiting.view(10**18)
    return [(ordering._waiting.at(place).request_id, int(hit)) for place, hit in enumerate(view.hit_tokens)]


def test_hits_go_by_the_engines_own_keys():
    server = PluginServer(policy="lpm")
    tokens = prompt(1, 513)
    server.submit("warm", tokens)
    server.run()
    server.submit("salt", tokens, cache_salt="t1")
    server.submit("adapter", tokens, lora_request=LoRARequest("t1", 1, "nowhere"))
    server.submit("plain", tokens)
    assert column(server) == [("salt", 0), ("adapter", 0), ("plain", 512)]
    heads = server.scheduler.ordering._waiting.view(0).head_id
    assert len(set(heads.tolist())) == 3


def test_images_are_admitted_and_hit_by_their_own_keys():
    server = PluginServer(policy="lpm", check_hits_every=1)
    server.scheduler.max_num_encoder_input_tokens = 1_024  # as of a model that sees
    server.scheduler.encoder_cache_manager = EncoderCacheManager(cache_size=1_024)
    server.submit("warm", prompt(1, 512), mm_features=image("a"))
    server.run()
    server.submit("other image", prompt(1, 512, question=1), mm_features=image("b"))
    server.submit("same image", prompt(1, 512, question=1), mm_features=image("a"))
    assert column(server) == [("other image", 0), ("same image", 496)]
    server.run()
    assert server.admitted == ["warm", "same image", "other image"]
    assert server.scheduler.ordering.hits_are_indexed
    assert server.fallbacks == server.leaks() == 0


def image(name):
    return [MultiModalFeatureSpec(None, "image", name, PlaceholderRange(offset=0, length=64))]


def test_a_reset_is_seen_at_the_next_hook():
    server = PluginServer(policy="lpm")
    warm(server, 1)
    server.submit("again", prompt(1, 1_024))
    assert column(server) == [("again", 1_008)]
    assert server.scheduler.reset_prefix_cache()
    assert column(server) == [("again", 0)]
    assert server.run().finished == ["warm 1", "again"]


def test_a_request_that_may_not_read_the_cache_hits_nothing():
    server = PluginServer(policy="lpm")
    warm(server, 1)
    server.submit("again", prompt(1, 1_024), sampling=SamplingParams(max_tokens=1, prompt_logprobs=1))
    assert column(server) == [("again", 0)]


def test_looking_changes_nothing():
    server = PluginServer(limits=Limits(cache_blocks=200, budget_tokens=256), policy="lpm")
    warm(server, 1)
    for number in range(50):
        server.submit(f"{number}", prompt(number % 3, 1_024, number))
    pool = server.scheduler.kv_cache_manager.block_pool
    before = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
    queries = server.scheduler.kv_cache_manager.prefix_cache_stats.queries
    for _ in range(200):
        column(server)
    assert [block.block_id for block in pool.free_block_queue.get_all_free_blocks()] == before
    assert server.scheduler.kv_cache_manager.prefix_cache_stats.queries == queries
    assert not pool.kv_event_queue


def without_caching(kind):
    """Build a scheduler with prefix caching off."""

    class Uncached(kind):
        def __init__(self, *, vllm_config, **arguments):
            vllm_config.cache_config.enable_prefix_caching = False
            super().__init__(vllm_config=vllm_config, **arguments)

    return Uncached


def test_without_prefix_caching_nothing_hits():
    server = PluginServer(without_caching(PolicyScheduler), policy="lpm-sglang")
    for number in range(5):
        server.submit(f"{number}", prompt(1, 320))
    assert {hit for _, hit in column(server)} == {0}
    assert server.run().finished == [f"{number}" for number in range(5)]


def test_another_layout_of_the_cache_is_looked_up_by_vllm():
    class Speculating(PolicyScheduler):
        use_eagle = property(lambda self: True, lambda self, value: None)

    server = PluginServer(Speculating, policy="lpm")
    assert not server.scheduler.ordering._waiting._hits.is_indexed
    warm(server, 1)
    server.submit("again", prompt(1, 1_024))
    hit_tokens = server.scheduler.kv_cache_manager.get_computed_blocks(server.scheduler.requests["again"])[1]
    assert column(server) == [("again", hit_tokens)]
    assert hit_tokens > 0


# policies that fail


class Broken(Policy):
    """Raises at its third order, for good; before, the youngest goes first."""

    def __init__(self, where="order"):
        self.where = where
        self.asked = 0

    def order(self, view):
        self.asked += 1
        for place, position in enumerate(reversed(range(len(view)))):
            if self.where == "order" and self.asked > 2 and place == 1:
                raise ZeroDivisionError("planted")
            yield position


class Silent(Policy):
    """Names nobody."""

    def order(self, view):
        return iter(())


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setitem(registry._FACTORIES, "broken", Broken)
    monkeypatch.setitem(registry._FACTORIES, "silent", Silent)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["broken", "silent"])
def test_a_policy_that_fails_leaves_the_server_serving(kind, policy, planted, caplog):
    server = PluginServer(kind, policy=policy)
    traffic(server, seed=2)
    assert len(server.finished) == 120
    assert server.leaks() == 0
    assert server.fallbacks > 5
    said = [record for record in caplog.records if record.name == "vllm.fairway" and record.levelno == logging.ERROR]
    assert len(said) == 1
    assert ("ZeroDivisionError" if policy == "broken" else "names nobody") in said[0].getMessage()


def test_a_fault_of_our_own_leaves_the_server_serving(monkeypatch):
    server = PluginServer(policy="lpm")
    monkeypatch.setattr(type(server.scheduler.ordering._waiting), "view", lambda *_: 1 / 0)
    traffic(server, seed=2)
    assert len(server.finished) == 120
    assert server.fallbacks > 5


# what is refused


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"policy": "farway"}, "unknown policy 'farway'"),
        ({"policy": "peek"}, "needs victim_rank"),
        ({"parameters": {"fast_weight": -1}}, "fast_weight must be a positive number"),
        ({"weight": 4}, "unknown key 'weight'"),
        ({"parameters": {"name": "x"}}, "name"),
        *[({"check_hits_every": odd}, f"check_hits_every is {odd!r}") for odd in ("often", -3, 1.5, True, None)],
        ({"shadow": "yes"}, "shadow is 'yes'"),
        ({"time_steps": 1}, "time_steps is 1"),
        ({"profile": "h100"}, "unknown profile 'h100'"),
    ],
)
def test_bad_settings_are_refused(settings, problem):
    with pytest.raises(InputError, match=problem):
        PluginServer(FairwayScheduler, **settings)


@pytest.mark.parametrize("key", ["fairwy", "Fairway", "fair-way", "FAIRWAYS"])
def test_a_slip_in_the_key_does_not_leave_the_settings_unread(key):
    with pytest.raises(InputError, match=rf"is missing, and there is '{key}'. Remedy: write it as fairway"):
        PluginSettings.of({key: {"policy": "lpm"}})


@pytest.mark.parametrize("flat", [{"policy": "lpm"}, {"shadow": True}, {"parameters": {}}])
def test_settings_outside_the_key_are_not_left_unread(flat):
    with pytest.raises(InputError, match=rf"is missing, and there is '{next(iter(flat))}' beside it. Remedy: give"):
        PluginSettings.of(flat)


def test_keys_of_other_plugins_are_theirs():
    assert PluginSettings.of({"railway": 1, "gateway": {}, "fair": 2}) == PluginSettings()
    assert PluginSettings.of({"fairwy": {}, "fairway": {"policy": "lpm"}}).policy == "lpm"


def test_scheduling_by_priority_is_refused():
    def by_priority(*, vllm_config, **arguments):
        vllm_config.scheduler_config.policy = "priority"
        return FairwayScheduler(vllm_config=vllm_config, **arguments)

    with pytest.raises(InputError, match=r"scheduling policy is 'priority'.*Remedy: leave --scheduling-policy at fcfs"):
        PluginServer(by_priority)


def test_an_untested_version_is_refused_unless_forced(monkeypatch):
    monkeypatch.setattr("vllm.__version__", "0.33.0")
    with pytest.raises(InputError, match=r"vLLM 0.33.0 is installed, 0.32.0 is tested"):
        PluginServer(FairwayScheduler)
    assert PluginServer(FairwayScheduler, force_version=True).scheduler is not None
    monkeypatch.delattr(Scheduler, "make_stats")
    with pytest.raises(InputError, match=r"has no Scheduler.make_stats"):
        PluginServer(FairwayScheduler, force_version=True)


@pytest.mark.parametrize(("asynchronous", "base"), [(True, AsyncScheduler), (False, Scheduler)])
def test_the_base_is_the_one_that_vllm_would_take(asynchronous, base):
    def chosen(*, vllm_config, **arguments):
        vllm_config.scheduler_config.async_scheduling = asynchronous
        return FairwayScheduler(vllm_config=vllm_config, **arguments)

    scheduler = PluginServer(chosen).scheduler
    assert isinstance(scheduler, base)
    assert isinstance(scheduler, AsyncScheduler) == asynchronous


# what is counted


def test_counts_travel_in_vllms_statistics():
    server = PluginServer(limits=Limits(cache_blocks=400, budget_tokens=16), policy="lpm")
    warm(server, 1)
    server.submit("cold", prompt(2, 1_024), arrival_s=0)
    server.submit("hit", prompt(1, 512, question=1), arrival_s=1)
    server.scheduler.ordering._spread_due_ns = 0  # it is looked at now and then
    server.step()
    carrier = server.stats.num_kv_fetch_reqs_by_stage
    counts = Counts.taken_from(carrier)
    assert all(not name.startswith("fairway") for name in carrier)
    assert len(counts.order_ns) == 1
    assert counts.overtaken_tokens == 16
    assert (counts.most_uncached_tokens, counts.least_uncached_tokens) == (1_024, 16)
    assert counts.fallbacks == 0
