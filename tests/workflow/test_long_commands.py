"""The README's commands that take minutes or hours, or need more than this environment: each with little to do."""

import json
import os
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from tests.sources.mirror import Mirror, serve
from tests.workflow.conftest import Process, shell

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("long-commands")]

TINY_BENCH = 'BENCH="--requests 400 --waiting 40 --repetitions 1 --sizes 1000 2000"'
TINY_BENCH_ORDERING = 'BENCH_ORDERING="--waiting 8 --steps 9 --walks 1"'
BOTH_BACKENDS = "backends: [sim, vllm-virtual]"
DAY = """\
device: cpu
model: tiny-llama
profile: {name: cpu-tiny-llama, cache_blocks: 6000, most_context: 512, repeats: 1, seed: 1, seconds: 60}
engine: {budget_tokens: 2048, max_num_seqs: 256, block_tokens: 32}
corpus_seed: 1
seeds: {first: 1, count: 1}
repeats: 1
start_s: 35
drain_s: 11
stages:
  - {name: first, workloads: [config/measured/workloads/cpu-flood.yaml], policies: [fcfs, fairway]}
stand_ins:
  - {stands_for: sec-flood, workload: cpu-flood}
"""
REAL = """\
corpus: {kind: real, seed: 1, token_ids: true}
seeds: {first: 1, count: 2}
workloads: [sec-dynamic-a, musique-0.9, mooncake-0.9, sec-flood]
policies: [fcfs, lpm, fairway]
"""
FILES = {"musique": "musique/musique_200.jsonl", "mooncake": "mooncake/mooncake_trace_1000.jsonl"}


def linked(checkout: Path, root: Path, environment: str, variable: str, target: str, *programs: str) -> Path:
    """Put an environment of this repository in place of the download's own; skip where it is not, or fail."""
    for program in programs:
        own = root / environment / "bin" / program
        if not own.is_file():
            end = pytest.fail if os.environ.get(variable) else pytest.skip
            end(f"{environment} is not here. To run this: {target}")
        file = checkout / environment / "bin" / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\nexec {shlex.quote(str(own))} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    (checkout / environment / ".installed").touch()
    return checkout


@pytest.fixture
def with_vllm(copied: Path, root: Path) -> Path:
    return linked(copied, root, ".venv-vllm", "FAIRWAY_REQUIRE_VLLM", "make vllm-env", "python")


@pytest.fixture
def with_peer(copied: Path, root: Path) -> Path:
    return linked(copied, root, ".venv-aisimulate", "FAIRWAY_REQUIRE_PEER", "make peer-env", "python", "aisimulate")


def made(folder: Path, line: str) -> Process:
    done = shell(folder, line)
    assert done.returncode == 0, done.stdout
    return done


def test_the_first_command_sets_up_and_reproduces(copied: Path) -> None:
    """As on a machine that has seen nothing of it: set-up from the lock file, the whole run, and its check."""
    shutil.rmtree(copied / ".venv")
    said = made(copied, "make reproduce").stdout
    for claim in yaml.safe_load((copied / "paper/claims.yaml").read_text(encoding="utf-8"))["claims"]:
        assert re.search(rf"^{claim['id']}  ", said, flags=re.MULTILINE), claim["id"]
    assert re.search(r"^agrees: all [\d,]+ values are those of the reference", made(copied, "make check").stdout, re.M)


def test_each_command_of_the_appendix_makes_its_target(copied: Path) -> None:
    _, _, rest = (copied / "README.md").read_text(encoding="utf-8").partition("<!-- appendix table: begin -->")
    lines = re.findall(r"^\| `([\w-]+)` \|.*?\| (\S+) \| `(snakemake [^`]*)` \|", rest, flags=re.MULTILINE)
    assert len(lines) == len(yaml.safe_load((copied / "paper/claims.yaml").read_text(encoding="utf-8"))["claims"])
    shutil.rmtree(copied / "results", ignore_errors=True)
    for claim, target, command in lines:
        made(copied, f"{shlex.quote(sys.executable)} -m {command}")
        assert target == "results/exact.json" or f"(`{claim}`)" in (copied / target).read_text(encoding="utf-8")
        for file in command.partition(" -- ")[2].split():
            assert (copied / file).is_file(), file


