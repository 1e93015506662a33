"""A scheduler of the plugin that is driven as vLLM's engine loop drives it, without a model."""

import time

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

from fairway.engine import Limits
from fairway.vllm.build import build_scheduler
from fairway.vllm.plugin.counts import Counts
from fairway.vllm.plugin.schedulers import PolicyScheduler

BLOCK_TOKENS = 16


class PluginServer:
    """Requests by name; ``finished`` says in which order their ends came, ``reasons`` how they ended."""

    def __init__(self, kind=PolicyScheduler, limits=None, more=None, **settings):
        init_none_hash(sha256)
        self._hash = get_request_block_hasher(BLOCK_TOKENS, sha256)
        self.limits = limits or Limits(cache_blocks=400, budget_tokens=256)
        self.scheduler = build_scheduler(kind, self.limits, {"fairway": settings}, log_stats=True, **(more or {}))
        self.admitted: list[str] = []
        self.finished: list[str] = []
        self.reasons: dict[str, str] = {}
        self.tokens: dict[str, list[int]] = {}
        self.stats = None
        self.fallbacks = self.disagreements = self.overtaken_tokens = self.ordered = 0  # as the statistics said
        self.step_ns = self.profile_ns = 0

    def submit(self, name, prompt, *, output_tokens=1, arrival_s=None, **more) -> Request:
        sampling = more.pop("sampling", None) or SamplingParams(max_tokens=output_tokens, ignore_eos=True)
        request = Request(
            request_id=name,
            prompt_token_ids=list(prompt),
            sampling_params=sampling,
            pooling_params=None,
            arrival_time=time.time() if arrival_s is None else arrival_s,
            block_hasher=self._hash,
            **more,
        )
        self.scheduler.add_request(request)
        return request

    def abort(self, *names):
        self.scheduler.finish_requests(names, RequestStatus.FINISHED_ABORTED)

    def step(self, received=()):
        """Schedule one step and let its results arrive, blocks from elsewhere among them; return what was scheduled."""
        output = self.scheduler.schedule()
        self.complete(output, received)
        return output

    def complete(self, output, received=()):
        names = list(output.num_scheduled_tokens)
        self.admitted += [new.req_id for new in output.scheduled_new_reqs]
        made_up = ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: index for index, name in enumerate(names)},
            sampled_token_ids=[self._sampled(name) for name in names],
            kv_connector_output=KVConnectorOutput(finished_recving=set(received)) if received else None,
        )
        for result in self.scheduler.update_from_output(output, made_up).values():
            if result.scheduler_stats is not None:
                self._count(result.scheduler_stats)
            for one in result.outputs:
                self.tokens.setdefault(one.request_id, []).extend(one.new_token_ids)
                if one.finish_reason is not None:
                    self.finished.append(one.request_id)
                    self.reasons[one.request_id] = str(one.finish_reason)

    def _count(self, stats):
        self.stats = stats
        counts = Counts.taken_from(dict(stats.num_kv_fetch_reqs_by_stage))
        self.fallbacks += counts.fallbacks
        self.disagreements += counts.disagreements
        self.overtaken_tokens += counts.overtaken_tokens
        self.ordered += len(counts.order_ns)
        self.step_ns += counts.step_ns
        self.profile_ns += counts.profile_ns

    def run(self, most_steps=10_000):
        """Step until nobody is left."""
        for _ in range(most_steps):
            if not self.scheduler.has_unfinished_requests():
                return self
            self.step()
        raise AssertionError(f"still waiting: {[one.request_id for one in self.scheduler.waiting]}")

    def _sampled(self, name):
        request = self.scheduler.requests.get(name)
        done = request is not None and request.num_computed_tokens >= request.num_tokens
        return [1000 + len(self.tokens.get(name, []))] if done else []

    def leaks(self) -> int:
        """Return how many blocks are not free although nobody runs."""
        return self.limits.cache_blocks - 1 - self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()


def prompt(document: int, tokens: int, question: int = 0) -> list[int]:
    """Return a prompt: all but its last 16 tokens are its document's, those its question's."""
    body = [10_000 * (document + 1) + place for place in range(tokens - 16)]
    return body + [5_000_000 + 100 * question + place for place in range(16)]
