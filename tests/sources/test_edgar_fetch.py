"""EDGAR's client against a mirror that shows every fault the service is known for."""

import hashlib
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairway.errors import InputError
from fairway.sources.edgar.fetch import Edgar
from fairway.sources.edgar.listing import Filing, pinned_filings
from fairway.sources.settings import EdgarSource

COMPANIES = 12


def page(cik: int) -> bytes:
    text = f"<html><body><p>ITEM 1. Company {cik} in 2023.</p><p>{'words ' * 4000}</p></body></html>"
    return text.encode()


def filing_of(cik: int) -> Filing:
    accession = f"{cik:010d}-23-000001"
    return Filing(
        f"T{cik}", cik, "Some Company", accession, "10-Q", "2023-06-30", hashlib.sha256(page(cik)).hexdigest()
    )


def columns(entries: list[tuple[str, str, str, str]]) -> dict[str, list[str]]:
    names = ["accessionNumber", "form", "reportDate", "primaryDocument"]
    return {name: [entry[place] for entry in entries] for place, name in enumerate(names)}


def write_page(folder: Path, name: str, value: Any) -> None:
    file = folder / "submissions" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")


FILINGS = [filing_of(cik) for cik in range(1, COMPANIES + 1)]


def test_a_mirror_on_a_port_that_is_taken_ends_with_one_line(root: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, str(root / "tests/sources/mirror.py"), str(tmp_path), port]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: port {port}: Address already in use. Remedy: give another port, or stop what uses it.\n"
    )


@pytest.fixture
def edgar_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "edgar"
    for filing in FILINGS:
        document = folder / "Archives/edgar/data" / filing.folder / "q.htm"
        document.parent.mkdir(parents=True)
        document.write_bytes(page(filing.cik))
        entries = [(filing.accession, "10-Q", filing.period, "q.htm")]
        write_page(folder, f"CIK{filing.cik:010d}.json", {"filings": {"recent": columns(entries), "files": []}})
    return folder


@pytest.fixture
def mirror(edgar_folder: Path, start_mirror: Callable[[Path], Any]) -> Any:
    return start_mirror(edgar_folder)


@pytest.fixture
def source(mirror: Any) -> EdgarSource:
    return EdgarSource(
        mirror.address, mirror.address, "Test Group test@example.org", 10.0, 0.5, 1.0, 3, 0.05, "refuse", None
    )


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    return tmp_path / "downloads"


def kept(downloads: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(downloads.glob("*"))
        if file.is_file()
    }


