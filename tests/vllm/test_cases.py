"""Cases from public reports, on vLLM's own scheduler and on the readable engine."""

import numpy as np
import pytest
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher
from vllm.v1.metrics.stats import PrefixCacheStats
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request as VllmRequest
from vllm.v1.request import RequestStatus

from fairway.engine import Limits, Request, Scheduler
from fairway.policies import make_policy, policy_names
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.traces import Trace
from fairway.vllm.build import build_scheduler
from fairway.vllm.engine import VllmEngine
from fairway.vllm.hashes import BlockHashes
from fairway.vllm.hits import WaitingHits
from fairway.vllm.scheduler import LoggedScheduler

ENGINES = [Scheduler, VllmEngine]
PROFILE = load_profile("a6000-llama-3.1-8b-modelled")
MS = 1_000_000


def trace(*rows, block_tokens=16) -> Trace:
    """Rows of (arrival in ms, prompt tokens, output tokens, ids)."""
    return Trace(
        arrival_ns=np.array([row[0] * MS for row in rows], dtype=np.int64),
        prompt_tokens=np.array([row[1] for row in rows], dtype=np.int64),
        output_tokens=np.array([row[2] for row in rows], dtype=np.int64),
        block_ids=np.array([block_id for row in rows for block_id in row[3]], dtype=np.int64),
        block_offsets=np.cumsum([0, *(len(row[3]) for row in rows)]),
        block_tokens=block_tokens,
        kind=("",) * len(rows),
        phase=("",) * len(rows),
    )


def run(some_trace, engine, policy="fcfs", cache_blocks=4000, **limits):
    return replay(some_trace, make_policy(policy), PROFILE, Limits(cache_blocks, **limits), engine=engine)


def request(request_id, blocks, arrival_ns=0, output_tokens=1) -> Request:
    """Ask for full blocks of this content."""
    return Request(request_id, arrival_ns, 16 * len(blocks), output_tokens, list(blocks))


# 25: a preempted request keeps its age and its place


@pytest.mark.parametrize("policy", policy_names())
def test_a_preempted_request_keeps_its_age(policy):
    logs = [preemption_log(engine, policy) for engine in ENGINES]
    assert logs[0] == logs[1], "same victims in the same steps, same order of the queue"
    victims = [victim for _, preempted, _, _ in logs[1] for victim in preempted]
    assert victims
    assert set(victims) <= {1, 2}
    assert max(victims.count(victim) for victim in victims) <= 4, "not preempted by every fresh arrival"
    for _, preempted, waiting, ages_ns in logs[1]:
        if preempted:
            assert waiting[: len(preempted)] == sorted(preempted)
            assert ages_ns[0] == min(ages_ns), "it waits since its first arrival"


def preemption_log(engine_class, policy):
    """Run the case step by step; each step gives (index, victims, waiting ids, their arrivals)."""
    engine = engine_class(make_policy(policy), Limits(cache_blocks=21), prefill_time=lambda n, h: 1000 * n - h)
    cached = [1, 2]  # two blocks of request 1: a cached prefix for those that come later
    later = [request(number, [*cached[:1], 100 + number], arrival_ns=number) for number in range(3, 9)]
    engine.submit(request(1, range(1, 11), arrival_ns=0, output_tokens=120))
    engine.submit(request(2, range(50, 58), arrival_ns=1, output_tokens=60))
    log, now_ns = [], 1
    while engine.has_work:
        step = engine.schedule(now_ns)
        victims = [one.request_id for one in step.preempted]
        waiting = [one.request_id for one in engine.waiting.requests]
        log.append((step.index, victims, waiting, [one.arrival_ns for one in engine.waiting.requests]))
        now_ns += 1
        engine.complete(step, now_ns)
        if later:
            engine.submit(later.pop(0))
    return log


# 26: a request that can never fit


@pytest.mark.parametrize("policy", policy_names())
def test_a_request_that_never_fits_is_refused_and_blocks_nobody(policy):
    rows = trace((0, 2000, 1, [0, 1, 2, 3]), (1, 100, 1, [9]), block_tokens=512)
    readable, vllm = (run(rows, engine, policy, cache_blocks=64) for engine in ENGINES)
    assert vllm.refused.tolist() == [True, False]
    assert vllm.first_token_ns[1] > 0
    (message,) = vllm.refusals
    assert "holds 1008" in message
    assert vllm.refusals == readable.refusals
    assert vllm.first_token_ns.tolist() == readable.first_token_ns.tolist()


# 28: same tokens, different cache identity


def identified(request_id, tokens, **identity) -> VllmRequest:
    return VllmRequest(
        request_id=request_id,
        prompt_token_ids=tokens,
        sampling_params=SamplingParams(max_tokens=1, ignore_eos=True),
        pooling_params=None,
        block_hasher=get_request_block_hasher(16, sha256),
        **identity,
    )


def adapter(name: str) -> LoRARequest:
    return LoRARequest(lora_name=name, lora_int_id=len(name), lora_path=name)


def image(name: str) -> list[MultiModalFeatureSpec]:
    place = PlaceholderRange(offset=0, length=64)
    return [MultiModalFeatureSpec(data=None, modality="image", identifier=name, mm_position=place)]


