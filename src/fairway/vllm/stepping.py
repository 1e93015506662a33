"""Runs single steps of a real engine, of a composition that is asked for and verified, and times them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # read when vLLM is imported: the engine stays in this process

import torch
from vllm import LLM, SamplingParams
from vllm.inputs import TokensPrompt

from fairway.engine import Limits
from fairway.errors import InputError

_FIRST_TOKEN, _ORDINARY_TOKENS = 1_000, 30_000
_PLACING_ROUNDS = 8
_NOT_NEW = -1  # stands for the prefix of a request that ran in the step before


class SteppedEngine:
    """One engine in this process. A chunk is (new tokens, prefix tokens); prefixes are put into its cache before."""

    def __init__(self, limits: Limits, arguments: Mapping[str, Any]) -> None:
        """Start an engine of these limits; ``arguments`` are all of `vllm.LLM`."""
        self.limits = limits
        self._llm = LLM(**arguments)
        self._core = self._llm.llm_engine.engine_core.engine_core
        self._requests = 0
        self._contents = 0
        self._prefixes: dict[int, list[int]] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """What the engine runs as."""
        config = self._llm.llm_engine.vllm_config
        return {
            "dtype": str(config.model_config.dtype),
            "enforce_eager": bool(config.model_config.enforce_eager),
            "attention_block_tokens": int(config.cache_config.block_size),
            "max_num_batched_tokens": int(config.scheduler_config.max_num_batched_tokens),
            "threads": int(torch.get_num_threads()),
        }

    def step_ns(self, chunks: Sequence[tuple[int, int]]) -> int:
        """Run one step of exactly these chunks and return its time, from scheduling to sampled tokens.

        A prefix has to be a multiple of the block size. Where the engine ran anything else it is asked again; raises
        `InputError` if it never runs them.
        """
        return self._last_step_ns(chunks, output_tokens=1)

    def generation_ns(self, prefixes: Sequence[int]) -> int:
        """Run a step in which requests behind contexts of these lengths only go on to generate, and return its time.

        Each has computed its last prompt token, and generated from it, in the step before. Otherwise as `step_ns`.
        """
        return self._last_step_ns([(1, prefix_tokens) for prefix_tokens in prefixes], output_tokens=2)

    def _last_step_ns(self, chunks: Sequence[tuple[int, int]], output_tokens: int) -> int:
        for _ in range(_PLACING_ROUNDS):
            self._place([prefix_tokens for _, prefix_tokens in chunks])
            asked: dict[str, tuple[int, int]] = {}
            for place, (new_tokens, prefix_tokens) in enumerate(chunks):
                prompt = self._prefix(place, prefix_tokens) + self._fresh(new_tokens)
                asked[self._submit(prompt, output_tokens)] = (new_tokens, prefix_tokens)
            (done, last_ns), *later = [self._timed_step() for _ in range(output_tokens)]
            goes_on = dict.fromkeys(asked, (1, _NOT_NEW))
            is_over = not self._core.scheduler.has_unfinished_requests()
            if done == asked and is_over and all(ran == goes_on for ran, _ in later):
                return later[-1][1] if later else last_ns
            self._finish()  # the step's own blocks may have pushed out a context that nobody had used for long
        raise InputError(
            f"the engine ran {sorted(done.values())} where {sorted(asked.values())} were asked for",
            remedy="give the engine more blocks, or smaller contexts, and keep a step within the token budget",
        )

    def _place(self, prefixes: Sequence[int]) -> None:
        """Bring the contexts into the cache that are not there; one that comes may push out another, which comes again.

        Raises:
            InputError: the cache does not hold all of them.
        """
        for _ in range(_PLACING_ROUNDS):
            if not sum(self._bring(place, tokens) for place, tokens in enumerate(prefixes) if tokens):
                return
        raise InputError("the cache does not hold a step's contexts", remedy="give the engine more blocks")

    def _bring(self, place: int, prefix_tokens: int) -> bool:
        """Bring one context into the cache; say whether it was missing."""
        if prefix_tokens % self.limits.block_tokens:
            raise ValueError(f"a prefix of {prefix_tokens} tokens does not end with a block")
        request = self._request([*self._prefix(place, prefix_tokens), *self._fresh(1)])
        if self._core.scheduler.kv_cache_manager.get_computed_blocks(request[0])[1] >= prefix_tokens:
            return False
        self._core.add_request(*request)
        self._finish()
        return True

    def _finish(self) -> None:
        while self._core.scheduler.has_unfinished_requests():
            self._core.step_fn()

    def _prefix(self, place: int, tokens: int) -> list[int]:
        """Return the context of the ``place``-th request of a step: each place has contents of its own.

        A short context is the beginning of a long one, so that the cache holds both at once.
        """
        known = self._prefixes.setdefault(place, [])
        known += self._fresh(tokens - len(known))
        return known[:tokens]

    def _fresh(self, tokens: int) -> list[int]:
        """Return tokens that nobody had before."""
        self._contents += 1
        first, second = self._contents % _ORDINARY_TOKENS, self._contents // _ORDINARY_TOKENS
        return [_FIRST_TOKEN + (first + place * (7 + second)) % _ORDINARY_TOKENS for place in range(tokens)]

    def _submit(self, prompt: list[int], output_tokens: int) -> str:
        request = self._request(prompt, output_tokens)
        self._core.add_request(*request)
        return str(request[0].request_id)

    def _request(self, prompt: list[int], output_tokens: int = 1) -> tuple[Any, int]:
        """Return a request for so many tokens, as the engine takes it."""
        self._requests += 1
        sampling = SamplingParams(max_tokens=output_tokens, temperature=0, ignore_eos=True, detokenize=False)
        engine = self._llm.llm_engine
        request = engine.input_processor.process_inputs(
            str(self._requests),
            TokensPrompt(prompt_token_ids=prompt),
            sampling,
            supported_tasks=engine.get_supported_tasks(),
        )
        prepared: tuple[Any, int] = self._core.preprocess_add_request(request)
        return prepared

    def _timed_step(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Return what ran, as (new tokens, prefix tokens) by request, and the time."""
        scheduler = self._core.scheduler
        taken: list[Any] = []
        schedule = scheduler.schedule

        def seen(*args: Any, **kwargs: Any) -> Any:
            taken.append(schedule(*args, **kwargs))
            return taken[-1]

        scheduler.schedule = seen
        try:
            began_ns = time.perf_counter_ns()
            self._core.step_fn()
            ended_ns = time.perf_counter_ns()
        finally:
            scheduler.schedule = schedule
        new = {request.req_id: request.num_computed_tokens for request in taken[0].scheduled_new_reqs}
        return {
            name: (tokens, new.get(name, _NOT_NEW)) for name, tokens in taken[0].num_scheduled_tokens.items()
        }, ended_ns - began_ns
