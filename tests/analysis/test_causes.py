"""Causes of claims that do not hold: measured, put into their sentences, and refused where they are stale."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.causes import KnownCause, known_causes, measured_document, read_causes
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import claims_document, claims_markdown, readers_table, terminal
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.inputs import Expected, Group, gather
from fairway.analysis.metrics import NS_PER_S, TtftPool
from fairway.analysis.results import read_result
from fairway.analysis.study import Study
from fairway.analysis.verdicts import UNHELD, answer_claims
from fairway.errors import InputError
from fairway.files import write_sealed

REPOSITORY = Path(__file__).parents[2]
CLAIMS = read_claims(REPOSITORY / "paper" / "claims.yaml")
RESAMPLING = Resampling(resamples=50, seed=1)
CAUSES = """\
causes:
  - claim: spike-latency
    says: ["Fairway's median is {p50_s} here.", "It hits {hit_pct} of the tokens."]
    configuration: config/causes/made-up.yaml
    figures:
      p50_s: {expression: p50(fairway), workload: sec-dynamic-a}
      hit_pct: {expression: 100 * hit_rate(fairway), workload: sec-dynamic-a}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with one cause and its configuration."""
    (tmp_path / "config/causes").mkdir(parents=True)
    (tmp_path / "config/causes/made-up.yaml").write_text("seeds: {first: 1, count: 5}\n", encoding="utf-8")
    (tmp_path / "causes.yaml").write_text(CAUSES, encoding="utf-8")
    return tmp_path


@pytest.fixture
def study(untouched_rows: Path) -> Study:
    return Study.of(collect(Wanted(untouched_rows, ("sec-dynamic-a",), ("fcfs", "fairway"))), CLAIMS, RESAMPLING)


def change(folder: Path, old: str, new: str) -> None:
    text = (folder / "causes.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "causes.yaml").write_text(text.replace(old, new), encoding="utf-8")


def measure(folder: Path, study: Study) -> None:
    (cause,) = read_causes(folder / "causes.yaml", CLAIMS.ids)
    write_sealed(folder / "measured/spike-latency.json", measured_document(cause, folder, study))


def known(folder: Path) -> tuple[KnownCause, ...]:
    return known_causes(folder / "causes.yaml", folder / "measured", CLAIMS.ids, folder)


def test_measured_figures_are_put_into_the_sentences(folder: Path, study: Study, untouched_rows: Path) -> None:
    measure(folder, study)
    (cause,) = known(folder)
    result = read_result(untouched_rows, "sec-dynamic-a", "fairway")
    spike = result.requests["phase"] == "spike"
    ttft_s = sorted((result.requests["first_token_ns"] - result.requests["arrival_ns"])[spike] / NS_PER_S)
    median_s = ttft_s[-(-len(ttft_s) // 2) - 1]
    hit_pct = 100 * result.requests["hit_tokens"].sum() / result.requests["prompt_tokens"].sum()
    assert len(TtftPool(result)) == len(result.requests["seed"])
    assert cause.says == f"Fairway's median is {median_s:.3g} s here. It hits {hit_pct:.3g}% of the tokens."
    assert (cause.configuration, cause.sample) == ("config/causes/made-up.yaml", "5 seeds")


def test_a_sentence_may_say_where_a_figure_lies(folder: Path, study: Study) -> None:
    change(folder, "{p50_s} here", "{p50_s.low} to {p50_s.high} here")
    measure(folder, study)
    figure = json.loads((folder / "measured/spike-latency.json").read_text(encoding="utf-8"))["figures"]["p50_s"]
    (cause,) = known(folder)
    assert cause.says.startswith(f"Fairway's median is {figure['low']:.3g} s to {figure['high']:.3g} s here.")


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("spike-latency", "spike-speed", 2, "no claim is called 'spike-speed'"),
        ("{p50_s} here", "{p99_s} here", 3, "no figure is called 'p99_s'"),
        ("{p50_s} here", "{p50_s.mean} here", 3, "no figure is called 'p50_s.mean'"),
        ('here.", "It hits {hit_pct} of the tokens."', 'here."', 3, "is too short"),
        ("figures:", "numbers:", 2, "'figures' is a required property"),
        ("made-up.yaml", "made-up", 4, "does not match"),
    ],
)
def test_a_file_that_names_none_is_refused_with_its_line(
    folder: Path, old: str, new: str, line: int, problem: str
) -> None:
    change(folder, old, new)
    with pytest.raises(InputError, match=problem) as caught:
        read_causes(folder / "causes.yaml", CLAIMS.ids)
    assert (caught.value.file, caught.value.line) == (folder / "causes.yaml", line)


def test_two_causes_of_one_claim_are_refused(folder: Path) -> None:
    (folder / "causes.yaml").write_text(CAUSES + CAUSES.removeprefix("causes:\n"), encoding="utf-8")
    with pytest.raises(InputError, match="two causes of 'spike-latency'"):
        read_causes(folder / "causes.yaml", CLAIMS.ids)


def edit_configuration(folder: Path) -> None:
    (folder / "config/causes/made-up.yaml").write_text("seeds: {first: 2, count: 5}\n", encoding="utf-8")


def edit_figures(folder: Path) -> None:
    file = folder / "measured/spike-latency.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["figures"]["p50_s"]["point"] = 0.5
    file.write_text(json.dumps(document), encoding="utf-8")


STALE: dict[str, tuple[Callable[[Path], None], str]] = {
    "configuration": (edit_configuration, "was measured before config/causes/made-up.yaml changed"),
    "expression": (lambda folder: change(folder, "p50(fairway)", "p99(fairway)"), "was measured for another cause"),
    "figure": (edit_figures, "was edited after it was written"),
    "nothing measured": (lambda folder: (folder / "measured/spike-latency.json").unlink(), "no such file"),
}


@pytest.mark.parametrize("kind", STALE)
def test_what_was_measured_for_something_else_is_refused(folder: Path, study: Study, kind: str) -> None:
    measure(folder, study)
    spoil, problem = STALE[kind]
    spoil(folder)
    with pytest.raises(InputError, match=problem) as caught:
        known(folder)
    assert caught.value.file == folder / "measured/spike-latency.json"


def test_what_was_not_run_cannot_be_measured(folder: Path, study: Study) -> None:
    change(folder, "p50(fairway)", "p50(peek)")
    with pytest.raises(InputError, match="figure p50_s of spike-latency needs policy peek"):
        measure(folder, study)
    change(folder, "p50(peek)", "p51(fairway)")
    with pytest.raises(InputError, match="figure p50_s of spike-latency: "):
        measure(folder, study)


def document(rows_root: Path, causes: tuple[KnownCause, ...]) -> dict[str, Any]:
    expected = Expected(
        rows_root, (Group(("sec-dynamic-a", "sec-flood"), ("fcfs", "lpm", "fairway"), 5),), rows_root / "exact.json"
    )
    inputs = gather(expected)
    answers = answer_claims(CLAIMS, inputs, RESAMPLING)
    path = REPOSITORY / "paper/claims.yaml"
    return dict(claims_document(answers, inputs, expected, path, RESAMPLING, causes))


def test_only_claims_that_do_not_hold_show_their_cause_below_the_table(untouched_rows: Path, tmp_path: Path) -> None:
    verdicts = {claim["id"]: claim["verdict"] for claim in document(untouched_rows, ())["claims"]}
    unheld = [name for name, verdict in verdicts.items() if verdict in UNHELD]
    assert unheld
    causes = tuple(KnownCause(name, f"Why {name}.", "config/c.yaml", "5 seeds", "simulated") for name in verdicts)
    shown = document(untouched_rows, causes)
    assert [cause["claim"] for cause in shown["causes"]] == unheld
    for text in (claims_markdown(shown), readers_table(shown)):
        for name in unheld:
            assert f"\n| `{name}` | Why {name}. | `config/c.yaml`: 5 seeds, simulated |" in text
    assert f"Cause: Why {unheld[0]}." in " ".join(terminal(shown, tmp_path).split())
    without = document(untouched_rows, ())
    assert "Why claims do not hold" not in claims_markdown(without)
    assert without["claims"] == shown["claims"], "a cause decides nothing"


def test_the_script_measures_what_a_configuration_ran(tmp_path: Path, write: Callable[..., Path]) -> None:
    for policy in ("fcfs", "fairway"):
        write(tmp_path / "rows", "sec-dynamic-a", policy)
    (tmp_path / "causes.yaml").write_text(CAUSES.replace("config/causes/made-up", "config/tiny"), encoding="utf-8")
    causes = ("--config", "config/tiny.yaml", "--causes", tmp_path / "causes.yaml", "--claims", "paper/claims.yaml")
    folders = ("--rows-root", tmp_path / "rows", "--out-dir", tmp_path / "measured")
    done = subprocess.run(
        [sys.executable, "scripts/measure_causes.py", *map(str, (*causes, *folders))],
        cwd=REPOSITORY,
        env={"PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (cause,) = known_causes(tmp_path / "causes.yaml", tmp_path / "measured", CLAIMS.ids, REPOSITORY)
    assert cause.configuration == "config/tiny.yaml"


def test_the_repository_s_causes_are_measured() -> None:
    causes = known_causes(REPOSITORY / "paper/causes.yaml", REPOSITORY / "docs/causes", CLAIMS.ids, REPOSITORY)
    assert len({cause.claim for cause in causes}) == len(causes)


def test_every_claim_that_does_not_hold_in_the_whole_experiment_has_a_cause() -> None:
    file = REPOSITORY / "docs/reference/full/reference.json"
    claims = json.loads(file.read_text(encoding="utf-8"))["tables"]["claims"]
    unheld = {claim["id"] for claim in claims["claims"] if claim["verdict"] in UNHELD}
    assert {cause["claim"] for cause in claims["causes"]} == unheld
