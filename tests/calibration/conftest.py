from pathlib import Path

import pytest

from fairway.engine import Limits
from fairway.profile import Profile, load_profile
from fairway.traces.corpus import Corpus, make_corpus
from fairway.traces.workload import FloodWorkload, PhasedWorkload, load_workload

FOLDER = Path(__file__).parents[2] / "config" / "workloads"


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return make_corpus(1)


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile("a6000-llama-3.1-8b-modelled")


@pytest.fixture(scope="session")
def limits() -> Limits:
    return Limits(cache_blocks=2)


@pytest.fixture(scope="session")
def dynamic() -> PhasedWorkload:
    workload = load_workload(FOLDER / "sec-dynamic-a.yaml")
    assert isinstance(workload, PhasedWorkload)
    return workload


@pytest.fixture(scope="session")
def flood() -> FloodWorkload:
    workload = load_workload(FOLDER / "sec-flood.yaml")
    assert isinstance(workload, FloodWorkload)
    return workload
