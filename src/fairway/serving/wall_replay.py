"""A trace by wall clock: every request is sent when it is due, whatever has become of those before."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import aiohttp
import numpy as np
import numpy.typing as npt

from fairway.engine import Request, UnservableError, refuse_unservable
from fairway.errors import InputError
from fairway.progress import Progress
from fairway.serving.client import MOST_SILENT, Answer, ask, completion_body
from fairway.serving.cores import beside_the_engine
from fairway.serving.prompts import token_ids
from fairway.serving.server import RunningServer
from fairway.traces import Trace
from fairway.vllm.plugin.settings import ORDERING_FAILED

Int64Array = npt.NDArray[np.int64]

STEP_S, STEP_PROFILE_S = "fairway:step_seconds_total", "fairway:step_profile_seconds_total"
UNSERVED = -1  # in the columns of a request that was not sent since it can never fit
_LEAD_S = 0.5  # between the start of the clock and the first request


@dataclass(frozen=True, eq=False)
class Measured:
    """What the client saw, arrays over the trace's requests; times in ns from the trace's begin, UNSERVED if refused.

    TTFT is ``first_token_ns`` less the trace's arrival: what the client was late with counts as waiting, and is given
    apart as ``late_ns``.
    """

    late_ns: Int64Array
    first_token_ns: Int64Array
    finish_ns: Int64Array
    hit_tokens: Int64Array
    refused: npt.NDArray[np.bool_]
    refusals: tuple[str, ...]
    token_gap_ns: Int64Array  # all times between two tokens of one request, in no order
    preemptions: int  # as the server counted
    step_s: float  # of all its steps together, 0 unless the plugin timed them
    step_profile_s: float  # what the profile says of the same steps


def measure(trace: Trace, server: RunningServer, label: str = "") -> Measured:
    """Empty the server's prefix cache and replay ``trace`` on it; takes as long as the trace.

    A request that can never fit is not sent.

    Raises:
        InputError: an answer failed, the server counted other prompt or output tokens than the trace has, or its policy
            raised and requests went by arrival.
    """
    refusals = _refusals(trace, server)
    bodies = [
        completion_body(prompt, output_tokens)
        for prompt, output_tokens in zip(token_ids(trace), trace.output_tokens.tolist(), strict=True)
    ]
    server.reset_prefix_cache()
    before = server.metrics()
    with beside_the_engine() if server.serving.device == "cpu" else nullcontext():
        began_ns, answers = asyncio.run(_replay(trace, server, bodies, set(refusals), Progress(label)))
    for request, answer in answers.items():
        _check(request, answer, trace)
    _refuse_fallback(server)
    after = server.metrics()

    def counted(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    return _measured(trace, began_ns, answers, refusals, counted)


async def _replay(
    trace: Trace, server: RunningServer, bodies: list[bytes], unsent: set[int], progress: Progress
) -> tuple[int, dict[int, Answer]]:
    tasks: dict[int, asyncio.Task[Answer]] = {}
    connections = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connections, timeout=MOST_SILENT) as session:
        began_ns = time.perf_counter_ns() + round(_LEAD_S * 1e9)
        for request, arrival_ns in enumerate(trace.arrival_ns.tolist()):
            await _until(began_ns + arrival_ns)
            if request not in unsent:
                tasks[request] = asyncio.create_task(ask(session, server.url, bodies[request]))
            progress.update(request / len(trace))
        answers = dict(zip(tasks, await asyncio.gather(*tasks.values()), strict=True))
    return began_ns, answers


async def _until(due_ns: int) -> None:
    """Let others go on until an instant; at least once, so that what is due together is sent together."""
    await asyncio.sleep(max(0, due_ns - time.perf_counter_ns()) / 1e9)


def _refusals(trace: Trace, server: RunningServer) -> dict[int, str]:
    found = {}
    columns = zip(trace.prompt_tokens.tolist(), trace.output_tokens.tolist(), strict=True)
    for number, (prompt_tokens, output_tokens) in enumerate(columns):
        try:
            refuse_unservable(Request(number, 0, prompt_tokens, output_tokens, []), server.serving.limits)
        except UnservableError as error:
            found[number] = str(error)
        if number not in found and prompt_tokens + output_tokens > server.serving.context_tokens:
            found[number] = (
                f"request {number} can never fit: {prompt_tokens} prompt tokens and {output_tokens} output tokens, the "
                f"model's context is {server.serving.context_tokens}"
            )
    return found


def _check(request: int, answer: Answer, trace: Trace) -> None:
    asked = int(trace.prompt_tokens[request]), int(trace.output_tokens[request])
    if answer.error:
        raise InputError(f"request {request} failed: {answer.error}", remedy="read the server's log; measure again")
    if (answer.prompt_tokens, answer.output_tokens) != asked:
        raise InputError(
            f"request {request} has {asked[0]} prompt and {asked[1]} output tokens in the trace, the server counted "
            f"{answer.prompt_tokens} and {answer.output_tokens}",
            remedy="measure with a server that takes the prompts as they are",
        )


def _refuse_fallback(server: RunningServer) -> None:
    with server.log.open(encoding="utf-8", errors="replace") as log:
        complaint = next((line for line in log if ORDERING_FAILED in line), None)
    if complaint is not None:
        raise InputError(
            f"the policy raised, so this is no measurement of it: {complaint.strip()}",
            file=server.log,
            remedy="mend the policy",
        )


def _measured(
    trace: Trace, began_ns: int, answers: dict[int, Answer], refusals: dict[int, str], counted: Any
) -> Measured:
    def column(value: Any) -> Int64Array:
        return np.array(
            [value(answers[one], one) if one in answers else UNSERVED for one in range(len(trace))], dtype=np.int64
        )

    arrival_ns = trace.arrival_ns
    gaps = [np.diff(answer.token_ns) for answer in answers.values()]
    return Measured(
        late_ns=column(lambda answer, one: answer.sent_ns - began_ns - int(arrival_ns[one])),
        first_token_ns=column(lambda answer, _: answer.token_ns[0] - began_ns),
        finish_ns=column(lambda answer, _: answer.token_ns[-1] - began_ns),
        hit_tokens=column(lambda answer, _: answer.cached_tokens),
        refused=np.array([one in refusals for one in range(len(trace))], dtype=np.bool_),
        refusals=tuple(refusals.values()),
        token_gap_ns=np.concatenate(gaps).astype(np.int64) if gaps else np.array([], dtype=np.int64),
        preemptions=round(counted("vllm:num_preemptions_total")),
        step_s=counted(STEP_S),
        step_profile_s=counted(STEP_PROFILE_S),
    )
