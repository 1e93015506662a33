from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces.corpus import make_corpus
from fairway.traces.draws import Draws
from fairway.traces.mixed import MixedContent
from fairway.traces.workload import PhasedWorkload, load_workload

CORPUS = make_corpus(1)


@pytest.fixture(scope="module")
def mix(root: Path) -> MixedContent:
    workload = load_workload(root / "config/workloads/sec-mixed-0.9.yaml")
    assert isinstance(workload, PhasedWorkload)
    assert isinstance(workload.content, MixedContent)
    return workload.content


def test_half_of_the_requests_is_of_each_kind(mix: MixedContent) -> None:
    requests = mix.requests(CORPUS, Draws(4), 4_000)
    kinds = [request.kind for request in requests]
    assert set(kinds) == {"short-units", "long-units"}
    assert kinds.count("short-units") == pytest.approx(2_000, abs=150)
    lengths = {kind: sorted(r.prompt_tokens for r in requests if r.kind == kind) for kind in set(kinds)}
    assert lengths["short-units"][-1] <= 128 + (6 + 3) * 512 + 150
    assert lengths["long-units"][len(lengths["long-units"]) // 2] > 128 + 10 * 512


def test_kinds_have_units_of_their_own(mix: MixedContent) -> None:
    requests = mix.requests(CORPUS, Draws(4), 4_000)
    firsts = {
        kind: {request.segments[1] for request in requests if request.kind == kind}
        for kind in ("short-units", "long-units")
    }
    assert firsts["short-units"] & firsts["long-units"] == set()
    texts = [
        segment.content for request in requests for segment in request.segments if segment.content[0] == "question"
    ]
    assert len(set(texts)) == len(requests)


def test_a_longer_mix_begins_with_the_shorter_one(mix: MixedContent) -> None:
    assert mix.requests(CORPUS, Draws(4), 300)[:120] == mix.requests(CORPUS, Draws(4), 120)


def test_another_corpus_is_refused(mix: MixedContent) -> None:
    with pytest.raises(InputError, match="'musique' is not the one"):
        mix.requests(make_corpus(1, "musique"), Draws(4), 1)
