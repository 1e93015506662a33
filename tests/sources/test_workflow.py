"""Real corpora through the workflow: a mirror with few filings, every job a process of its own."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sources.models import llama_model

from fairway.sources.edgar.listing import Filing, pinned_filings, write_listing
from fairway.traces.corpus import read_corpus
from fairway.traces.filings import Filings

pytestmark = pytest.mark.xdist_group("sources")


def filings_in(folder: Path, count: int) -> list[Filing]:
    """Write a mirror's folder with filings of a few thousand words."""
    filings = []
    for cik in range(1, count + 1):
        words = " ".join(f"word{cik}-{place}" for place in range(1500))
        page = f"<html><body><p>ITEM 1. FINANCIAL STATEMENTS</p><p>{words}</p></body></html>".encode()
        accession = f"{cik:010d}-23-000001"
        filing = Filing(f"T{cik}", cik, "C", accession, "10-Q", "2023-06-30", hashlib.sha256(page).hexdigest())
        document = folder / "Archives/edgar/data" / filing.folder / "q.htm"
        document.parent.mkdir(parents=True)
        document.write_bytes(page)
        (folder / "submissions").mkdir(exist_ok=True)
        columns = {"accessionNumber": [accession], "form": ["10-Q"]}
        columns |= {"reportDate": ["2023-06-30"], "primaryDocument": ["q.htm"]}
        listed = json.dumps({"filings": {"recent": columns, "files": []}})
        (folder / f"submissions/CIK{cik:010d}.json").write_text(listed, encoding="utf-8")
        filings.append(filing)
    return filings


class Run:
    """A working directory with a configuration of its own; ``make`` runs the workflow in it."""

    def __init__(self, root: Path, folder: Path, address: str, filings: list[Filing], kind: str) -> None:
        self._root, self.folder = root, folder / f"a run ({kind})"  # a path that must be quoted
        self.folder.mkdir()
        listing, model, questions = (self.folder / name for name in ("list.csv", "tokenizer.model", "q.jsonl"))
        write_listing(filings, listing)
        model.write_text(llama_model(), encoding="ascii")
        row = {"question": "Who?", "paragraphs": [{"title": "A", "paragraph_text": "B"}]}
        questions.write_text(json.dumps(row) + "\n", encoding="utf-8")
        text = (root / "config/sources.yaml").read_text(encoding="utf-8")
        for old, new in {
            "https://data.sec.gov": address,
            "https://www.sec.gov": address,
            'contact: ""': "contact: Test Group test@example.org",
            "listing: null": f"listing: {json.dumps(str(listing))}",
            "count: 200": "count: 1",
            "backoff_s: 1": "backoff_s: 0.05",
            "timeout_s: 20": "timeout_s: 2",
        }.items():
            assert old in text
            text = text.replace(old, new)
        head, tail = text.split("musique:")
        middle, end = tail.split("tokenizer:")
        middle = middle.replace("file: null", f"file: {json.dumps(str(questions))}")
        end = end.replace("file: null", f"file: {json.dumps(str(model))}")
        sources = self.folder / "sources.yaml"
        sources.write_text(f"{head}musique:{middle}tokenizer:{end}", encoding="utf-8")
        config = (root / "config/tiny.yaml").read_text(encoding="utf-8")
        asked = f"corpus: {{kind: {kind}, seed: 1, sources: {json.dumps(str(sources))}}}"
        self._config = self.folder / "config.yaml"
        self._config.write_text(config.replace("corpus: {kind: embedded, seed: 1}", asked), encoding="utf-8")

    def command(self, *targets: str, cores: int = 2) -> list[str]:
        return [
            *(sys.executable, "-m", "snakemake", *targets, "--snakefile", str(self._root / "Snakefile")),
            *("--directory", str(self.folder), "--cores", str(cores), "--configfile", str(self._config)),
        ]

    def make(self, *targets: str, cores: int = 2) -> subprocess.CompletedProcess[str]:
        command, folder = self.command(*targets, cores=cores), self.folder
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)

    def kill_after(self, documents: int, target: str) -> None:
        """Begin to make a target, and kill every process of it once so many documents are there."""
        with subprocess.Popen(
            self.command(target),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            downloads = self.folder / "data/downloads/edgar"
            while process.poll() is None and len(list(downloads.glob("*.htm"))) < documents:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)

    def made(self) -> dict[str, bytes]:
        """Return what the source stage made, by path."""
        data = self.folder / "data"
        files = [*(data / "filings").glob("*.json"), *(data / "corpus").glob("*")]
        return {str(path.relative_to(data)): path.read_bytes() for path in files}


