"""The verdicts of two runs with other seeds, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.second_seeds import (
    corpora_document,
    corpora_markdown,
    read_second,
    second_seeds_document,
    second_seeds_markdown,
)
from fairway.analysis.wording import ranges
from fairway.errors import InputError


def claims(seeds: list[int], *verdicts: str, sha256: str = "1" * 64, corpus: str = "embedded") -> dict[str, Any]:
    figure = {"name": "p50_s", "workload": "w", "point": 2.5 * len(seeds)}
    shown = {"sample": f"{len(seeds)} seeds", "indicative": len(seeds) < 20, "edits": [], "figures": [figure]}
    answered = [{"id": f"c{number}", "verdict": verdict, **shown} for number, verdict in enumerate(verdicts)]
    return {"claims_sha256": sha256, "seed_numbers": seeds, "corpora": [corpus], "claims": answered}


def write(folder: Path, document: dict[str, Any]) -> Path:
    file = folder / "reference.json"
    reference = {"origin": {"configuration": "second-seeds.yaml"}, "tables": {"claims": document}}
    file.write_text(json.dumps(reference), encoding="utf-8")
    return file


def test_verdicts_stand_side_by_side_and_another_one_is_marked(tmp_path: Path) -> None:
    file = write(tmp_path, claims([101, 102, 1103], "holds", "holds in part"))
    document = second_seeds_document("full.yaml", claims([1, 2], "holds", "does not hold"), read_second(file), file)
    page = second_seeds_markdown(json.loads(json.dumps(document)))
    assert "under seeds 1 to 2 (`config/full.yaml`) and under seeds 101 to 102, 1103 (`config/second-seeds" in page
    assert "1 of 2 get the same verdict" in page
    assert "| `c0` | holds (indicative) | holds (indicative) | p50 5 s (2 seeds) | p50 7.5 s (3 seeds) |" in page
    assert "| `c1` | does not hold (indicative) | **holds in part (indicative)** |" in page


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (claims([3, 2], "holds"), "has seed 2, as the other run has"),
        (claims([3], "holds", sha256="2" * 64), "answers another claims file"),
    ],
)
def test_a_run_that_is_no_second_one_is_refused(tmp_path: Path, second: dict[str, Any], problem: str) -> None:
    file = write(tmp_path, second)
    with pytest.raises(InputError, match=problem) as caught:
        second_seeds_document("full.yaml", claims([1, 2], "holds"), read_second(file), file)
    assert caught.value.file == file


@pytest.mark.parametrize("text", [None, "{", "{}", '{"origin": {"configuration": "a"}, "tables": {"claims": {}}}'])
def test_a_file_that_is_no_published_run_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "reference.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no such file" if text is None else "not a published run"):
        read_second(tmp_path / "reference.json")


def test_real_and_embedded_corpora_stand_side_by_side(tmp_path: Path) -> None:
    file = write(tmp_path, claims([1, 2], "holds", "holds"))
    real = claims([1, 2], "holds", "does not hold", corpus="real (llama-3)")
    page = corpora_markdown(json.loads(json.dumps(corpora_document("real.yaml", real, read_second(file), file))))
    assert "on real (llama-3) (`config/real.yaml`, seeds 1 to 2), and on embedded (`config/second-seeds.yaml`" in page
    assert "1 of 2 get the same verdict" in page
    assert "| `c1` | does not hold (indicative) | **holds (indicative)** | p50 5 s (2 seeds) |" in page
    with pytest.raises(InputError, match="has the same corpus, embedded"):
        corpora_document("quick.yaml", claims([3], "holds", "holds"), read_second(file), file)
    with pytest.raises(InputError, match="answers another claims file"):
        corpora_document("real.yaml", real | {"claims_sha256": "2" * 64}, read_second(file), file)


def test_runs_of_numbers_are_said_by_their_ends() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1 to 3, 7, 9 to 10"
    assert ranges([]) == ""
