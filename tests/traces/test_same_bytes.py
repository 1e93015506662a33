"""The same seed gives the same bytes, whatever the process's hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import dataclasses, hashlib, sys
from pathlib import Path
from fairway.traces.catalogue import Catalogue
from fairway.traces.corpus import make_corpus
from fairway.traces.mooncake import trace_lines
from fairway.traces.phased import Sequences

catalogue = Catalogue(Path(sys.argv[1]))
corpora = {name: make_corpus(1, name) for name in ("sec", "musique", "mooncake")}
print({name: corpus.sha256() for name, corpus in corpora.items()})
for name in sys.argv[2:]:
    workload = catalogue.find(name).load()
    trace = Sequences(workload, corpora[workload.corpus], 4).in_phases(1.5, 1.2)
    text = "".join(trace_lines(trace)) + repr(workload)
    print(name, len(trace), hashlib.sha256(text.encode()).hexdigest())
"""
NAMES = [
    "sec-dynamic-b",
    "sec-mixed-1.1",
    "musique-1.1",
    "musique-1.1--reshuffled",
    "mooncake-1.1",
    "mooncake-1.1--raw-ticks",
    "sweep-01",
    "sweep-60",
]
PINNED = {  # of the embedded corpora of seed 1
    "sec": "58e8b80cbbed10a08608663cf49437c9a5f4e0d4c275f110f9c27ee90375d053",
    "musique": "9ab648380b625c71df534635e03c241c40659170ea91a9509e606496f9642579",
    "mooncake": "4b86befa6984df5cea348abf7127068382140937d3388e5e1de33bb2ab391cb2",
}


@pytest.fixture(scope="module")
def runs(root: Path) -> list[str]:
    command = [sys.executable, "-c", CODE, str(root / "config"), *NAMES]
    environments = [{"PYTHONHASHSEED": "0", "TZ": "UTC"}, {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu"}]
    return [
        subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": str(root / "src")} | environment,
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout
        for environment in environments
    ]


def test_hash_seeds_change_nothing(runs: list[str]) -> None:
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) == 1 + len(NAMES)


def test_the_corpora_are_those_of_every_machine(runs: list[str]) -> None:
    assert runs[0].splitlines()[0] == str(PINNED)