def test_a_document_is_fetched_once(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    filing = FILINGS[0]
    assert Edgar(source, downloads).document(filing).read_bytes() == page(1)
    assert len(mirror.seen) == 2
    assert {agent for _, _, agent in mirror.seen} == {source.contact}
    Edgar(replace(source, contact=""), downloads).document(filing)  # nobody is asked, so nobody must be named
    assert len(mirror.seen) == 2


def test_a_file_placed_by_hand_is_taken_by_its_checksum(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    filing = FILINGS[0]
    downloads.mkdir()
    target = downloads / f"{filing.accession}.htm"
    target.write_bytes(page(1))
    assert Edgar(source, downloads).document(filing) == target
    assert mirror.seen == []
    target.write_bytes(page(1)[:-20])
    Edgar(source, downloads).document(filing)
    assert target.read_bytes() == page(1)


def test_without_a_contact_nobody_is_asked(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    for contact in ("", "  ", "me@example.org", "Some Group", "Some Group @home"):
        with pytest.raises(InputError, match=r"edgar\.contact .* Remedy: set it in the sources file"):
            Edgar(replace(source, contact=contact), downloads).document(FILINGS[0])
    assert mirror.seen == []


@pytest.mark.parametrize("fault", ["500", "cut", "silent", "cut gzip", "no gzip"])
def test_a_fault_that_passes_is_borne(fault: str, mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show(fault, requests=2)
    assert Edgar(source, downloads).document(FILINGS[0]).read_bytes() == page(1)
    assert len(mirror.documents_asked()) == 3


@pytest.mark.parametrize("fault", ["500", "cut", "silent", "slow", "cut gzip", "no gzip"])
def test_a_fault_that_stays_ends_in_one_line(fault: str, mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show(fault)
    began_s = time.monotonic()
    with pytest.raises(InputError, match=r"could not be fetched in 3 attempts.*HTTPS_PROXY.*SSL_CERT_FILE"):
        Edgar(source, downloads).document(FILINGS[0])
    assert time.monotonic() - began_s < 8
    assert kept(downloads) == {}


def test_retry_after_stops_every_job(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show("429", requests=1)
    mirror.retry_after = "1"
    Edgar(source, downloads).document(FILINGS[0])
    (first_s, *_), (second_s, *_) = [seen for seen in mirror.seen if "/Archives/" in seen[1]]
    assert second_s - first_s >= 1
    mirror.show("429", requests=1)
    mirror.retry_after = "86400"
    with pytest.raises(InputError, match="asks to wait 86400 s"):
        Edgar(source, downloads).document(FILINGS[1])


def test_a_text_is_not_written_over_its_document(root: Path, downloads: Path, tmp_path: Path) -> None:
    filing = pinned_filings()[0]
    document = downloads / f"{filing.accession}.htm"
    command = [sys.executable, str(root / "scripts/fetch_filing.py"), "--accession", filing.accession]
    command += ["--sources", str(root / "config/sources.yaml"), "--downloads", str(downloads), "--out", str(document)]
    refused = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(root / "src")}, capture_output=True, encoding="utf-8", check=False
    )
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.startswith(f"error: {document}: is the filing's document itself. Remedy: ")


@pytest.mark.parametrize("date", ["Mon, 01 Jan 0001 00:00:00 -0000", "soon", "31 Feb", ""])
def test_a_date_to_retry_after_that_no_clock_shows_is_passed_over(
    date: str, mirror: Any, source: EdgarSource, downloads: Path
) -> None:
    mirror.show("429", requests=1)
    mirror.retry_after = date
    Edgar(source, downloads).document(FILINGS[0])
    assert len(mirror.documents_asked()) == 2


@pytest.mark.parametrize("fault", ["403", "block page"])
def test_a_refusal_stops_every_job(fault: str, mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show(fault)
    with pytest.raises(InputError, match=r"refuses 'Test Group test@example.org' \(403\).*edgar\.contact"):
        Edgar(source, downloads).document(FILINGS[0])
    asked = len(mirror.seen)
    with pytest.raises(InputError, match=r"a short while ago. Remedy: wait \d+ s"):
        Edgar(source, downloads).document(FILINGS[1])
    assert len(mirror.seen) == asked == 2
    assert kept(downloads) == {}
    mirror.show("403", requests=0)
    Edgar(replace(source, contact="Other Group other@example.org"), downloads).document(FILINGS[1])


def test_a_changed_document_is_refused_or_accepted(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show("changed")
    with pytest.raises(InputError, match=f"{FILINGS[0].sha256} is expected"):
        Edgar(source, downloads).document(FILINGS[0])
    assert kept(downloads) == {}
    document = Edgar(replace(source, changed_documents="accept"), downloads).document(FILINGS[0])
    assert b"in 2024" in document.read_bytes()


def test_gzip_is_unpacked(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show("gzip")  # in two parts
    assert Edgar(source, downloads).document(FILINGS[0]).read_bytes() == page(1)


def test_half_a_document_is_none_also_where_no_checksum_is_known(
    mirror: Any, source: EdgarSource, downloads: Path
) -> None:
    mirror.show("cut gzip")
    with pytest.raises(InputError, match="in 3 attempts, the last time: the answer is cut off: its gzip has no end"):
        Edgar(source, downloads).document(replace(FILINGS[0], sha256=""))
    mirror.show("brotli")
    with pytest.raises(InputError, match="answers in the encoding 'br', asked for was gzip"):
        Edgar(source, downloads).document(replace(FILINGS[0], sha256=""))
    assert kept(downloads) == {}


@pytest.mark.parametrize("location", ["http://[no", "http://caf\xe9.invalid/", "ftp://127.0.0.1/", "http://a b/"])
def test_a_redirection_to_no_address_ends_in_one_line(
    location: str, mirror: Any, source: EdgarSource, downloads: Path
) -> None:
    mirror.show("no address")
    mirror.location = location
    with pytest.raises(InputError, match=r"no address|cannot be asked") as caught:
        Edgar(source, downloads).document(FILINGS[0])
    assert caught.value.remedy
    assert kept(downloads) == {}


def test_redirections_are_requests_too(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    mirror.show("redirect")
    with pytest.raises(InputError, match="leads on and on"):
        Edgar(source, downloads).document(FILINGS[0])
    assert mirror.most_in_a_second() <= 10


def test_nobody_there_ends_in_bounded_time(
    source: EdgarSource, downloads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(InputError, match=r"3 attempts.*HTTPS_PROXY.*SSL_CERT_FILE"):
        Edgar(source, downloads).document(FILINGS[0])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("HTTPS_PROXY", "http://"),
        ("HTTPS_PROXY", "http://[x"),
        ("SSL_CERT_FILE", "no/such.pem"),
        ("REQUESTS_CA_BUNDLE", "no/such.pem"),
    ],
)
def test_network_settings_that_cannot_be_used_are_told_from_a_full_disk(
    setting: str, value: str, source: EdgarSource, downloads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(setting, value)
    secure = replace(source, data_url="https://127.0.0.1:9", archives_url="https://127.0.0.1:9")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9 cannot be asked: ") as caught:
        Edgar(secure, downloads).document(FILINGS[0])
    assert "HTTPS_PROXY" in caught.value.remedy


def fetch_all(source: EdgarSource, downloads: Path, places: list[int]) -> None:
    for place in places:
        Edgar(source, downloads).document(FILINGS[place])


@pytest.mark.parametrize("jobs", [1, 16])
def test_the_server_s_clock_never_sees_the_limit_exceeded(
    jobs: int, mirror: Any, source: EdgarSource, downloads: Path
) -> None:
    context = multiprocessing.get_context("fork")
    shares = [list(range(job, COMPANIES, jobs)) for job in range(jobs)]
    processes = [context.Process(target=fetch_all, args=(source, downloads, share)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * jobs
    assert len(mirror.seen) == 2 * COMPANIES
    assert mirror.most_in_a_second() <= 10
    assert list(kept(downloads).values()) == [filing.sha256 for filing in FILINGS]


def test_a_kill_at_any_moment_leaves_whole_files(mirror: Any, source: EdgarSource, downloads: Path) -> None:
    context = multiprocessing.get_context("fork")
    for delay_s in (0.02, 0.15, 0.3, 0.45):
        process = context.Process(target=fetch_all, args=(source, downloads, list(range(COMPANIES))))
        process.start()
        time.sleep(delay_s)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        known = {f"{filing.accession}.htm": filing.sha256 for filing in FILINGS}
        assert {name: sha for name, sha in kept(downloads).items() if not name.startswith(".")}.items() <= known.items()
    fetch_all(source, downloads, list(range(COMPANIES)))
    assert mirror.most_in_a_second() <= 10
    assert {name: sha for name, sha in kept(downloads).items() if not name.startswith(".")} == known