def test_random_cases_are_compared(with_vllm: Path) -> None:
    made(with_vllm, "make parity-full PARITY_STEPS=2000")
    page = (with_vllm / "results/parity/parity.md").read_text(encoding="utf-8")
    (steps,) = re.findall(r"\*\*0 differences\*\* in ([\d,]+) steps", page)
    assert 2_000 <= int(steps.replace(",", "")) < 1_000_000


def test_both_backends_agree(with_vllm: Path) -> None:
    config = (with_vllm / "config/tiny.yaml").read_text(encoding="utf-8")
    assert "backends: [sim]" in config
    file = with_vllm / "config/parity.yaml"
    file.write_text(config.replace("backends: [sim]", BOTH_BACKENDS), encoding="utf-8")
    made(with_vllm, "make reproduce CONFIG=config/parity.yaml CORES=2")
    agree = json.loads((with_vllm / "results/tables/backends_agree.json").read_text(encoding="utf-8"))
    assert agree


def test_benchmarks_end_in_their_page(with_vllm: Path, with_peer: Path) -> None:
    made(with_peer, f"make bench {TINY_BENCH} {TINY_BENCH_ORDERING}")
    page = (with_vllm / "results/bench/README.md").read_text(encoding="utf-8")
    assert "Not measured at this code yet" not in page
    assert "aisimulate" in page
    assert "](benchmarks.svg)" in page
    assert (with_vllm / "results/bench/benchmarks.svg").is_file()


def test_a_day_on_this_processor(with_vllm: Path) -> None:
    (with_vllm / "config/measured/cpu-loop.yaml").write_text(DAY, encoding="utf-8")
    made(with_vllm, "make measured DAY=config/measured/cpu-loop.yaml")
    made(with_vllm, "make publish-measured DAY=config/measured/cpu-loop.yaml")
    page = (with_vllm / "docs/measured/cpu-tiny-llama/README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| cpu-flood \| fairway \| simulated .*, measured ", page, flags=re.MULTILINE)


def changed(settings: str, changes: dict[str, Callable[[str], str]]) -> str:
    """Give settings other values; each change is told the section that it is in."""
    lines, section = [], ""
    for line in settings.splitlines():
        key = line.partition(":")[0]
        if key and not key.startswith((" ", "#")):
            section = key
        name = key.strip()
        lines.append(f"  {name}: {changes[name](section)}" if line.startswith("  ") and name in changes else line)
    return "\n".join(lines) + "\n"


@pytest.fixture
def edgar(real_data: Path) -> Iterator[Mirror]:
    mirror, server = serve(real_data / "edgar")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield mirror
    server.shutdown()
    server.server_close()


def test_real_data_come_from_where_the_settings_say(copied: Path, real_data: Path, edgar: Mirror) -> None:
    sources = copied / "config/sources.yaml"
    changes: dict[str, Callable[[str], str]] = {
        "data_url": lambda _: edgar.address,
        "archives_url": lambda _: edgar.address,
        "contact": lambda _: "Test Group test@example.org",
        "file": lambda section: json.dumps(FILES.get(section) and str(real_data / FILES[section])),
    }
    sources.write_text(changed(sources.read_text(encoding="utf-8"), changes), encoding="utf-8")
    (copied / "config/real.yaml").write_text(REAL, encoding="utf-8")
    made(copied, "make real-env; make reproduce CONFIG=config/real.yaml CORES=2")
    assert len(edgar.documents_asked()) == 64
    claims = (copied / "results/tables/claims.md").read_text(encoding="utf-8")
    assert "corpus: real (lengths as published), real (llama-3);" in claims
