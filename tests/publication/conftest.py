"""The reference run's summary, as a run would have it, and what was set before it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairway.files import sealed, write_sealed
from fairway.publication.facts import Sources, paper_facts

CALIBRATION = {
    "family": "phased",
    "seed_asked": 1,
    "seed": 1,
    "replaced": [],
    "corpus_kind": "embedded",
    "corpus_sha256": "5" * 64,
    "profile": "a6000-llama-3.1-8b-modelled",
    "profile_evidence": "modelled",
    "budget_tokens": 2048,
    "max_num_seqs": 256,
    "block_tokens": 16,
    "cache_blocks": 3622,
    "rate_1_per_s": 3.8,
    "calibrated_load": 1.9,
    "fcfs_median_s": 5.49,
}
PROFILE = {
    "name": "a6000-llama-3.1-8b-modelled",
    "device": "a card",
    "model": "a model",
    "evidence": "modelled",
    "source": "Made up.",
    "prefill_preview": [{"n_tokens": 300, "hit_tokens": 0, "prefill_s": 0.0412}],
}
NO_TABLES_OF_A_RUN = ("scheduling", "second-seeds")  # what a reference has besides
WORKLOADS = ("sec-dynamic-a", "sec-flood", "mooncake-0.9", "sweep-01")


@pytest.fixture(scope="session")
def sources(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Give the files of a run: the reference's tables, made-up calibrations and profile, no figure."""
    folder = tmp_path_factory.mktemp("run")
    reference = json.loads((root / "docs/reference/full/reference.json").read_text(encoding="utf-8"))
    tables = {name: table for name, table in reference["tables"].items() if name not in NO_TABLES_OF_A_RUN}
    write_sealed(folder / "summary.json", tables)
    for workload in WORKLOADS:
        write_sealed(folder / f"{workload}.json", {**CALIBRATION, "workload": workload})
    (folder / "profile.json").write_text(json.dumps(sealed(PROFILE)), encoding="utf-8")
    return Sources(
        summary=folder / "summary.json",
        calibrations=tuple(folder / f"{workload}.json" for workload in WORKLOADS),
        profiles=(folder / "profile.json",),
        figures=(),
        captions=(),
        parity=root / "docs/parity.json",
        configuration=root / "config",
    )


@pytest.fixture(scope="session")
def facts(sources: Sources) -> dict[str, object]:
    return dict(paper_facts(sources))


@pytest.fixture
def changed(sources: Sources, tmp_path: Path):
    """Give a function that returns the sources with another summary."""

    def change(summary: dict[str, object]) -> Sources:
        write_sealed(tmp_path / "summary.json", summary)
        return replace(sources, summary=tmp_path / "summary.json")

    return change