@pytest.fixture
def start_run(root: Path, tmp_path: Path, start_mirror: Callable[[Path], Any]) -> Callable[..., tuple[Run, Any]]:
    def start(kind: str, count: int) -> tuple[Run, Any]:
        folder = tmp_path / "edgar"
        folder.mkdir()
        filings = filings_in(folder, count)
        mirror = start_mirror(folder)
        return Run(root, tmp_path, mirror.address, filings, kind), mirror

    return start


def test_filings_go_from_the_mirror_to_the_corpus_once(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("real", 2)
    done = run.make("data/corpus/sec.json")
    assert done.returncode == 0, done.stdout + done.stderr
    corpus = read_corpus(run.folder / "data/corpus/sec.json")
    assert corpus.kind == "real (llama-3)" and len(mirror.seen) == 4
    written = (run.folder / "data/corpus/sec.json").read_bytes()
    for path in [*(run.folder / "data/filings").glob("*"), run.folder / "data/corpus/sec.json"]:
        path.unlink()
    assert run.make("data/corpus/sec.json").returncode == 0
    assert (run.folder / "data/corpus/sec.json").read_bytes() == written
    assert len(mirror.seen) == 4  # the documents are in the cache


def test_without_a_tokenizer_nothing_is_fetched(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("real", 1)
    (run.folder / "tokenizer.model").unlink()
    done = run.make("data/corpus/sec.json")
    assert done.returncode == 2 and mirror.seen == []
    assert "tokenizer.model: there is no tokenizer model. Remedy: " in done.stdout + done.stderr


def test_auto_falls_back_and_every_table_will_say_so(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("auto", 1)
    for page in (mirror.folder / "submissions").glob("*"):
        page.unlink()
    done = run.make("data/corpus/sec.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "embedded corpora stand in for real ones" in done.stdout + done.stderr
    found = json.loads((run.folder / "data/sources.json").read_text(encoding="utf-8"))
    assert found["kind"] == "stand-in" and "status 404" in found["reason"]
    assert read_corpus(run.folder / "data/corpus/sec.json").kind == "embedded (real data could not be had)"
    assert len(mirror.seen) == 1


@pytest.mark.slow
def test_a_kill_at_any_moment_changes_no_byte(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("real", 6)
    for documents in (0, 1, 3, 5):
        run.kill_after(documents, "data/corpus/sec.json")
    done = run.make("data/corpus/sec.json")
    assert done.returncode == 0, done.stdout + done.stderr
    after_kills, asked = run.made(), len(mirror.documents_asked())
    assert asked <= 6 + 4 * 2  # at most what two jobs were at, each time
    for folder in ("filings", "corpus"):
        shutil.rmtree(run.folder / "data" / folder)
    assert run.make("data/corpus/sec.json").returncode == 0
    assert run.made() == after_kills and len(after_kills) == 7
    assert len(mirror.documents_asked()) == asked


@pytest.mark.slow
def test_sixteen_jobs_at_once_keep_to_the_limit(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("real", 20)
    done = run.make("data/corpus/sec.json", cores=16)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(mirror.seen) == 40
    assert mirror.most_in_a_second() <= 10


@pytest.mark.slow
def test_all_real_filings_come_from_a_mirror_once(
    root: Path, real_data: Path, tmp_path: Path, start_mirror: Callable[[Path], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = start_mirror(real_data / "edgar")
    run = Run(root, tmp_path, mirror.address, list(pinned_filings()), "real")
    done = run.make("data/corpus/sec.json", cores=16)
    assert done.returncode == 0, done.stdout + done.stderr
    first, asked = run.made(), len(mirror.seen)
    corpus = read_corpus(run.folder / "data/corpus/sec.json")
    assert isinstance(corpus, Filings)
    assert len(corpus.filing_tokens) == len(mirror.documents_asked()) == 64
    assert mirror.most_in_a_second() <= 10
    with capsys.disabled():
        print(f"\n64 filings: {corpus}; {asked} requests, at most {mirror.most_in_a_second()} in a second")
    for folder in ("filings", "corpus"):
        shutil.rmtree(run.folder / "data" / folder)
    assert run.make("data/corpus/sec.json", cores=16).returncode == 0
    assert run.made() == first and len(first) == 65
    assert len(mirror.seen) == asked, "the documents are in the cache"


@pytest.mark.slow
def test_a_refusal_ends_the_run_and_a_rerun_goes_on(start_run: Callable[..., tuple[Run, Any]]) -> None:
    run, mirror = start_run("real", 4)
    mirror.show("500", 10_000)
    done = run.make("data/corpus/sec.json")
    assert done.returncode != 0 and "could not be fetched in 5 attempts" in done.stdout + done.stderr
    mirror.show("500", 0)
    done = run.make("data/corpus/sec.json")
    assert done.returncode == 0, done.stdout + done.stderr
