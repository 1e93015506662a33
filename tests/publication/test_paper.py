"""The paper: nothing typed by hand, everything of the run in it, the same bytes each time."""

import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from fairway.analysis.causes import read_causes
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import readers_table
from fairway.analysis.figures.seal import is_whole
from fairway.analysis.summary import read_summary
from fairway.errors import InputError
from fairway.publication.facts import Sources, paper_facts
from fairway.publication.typesetting import typeset

ROOT = Path(__file__).resolve().parents[2]
TEXTS = sorted((ROOT / "paper/text").glob("*.typ"))
# What may stand in the text with a digit in it: names, and the formulas' constants. Every other number is a result or a
# setting, and those come from facts.json.
NAMES = re.compile(r"\bp50\b|\bp99\b|T\(n, 0\)|max\(1, c\)")
COUNTS = re.compile(r"\b(?:three|four|five|six|seven|eight|nine|ten|twenty|hundred) (?:seeds|requests|runs)\b")


def typed_numbers(text: str) -> list[str]:
    return re.findall(r"\S*\d\S*", NAMES.sub("", text)) + COUNTS.findall(text)


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_no_number_is_typed_by_hand(text: Path) -> None:
    assert typed_numbers(text.read_text(encoding="utf-8")) == []


def test_no_number_is_typed_by_hand_in_a_cause() -> None:
    claims = [claim.id for claim in read_claims(ROOT / "paper/claims.yaml").claims]
    scenarios = re.compile(rf"\b(?:{'|'.join(path.stem for path in (ROOT / 'config/workloads').glob('*.yaml'))})\b")
    for cause in read_causes(ROOT / "paper/causes.yaml", claims):
        for sentence in cause.says:
            assert typed_numbers(scenarios.sub("", re.sub(r"\{[^}]*\}", "", sentence))) == [], cause.claim


@pytest.mark.parametrize("planted", ["a p99 of 8.5 s", "18 seeds", "#strong[4.6] times lower", "at 97%", "$x = 3$"])
def test_a_planted_number_is_found(planted: str) -> None:
    (found,) = typed_numbers(f"Fairway, p50 beside p99, has {planted} here.")
    assert re.search(r"\d", planted.replace("p99", ""))[0] in found


def test_every_claim_is_answered_and_the_table_is_that_of_the_readme(facts, sources: Sources) -> None:
    claims = read_summary(sources.summary)["claims"]
    assert list(facts["claims"]["answers"]) == [claim["id"] for claim in claims["claims"]]
    shown = readers_table(claims)
    for row in facts["claims"]["table"]["rows"]:
        assert "| " + " | ".join(row) + " |" in shown
    causes = {cause["claim"] for cause in claims["causes"]}
    assert {name for name, answer in facts["claims"]["answers"].items() if answer["cause"]} == causes


def test_every_table_of_the_run_is_in_it(facts, sources: Sources) -> None:
    assert set(facts["tables"]) == set(read_summary(sources.summary)) - {"claims"}
    workloads = {row[0] for row in facts["workloads"]["rows"]}
    assert workloads == {"sec-dynamic-a", "sec-flood", "mooncake-0.9", "1 of the sweep"}


def test_the_paper_is_the_same_bytes_and_sealed(facts, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.pdf", "two.pdf")]
    for file in files:
        typeset(ROOT / "paper", facts, [], file)
    one, two = (file.read_bytes() for file in files)
    assert one == two
    assert one.startswith(b"%PDF-")
    assert is_whole(files[0])


def test_no_letter_is_smaller_than_can_be_read(facts, tmp_path: Path) -> None:
    typeset(ROOT / "paper", facts, [], tmp_path / "paper.pdf")
    sizes = set()
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "paper.pdf").read_bytes(), flags=re.DOTALL):
        try:
            drawn = zlib.decompress(part)
        except zlib.error:  # not every stream is packed
            continue
        sizes |= {float(size) for size in re.findall(rb"/\w+ ([\d.]+) Tf", drawn)}
    assert len(sizes) > 3
    assert min(sizes) >= 6.5


def test_every_figure_of_the_workflow_has_its_place_in_the_text(root: Path) -> None:
    figures = "".join(path.read_text(encoding="utf-8") for path in (root / "workflow/rules").glob("*.smk"))
    layout = (root / "paper/layout.typ").read_text(encoding="utf-8")
    spoken_of = layout.split("#let spoken-of = (")[1].split("\n)\n")[0]
    for figure in re.findall(r"in_report\(\"([a-z-]+)\"\)", figures):
        assert f'"{figure}"' in spoken_of


def test_a_run_with_little_in_it_has_a_paper_too(changed, sources: Sources, tmp_path: Path) -> None:
    summary = json.loads(sources.summary.read_text(encoding="utf-8"))
    claims = summary["claims"]
    few = [claim for claim in claims["claims"] if claim["id"] in ("flood", "score-identities")]
    few[0] |= {"verdict": "cannot be asked with these inputs", "missing": ["policy lpm"], "figures": [], "checks": []}
    facts = paper_facts(changed({"claims": {**claims, "claims": few, "causes": []}}))
    assert facts["tables"] == {}
    typeset(ROOT / "paper", facts, [], tmp_path / "paper.pdf")
    assert "needs policy lpm" in str(facts["claims"]["table"])


def test_a_fault_in_the_text_is_one_line_and_writes_nothing(facts, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text/fairway.typ").write_text("#nothing-of-this-name\n", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be set: unknown variable"):
        typeset(tmp_path / "text", facts, [], tmp_path / "paper.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


def test_an_edited_summary_is_refused(sources: Sources, tmp_path: Path) -> None:
    edited = tmp_path / "summary.json"
    edited.write_text(
        sources.summary.read_text(encoding="utf-8").replace('"seeds": 20', '"seeds": 21'), encoding="utf-8"
    )
    with pytest.raises(InputError, match="was edited after it was written"):
        paper_facts(replace(sources, summary=edited))


def test_a_figure_without_a_caption_is_refused(sources: Sources, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a figure without a caption. Remedy: name its flood\.rst in --captions"):
        paper_facts(replace(sources, figures=(tmp_path / "flood.pdf",)))


def test_every_figure_of_the_workflow_has_a_caption_without_code(root: Path) -> None:
    figures = re.findall(
        r"in_report\(\"([a-z-]+)\"\)", "".join(p.read_text() for p in (root / "workflow/rules").glob("*.smk"))
    )
    assert len(figures) >= 12
    for figure in figures:
        caption = (root / f"workflow/report/{figure}.rst").read_text(encoding="utf-8")
        assert "{{" not in caption
        assert "below the figure" in caption