def test_hits_go_by_the_engines_own_identity_of_a_prompt():
    BlockHashes(16)  # sets vLLM's hash of "no parent"
    tokens = list(range(512))
    scheduler = build_scheduler(LoggedScheduler, Limits(1000))
    hits = WaitingHits(scheduler)
    sent = [
        identified("1 plain", tokens),
        identified("2 salt t1", tokens, cache_salt="t1"),
        identified("3 salt t2", tokens, cache_salt="t2"),
        identified("4 adapter ad1", tokens, lora_request=adapter("ad1")),
        identified("5 adapter t1", tokens, lora_request=adapter("t1")),
        identified("6 image A", tokens, mm_features=image("A")),
        identified("7 image B", tokens, mm_features=image("B")),
        identified("8 plain", tokens),
    ]
    predicted = {}
    for one in sent:
        hits.add(0, one)
        hits.update()
        predicted[one.request_id] = int(hits.hit_tokens[0])
        hits.remove(0)
        assert predicted[one.request_id] == scheduler.kv_cache_manager.get_computed_blocks(one)[1]
        if one.mm_features:
            continue  # without a model there is no encoder to run an image through; its key is what counts here
        scheduler.add_request(one)
        output = scheduler.schedule()
        assert 512 - output.num_scheduled_tokens[one.request_id] == predicted[one.request_id]
        finish(scheduler, output, one)
    hits = {key for key, tokens_hit in predicted.items() if tokens_hit}
    assert hits == {"8 plain"}
    assert predicted["8 plain"] == 496
    assert sent[5].block_hashes[:4] != sent[6].block_hashes[:4] != sent[0].block_hashes[:4]


def finish(scheduler, output, one) -> None:
    result = ModelRunnerOutput(req_ids=[one.request_id], req_id_to_index={one.request_id: 0}, sampled_token_ids=[[7]])
    scheduler.update_from_output(output, result)


# 29: probing the cache changes nothing, and is never stale


@pytest.mark.parametrize("policy", ["lpm", "fairway"])
def test_probing_for_200_steps_changes_nothing_and_a_reset_is_seen_at_once(policy):
    seen = []
    engine = VllmEngine(
        make_policy(policy),
        Limits(cache_blocks=700, max_num_seqs=1),
        lambda step, view, _: seen.append(view.hit_tokens.copy()),
    )
    silent = VllmEngine(make_policy("fcfs"), Limits(cache_blocks=700, max_num_seqs=1), hooked=False)
    for one in (engine, silent):
        fill(one)
        start_counting(one)
    assert engine.free_list() == silent.free_list()
    events = 0
    for now_ns in range(10, 210):
        steps = [one.schedule(now_ns) for one in (engine, silent)]
        assert [chunk.request.request_id for chunk in steps[0].chunks] == [0], "the running one alone"
        assert not steps[0].evicted
        queues = [one.scheduler.kv_cache_manager.block_pool.kv_event_queue for one in (engine, silent)]
        assert queues[0] == queues[1]
        events += len(queues[0])
        for one, step in zip((engine, silent), steps, strict=True):
            one.complete(step, now_ns + 1)
        assert engine.free_list() == silent.free_list()
    assert len(seen[-1]) == 1000
    assert (seen[-1] > 0).sum() == 300, "three of ten documents are cached"
    assert seen[-1].tolist() == [hit for _, hit in engine.looked_up_hits()]
    managers = [one.scheduler.kv_cache_manager for one in (engine, silent)]
    assert [manager.make_prefix_cache_stats() for manager in managers] == [PrefixCacheStats()] * 2, "nothing queried"
    assert 0 < events <= 20, "only those of the running request, which fills a block now and then"

    running = engine.scheduler.running[0].request_id
    engine.scheduler.finish_requests(running, RequestStatus.FINISHED_ABORTED)
    assert engine.scheduler.reset_prefix_cache()
    step = engine.schedule(1000)
    assert seen[-1].tolist() == [0] * 1000
    assert [chunk.context_tokens - chunk.new_tokens for chunk in step.chunks] == [0]


def start_counting(engine) -> None:
    manager = engine.scheduler.kv_cache_manager
    manager.log_stats, manager.prefix_cache_stats = True, PrefixCacheStats()
    manager.block_pool.enable_kv_cache_events = True


def fill(engine) -> None:
    """Cache three documents, then let one request run and a thousand over ten documents wait."""
    documents = [[1000 * document + block for block in range(100)] for document in range(10)]
    for number in range(3):
        engine.submit(request(5000 + number, documents[number]))
        while engine.has_work:
            engine.complete(engine.schedule(number), number + 1)
    engine.submit(request(0, [999_999], arrival_ns=3, output_tokens=400))
    engine.complete(engine.schedule(4), 5)
    for number in range(1000):
        question = [*documents[number % 10], 100_000 + number]
        engine.submit(request(number + 1, question, arrival_ns=6))


# 33: cache corner cases agree


@pytest.mark.parametrize("policy", ["fcfs", "lpm", "fairway"])
@pytest.mark.parametrize(
    ("rows", "hits"),
    [
        ([(0, 64, [1, 2, 3, 4]), (0, 64, [1, 2, 3, 4])], [0, 48]),
        ([(0, 1024, range(64)), (60_000, 1024, range(64))], [0, 1008]),
        ([(0, 1024, range(64)), (60_000, 1024, [*range(63), 99])], [0, 1008]),
    ],
    ids=["same step", "repeat", "all but the last token"],
)
def test_cache_corner_cases_agree(rows, hits, policy):
    full = trace(*((arrival, tokens, 1, list(ids)) for arrival, tokens, ids in rows))
    results = [run(full, engine, policy) for engine in ENGINES]
    for result in results:
        assert result.hit_tokens.tolist() == hits
        assert result.computed_tokens == sum(row[1] for row in rows) - sum(hits)
    assert results[0].start_ns.tolist() == results[1].start_ns.tolist()
    assert results[0].steps == results[1].steps
