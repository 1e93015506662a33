"""A request inside an engine."""

from __future__ import annotations

from dataclasses import dataclass, field


def generated_block_id(request_id: int, block: int, cache_blocks: int) -> int:
    """Return the id of a block that generated tokens fill: nobody else's, and negative unlike prompts' ids."""
    return -(request_id * (cache_blocks + 1) + block) - 1


@dataclass(slots=True, eq=False)
class Request:
    """What an engine knows of one request; the upper part is given, the lower part is the engine's state."""

    request_id: int
    arrival_ns: int
    prompt_tokens: int
    output_tokens: int
    chain: list[int]  # hashes of the full blocks of all tokens so far; grows with generated tokens
    prefill_ns: int = 0  # T(n, 0)
    head_id: int = 0

    emitted_tokens: int = 0
    computed_tokens: int = 0
    blocks: list[int] = field(default_factory=list)
    registered_blocks: int = 0
    start_ns: int | None = None
    hit_tokens_at_start: int = 0
    first_token_ns: int | None = None
    finish_ns: int | None = None
    preemptions: int = 0

    @property
    def n_tokens(self) -> int:
        """Tokens that must be in the cache before the next one comes out: the prompt and what was generated."""
        return self.prompt_tokens + self.emitted_tokens

    @property
    def order_key(self) -> tuple[int, int]:
        """Place in the waiting queue: first arrival, then id; a preempted request keeps it."""
        return self.arrival_ns, self.request_id
