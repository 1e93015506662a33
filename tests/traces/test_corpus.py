import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces.corpus import make_corpus, read_corpus, write_corpus
from fairway.traces.excerpts import excerpt_lists
from fairway.traces.facts import read_facts
from fairway.traces.filings import FilingFacts, Filings
from fairway.traces.statistics import kolmogorov_smirnov

REAL_TOKENS = read_facts("sec", FilingFacts).filing_tokens


@given(seed=st.integers(0, 2**63))
def test_lengths_are_distributed_as_the_real_ones(seed: int) -> None:
    corpus = make_corpus(seed)
    assert len(corpus.filing_tokens) == 64
    assert kolmogorov_smirnov(corpus.filing_tokens, REAL_TOKENS) <= 0.1


def test_seeds_give_different_corpora() -> None:
    assert make_corpus(1) == make_corpus(1)
    assert make_corpus(1).sha256() != make_corpus(2).sha256()


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        make_corpus(-1)


def test_reading_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sec.json"
    corpus = make_corpus(7)
    write_corpus(corpus, path)
    assert read_corpus(path) == corpus
    assert json.loads(path.read_text(encoding="utf-8"))["kind"] == "embedded"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda fields: fields["filing_tokens"].append(20_000), "SHA-256 differs"),
        (lambda fields: fields.pop("sha256"), "SHA-256 differs"),
        (lambda fields: fields["filing_tokens"].append(0), "something has no tokens"),
        (lambda fields: fields["filing_tokens"].append("3"), "filing_tokens.65 is '3', not of type int"),
        (lambda fields: fields.update(filing_tokens=[]), "there is no filing"),
        (lambda fields: fields.update(chunk_tokens=0), "something has no tokens"),
        (lambda fields: fields.pop("seed"), "key 'seed' is missing"),
        (lambda fields: fields.update(name="other"), "not a corpus file"),
        (lambda fields: fields.update(name=["sec"]), "not a corpus file"),
    ],
)
def test_a_changed_corpus_is_refused(tmp_path: Path, change: Any, problem: str) -> None:
    path = tmp_path / "sec.json"
    write_corpus(make_corpus(7), path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    change(fields)
    path.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_corpus(path)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"{"])
def test_what_is_no_corpus_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sec.json"
    with pytest.raises(InputError, match="cannot be read"):
        read_corpus(path)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not JSON|not a corpus file"):
        read_corpus(path)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), count=st.integers(1, 400))
def test_excerpt_lists_are_disjoint_while_chunks_last_and_begin_differently(seed: int, count: int) -> None:
    corpus = make_corpus(seed)
    lists = excerpt_lists(corpus, count)
    assert len(lists) == count
    by_filing = defaultdict(list)
    for excerpts in lists:
        filing = excerpts[0].filing
        assert {excerpt.filing for excerpt in excerpts} == {filing}
        assert len(excerpts) == min(31, corpus.chunks(filing)) == len(set(excerpts))
        by_filing[filing].append(excerpts)
    for filing, of_filing in by_filing.items():
        assert len({excerpts[0] for excerpts in of_filing}) == len(of_filing)
        disjoint = of_filing[: max(1, corpus.chunks(filing) // 31)]
        together = [excerpt for excerpts in disjoint for excerpt in excerpts]
        assert len(set(together)) == len(together)
        assert all(0 <= excerpt.chunk < corpus.chunks(filing) for excerpts in of_filing for excerpt in excerpts)


def test_fewer_lists_are_the_first_of_more() -> None:
    corpus = make_corpus(3)
    assert excerpt_lists(corpus, 300)[:64] == excerpt_lists(corpus, 64)


def test_a_filing_cannot_begin_in_more_ways_than_it_has_chunks() -> None:
    corpus = Filings("sec", "embedded", 1, "none", 512, (512 * 3,))
    assert len({excerpts[0] for excerpts in excerpt_lists(corpus, 3)}) == 3
    with pytest.raises(InputError, match="3 chunks, too few for 4"):
        excerpt_lists(corpus, 4)
