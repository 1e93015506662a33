"""Every workload from corpus to trace: what the first ones must keep, and that the others come out as specified."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from fairway.calibration import PhasedCalibration, build_trace, calibrate, read_calibration, write_calibration
from fairway.calibration.fcfs import fcfs_on
from fairway.calibration.phased import median_ttft_ns
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.profile import Profile
from fairway.traces import Trace, chains, write_trace
from fairway.traces.catalogue import Catalogue
from fairway.traces.corpus import Corpus, make_corpus
from fairway.traces.description import describe_window
from fairway.traces.flood import flood_trace, hit_arrivals, hits_at, miss_arrivals, warm_arrivals
from fairway.traces.phased import Sequences
from fairway.traces.prompts import BlockNumbers
from fairway.traces.workload import FloodWorkload, PhasedWorkload

CATALOGUE = Catalogue(Path(__file__).parents[2] / "config")
# Of the trace files of seed 1 with the embedded corpus of seed 1: results that rest on them stay comparable.
KEPT = {
    "sec-dynamic-a": "5bde536f7cc3bf7f4107832355de9c616e081f8017d4d65924a0741455982cf5",
    "sec-flood": "e61b3f5bd41343a309f602ef4b77575539c2e14bef12c5c5ea5df21bb9f27424",
}
RATE_1_PER_S, SPIKE_LOAD = 3.8081603002912425, 1.275390625  # as calibrated
HITS_PER_S = 12.519559186746909
FIXED = [
    *[f"{stem}-1.1" for stem in ("sec-short", "sec-mixed", "musique", "mooncake")],
    *[
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("sec-short-0.7", "sec-short-0.9", "sec-long-0.9", "sec-long-1.1")
    ],
    *[pytest.param(f"{stem}-0.9", marks=pytest.mark.slow) for stem in ("sec-mixed", "musique", "mooncake")],
]


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    return {name: make_corpus(1, name) for name in ("sec", "musique", "mooncake")}


def built(
    name: str, seed: int, corpora: dict[str, Corpus], profile: Profile, limits: Limits
) -> tuple[PhasedWorkload, PhasedCalibration, Trace]:
    workload = CATALOGUE.find(name).load()
    calibration = calibrate(workload, seed, corpora[workload.corpus], profile, limits)
    assert isinstance(workload, PhasedWorkload)
    assert isinstance(calibration, PhasedCalibration)
    return workload, calibration, build_trace(workload, corpora[workload.corpus], calibration)


def assert_kept(trace: Trace, path: Path, name: str) -> None:
    write_trace(trace, path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == KEPT[name]


def test_the_first_workloads_keep_their_bytes(tmp_path: Path, corpora: dict[str, Corpus]) -> None:
    dynamic, flood = (CATALOGUE.find(name).load() for name in KEPT)
    assert isinstance(dynamic, PhasedWorkload)
    assert isinstance(flood, FloodWorkload)
    phased = Sequences(dynamic, corpora["sec"], 1).in_phases(RATE_1_PER_S, SPIKE_LOAD)
    assert_kept(phased, tmp_path / "dynamic.jsonl", dynamic.name)
    hits = hits_at(flood, corpora["sec"], 1, hit_arrivals(flood, 1, HITS_PER_S).tolist())
    arrivals = [*warm_arrivals(flood, corpora["sec"], 1), *miss_arrivals(flood, 1), *hits]
    assert_kept(flood_trace(flood, arrivals, BlockNumbers()), tmp_path / "flood.jsonl", flood.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT)
def test_the_first_workloads_keep_their_calibration(
    tmp_path: Path, name: str, corpora: dict[str, Corpus], profile: Profile, limits: Limits
) -> None:
    workload = CATALOGUE.find(name).load()
    calibration = calibrate(workload, 1, corpora["sec"], profile, limits)
    assert_kept(build_trace(workload, corpora["sec"], calibration), tmp_path / "1.jsonl", name)


@pytest.mark.slow
def test_dynamic_b_is_calibrated_with_a_more_concentrated_spike(
    corpora: dict[str, Corpus], profile: Profile, limits: Limits
) -> None:
    _, calibration, trace = built("sec-dynamic-b", 2, corpora, profile, limits)
    result = fcfs_on(profile, limits)(trace, calibration.cache_blocks)
    assert median_ttft_ns(trace, result, "spike") / 1e9 == calibration.fcfs_median_s
    assert calibration.fcfs_median_s == pytest.approx(5.5, abs=0.05)
    in_spike = np.array(trace.phase) == "spike"
    first_excerpts = np.array([chain[8 + 31] for chain in chains(trace, 16)])  # behind 128 tokens, the first 512
    shares = [np.unique(first_excerpts[of], return_counts=True)[1].max() / of.sum() for of in (in_spike, ~in_spike)]
    assert shares[0] > 1.4 * shares[1]  # in theory 0.45 and 0.25


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_load_is_that_load(name: str, corpora: dict[str, Corpus], profile: Profile, limits: Limits) -> None:
    workload, calibration, trace = built(name, 3, corpora, profile, limits)
    assert (calibration.calibrated_phase, calibration.calibrated_load, calibration.fcfs_median_s) == (None, None, None)
    warm_up, measured = workload.phases
    load = float(name.rpartition("-")[2])
    assert measured.load == load
    spans = {phase["name"]: phase for phase in trace.header["parameters"]["phases"]}
    assert spans["measured"]["rate_per_s"] == load * calibration.rate_1_per_s
    for phase in (warm_up, measured):
        expected = phase.load * calibration.rate_1_per_s * phase.seconds
        tolerance = 0.35 if workload.corpus == "mooncake" else 5 / expected**0.5  # a real trace is no Poisson process
        assert trace.phase.count(phase.name) == pytest.approx(expected, rel=tolerance)
    assert (trace.arrival_ns < (60 + measured.seconds) * 10**9).all()
    assert not fcfs_on(profile, limits)(trace, calibration.cache_blocks).refused.any()


@pytest.mark.parametrize("variant", ["", "--raw-ticks"])
def test_a_window_s_header_says_what_was_left_out(
    variant: str, corpora: dict[str, Corpus], profile: Profile, limits: Limits
) -> None:
    _, _, trace = built(f"mooncake-1.1{variant}", 3, corpora, profile, limits)
    facts = trace.header["parameters"]["requests"]
    assert (facts["window"], facts["windows"], facts["longest_prompt_tokens"]) == (3, 20, 16_384)
    assert trace.prompt_tokens.max() <= 16_384
    stamps = len(np.unique(trace.arrival_ns))
    assert stamps == len(trace) if not variant else stamps < len(trace) / 3
    shown = "raw" if variant else "spread"
    assert describe_window(trace).startswith(f"window 3 of 20; timestamps quantised, {shown}")
    assert "3,215 of 24,000 requests, 48% of the tokens" in describe_window(trace)


def test_reshuffling_removes_the_hits(corpora: dict[str, Corpus], profile: Profile, limits: Limits) -> None:
    hits = []
    for name in ("musique-1.1", "musique-1.1--reshuffled"):
        _, calibration, trace = built(name, 3, corpora, profile, limits)
        result = fcfs_on(profile, limits)(trace, calibration.cache_blocks)
        hits.append(result.hit_tokens.sum() / trace.prompt_tokens.sum())
    assert hits[1] < 0.1 * hits[0]


def test_a_smaller_share_gives_a_smaller_cache(corpora: dict[str, Corpus], profile: Profile, limits: Limits) -> None:
    names = ("sec-short-0.9--cache-0.25", "sec-short-0.9", "sec-short-0.9--cache-0.33")
    found = [built(name, 3, corpora, profile, limits)[1] for name in names]
    assert len({calibration.reused_blocks for calibration in found}) == 1
    for calibration, share in zip(found, (0.25, 0.30, 0.33), strict=True):
        assert calibration.cache_blocks == round(share * calibration.reused_blocks)


def test_a_calibration_without_its_load_is_refused(
    tmp_path: Path, corpora: dict[str, Corpus], profile: Profile, limits: Limits
) -> None:
    _, calibration, _ = built("sec-short-0.9", 3, corpora, profile, limits)
    write_calibration(calibration, tmp_path / "3.json")
    assert read_calibration(tmp_path / "3.json") == calibration
    fields = json.loads((tmp_path / "3.json").read_text(encoding="utf-8"))
    write_sealed(tmp_path / "3.json", {**fields, "workload": "sec-dynamic-a"})
    with pytest.raises(InputError, match="the load of phase 'spike' is not calibrated"):
        build_trace(CATALOGUE.find("sec-dynamic-a").load(), corpora["sec"], read_calibration(tmp_path / "3.json"))
