"""One document for all tables, and the references that are made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairway.analysis.readme import markers
from fairway.analysis.reference import (
    CLAIMS_MARK,
    REFERENCE_MARK,
    Origin,
    readme_with,
    reference_document,
    write_reference,
)
from fairway.analysis.scheduling import read_scheduling, scheduling_markdown
from fairway.analysis.summary import PAGES, pages, read_summary, summarise
from fairway.errors import InputError
from fairway.files import sealed

ORIGIN = Origin("full", "2026-01-31", "abcdef0123456789", "full.yaml", "0" * 64, {"python": "3.11.0"})
CLAIMS = {
    "claims": [],
    "causes": [],
    "measured": [],
    "verdicts": {"holds": 0},
    "seeds": 20,
    "profiles": ["p"],
    "corpora": ["embedded"],
    "extrapolated_share": 0.031,
    "not_counted": "Not counted: 7 requests of the warm-up.",
    "resampling": {"resamples": 10, "confidence_percent": 95},
    "claims_sha256": "1" * 64,
    "edited": [],
    "missing": [],
}
SCHEDULING = {
    "machine": {"processor": "a", "cores": 2},
    "rows": [
        {"policy": "lpm", "waiting": 1024, "median_us": 210.4, "p90_us": 1, "repetitions": 7},
        {"policy": "fcfs", "waiting": 32, "median_us": 3.21, "p90_us": 1, "repetitions": 7},
        {"policy": "lpm", "waiting": 32, "median_us": 20.0, "p90_us": 1, "repetitions": 7},
    ],
}


def write(folder: Path, **parts: object) -> list[Path]:
    files = []
    for name, part in parts.items():
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps(sealed(part)), encoding="utf-8")
    return files


def test_parts_stand_under_their_names_in_one_order(tmp_path: Path) -> None:
    summary = summarise(write(tmp_path, scheduling=SCHEDULING, claims=CLAIMS))
    assert list(summary) == ["claims", "scheduling"]
    assert list(pages(summary)) == ["claims", "scheduling"]
    assert "3.1% of prefill tokens extrapolated" in pages(summary)["claims"]
    assert "Not counted: 7 requests of the warm-up." in pages(summary)["claims"]


def test_an_unknown_or_broken_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table is called 'other'"):
        summarise(write(tmp_path, other={}))
    (tmp_path / "claims.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not JSON"):
        summarise([tmp_path / "claims.json"])
    (file,) = write(tmp_path, summary={"metrics": {}})
    with pytest.raises(InputError, match="claims"):
        read_summary(file)


def test_scheduling_times_stand_by_policy_and_queue_length(tmp_path: Path) -> None:
    (file,) = write(tmp_path, scheduling=SCHEDULING)
    page = scheduling_markdown(read_scheduling(file))
    assert "| Policy | 32 waiting | 1,024 waiting |" in page
    assert "| lpm | 20 | 210 |" in page
    assert "| fcfs | 3.21 | - |" in page
    assert "median of 7 hooks; measured on processor a, cores 2" in page
    write(tmp_path, scheduling={"machine": {}, "rows": [{"policy": "lpm"}]})
    with pytest.raises(InputError, match="has no rows of"):
        read_scheduling(file)


def test_a_reference_says_what_made_it_on_every_page_and_in_the_readme(tmp_path: Path) -> None:
    reference = reference_document({"claims": CLAIMS, "scheduling": SCHEDULING}, ORIGIN)
    write_reference(tmp_path, reference)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.md", "reference.json", "scheduling.md"]
    for page in tmp_path.glob("*.md"):
        assert page.read_text(encoding="utf-8").startswith(
            "Reference run of `config/full.yaml` (SHA-256 000000000000) on 2026-01-31 at commit abcdef012345; "
        )
    begin, end = markers(CLAIMS_MARK)
    readme = f"{''.join(markers(REFERENCE_MARK))}{begin}old\n{end}"
    text = readme_with(readme, reference, Path("README.md"))
    assert "2026-01-31" in text
    assert "(docs/reference/full/scheduling.md)" in text
    assert "old" not in text
    assert readme_with(text, reference, Path("README.md")) == text
    with pytest.raises(InputError, match="no place for the reference run"):
        readme_with(f"{begin}{end}", reference, Path("README.md"))


def test_every_page_has_its_renderer() -> None:
    assert list(PAGES) == [
        "claims",
        "metrics",
        "comparison",
        "sensitivity",
        "regimes",
        "variants",
        "second-seeds",
        "corpora",
        "scheduling",
    ]
