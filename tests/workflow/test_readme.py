"""The README keeps its word: its worked example runs, its table is that of the claims, its commands exist."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from fairway.analysis.readme import markers, replace_between
from fairway.analysis.reference import CLAIMS_MARK, readme_with, write_reference
from fairway.analysis.wording import number
from fairway.errors import InputError

BEGIN, END = markers(CLAIMS_MARK)
Script = Callable[..., subprocess.CompletedProcess[str]]
TRACE = """\
{"timestamp": 0, "input_length": 2048, "output_length": 1, "hash_ids": [1, 2, 3, 4]}
{"timestamp": 1, "input_length": 4000, "output_length": 1, "hash_ids": [11, 12, 13, 14, 15, 16, 17, 18]}
{"timestamp": 2, "input_length": 3000, "output_length": 1, "hash_ids": [1, 2, 3, 4, 5, 6]}
"""


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_the_worked_example_of_a_policy_runs(readme: str, tmp_path: Path, script: Script) -> None:
    example = readme.split("<!-- worked example: begin -->")[1].split("<!-- worked example: end -->")[0]
    code = re.search(r"```python\n(.*?)```", example, re.DOTALL)
    entry = re.search(r'```toml\n\[project.entry-points."fairway.policies"\]\n(\S+) = "(\S+)"\n```', example)
    assert code
    assert entry
    site = tmp_path / "site-packages"
    (site / "half_cached-1.0.dist-info").mkdir(parents=True)
    (site / "half_cached.py").write_text(code[1], encoding="utf-8")
    (site / "half_cached-1.0.dist-info/METADATA").write_text("Name: half-cached\nVersion: 1.0\n", encoding="utf-8")
    (site / "half_cached-1.0.dist-info/entry_points.txt").write_text(
        f"[fairway.policies]\n{entry[1]} = {entry[2]}\n", encoding="utf-8"
    )
    (tmp_path / "trace.jsonl").write_text(TRACE, encoding="utf-8")
    options = ["--traces", "trace.jsonl", "--profile", "a6000-llama-3.1-8b-modelled", "--cache-blocks", "2000"]
    done = script(tmp_path, "replay.py", "--policy", entry[1], *options, "--out-dir", "rows", more_paths=[site])
    assert done.returncode == 0, done.stdout
    first_token_ns = pq.read_table(tmp_path / "rows/requests.parquet").column("first_token_ns").to_pylist()
    assert sorted(range(3), key=first_token_ns.__getitem__) == [0, 2, 1], "half cached goes ahead of an older miss"


def test_a_trace_and_a_profile_of_one_s_own_are_replayed(
    readme: str, root: Path, tmp_path: Path, script: Script
) -> None:
    (command,) = re.findall(r"`python scripts/(replay\.py --policy fairway [^`]*)`", readme)
    (tmp_path / "mine.jsonl").write_text(TRACE, encoding="utf-8")
    shipped = root / "src/fairway/profile/data/a6000-llama-3.1-8b-modelled.toml"
    (tmp_path / "mine.toml").write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    done = script(tmp_path, *command.split())
    assert done.returncode == 0, done.stdout
    assert pq.read_table(tmp_path / "out/requests.parquet").column("outcome").to_pylist() == ["served"] * 3


def test_the_table_has_every_claim(readme: str, root: Path) -> None:
    table = readme.split(BEGIN)[1].split(END)[0]
    claims = yaml.safe_load((root / "paper/claims.yaml").read_text(encoding="utf-8"))["claims"]
    assert re.findall(r"\(`([a-z0-9-]+)`\)", table) == [claim["id"] for claim in claims]


def test_its_generated_parts_equal_the_committed_reference(readme: str, root: Path) -> None:
    named = re.findall(r"^Reference run of [^|]*?docs/reference/([a-z0-9-]+)/claims\.md", readme, flags=re.MULTILINE)
    assert len(named) == 1, "the README shows one reference run"
    file = root / "docs/reference" / named[0] / "reference.json"
    reference = json.loads(file.read_text(encoding="utf-8"))
    assert readme_with(readme, reference, root / "README.md") == readme
    assert reference["origin"]["date"] in readme
    assert reference["origin"]["commit"][:12] in readme


def test_every_committed_page_is_rendered_from_its_reference(root: Path, tmp_path: Path) -> None:
    files = sorted((root / "docs/reference").glob("*/reference.json"))
    assert files
    for file in files:
        write_reference(tmp_path / file.parent.name, json.loads(file.read_text(encoding="utf-8")))
        rendered = {page.name: page.read_bytes() for page in (tmp_path / file.parent.name).iterdir()}
        assert rendered == {page.name: page.read_bytes() for page in file.parent.iterdir()}


def test_the_first_screen_names_the_two_commands(readme: str) -> None:
    first_screen = "\n".join(readme.splitlines()[:25])
    assert "make reproduce" in first_screen
    assert "make test" in first_screen


def test_it_is_short_and_can_be_read_as_text(readme: str) -> None:
    lines = readme.splitlines()
    assert len(lines) < 400
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_every_file_that_it_names_exists(readme: str, root: Path) -> None:
    named = re.findall(r"`((?:src|docs|workflow|scripts|config|envs|paper|benchmarks)/[^`<> ]*)`", readme)
    assert len(named) > 10
    assert [name for name in named if not (root / name).exists()] == []


def test_a_table_takes_the_old_one_s_place() -> None:
    text = f"a\n{BEGIN}old\n{END}b\n"
    assert replace_between(text, CLAIMS_MARK, "new\n", Path("README.md")) == f"a\n{BEGIN}new\n{END}b\n"


@pytest.mark.parametrize("text", ["", BEGIN, END + BEGIN, (BEGIN + END) * 2])
def test_a_readme_without_one_place_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no place for the claims table"):
        replace_between(text, CLAIMS_MARK, "new", Path("README.md"))


def test_the_spreads_of_recorded_traces_are_those_of_their_references(root: Path) -> None:
    page = (root / "data/README.md").read_text(encoding="utf-8")
    pair = r"[^|]*: ([\d.,]+), ([\d.,]+) \|"
    listed = re.findall(rf"^\| \[`(real-[a-z]+)`\]\(\S+\) .*\|{pair}{pair}$", page, re.MULTILINE)
    assert [name for name, *_ in listed] == ["real-sample", "real-conversation"]
    for name, *said in listed:
        tables = json.loads((root / f"docs/reference/{name}/reference.json").read_text(encoding="utf-8"))["tables"]
        rows = [row for row in tables["metrics"]["rows"] if (row["policy"], row["phase"]) == ("fcfs", "measured")]
        in_part = [number(row["uncached_p95_over_p5"]) for row in rows]
        assert said == [*in_part, *(spread_of_variant(tables["variants"], f"whole-{load}") for load in (0.9, 1.1))]
        policies = {row["policy"] for row in tables["metrics"]["rows"]}
        assert len(policies) == len(tables["claims"]["policies"]) == 22


def spread_of_variant(table: dict[str, Any], variant: str) -> str:
    """Return what a table of variants says of the one workload that a variant was put over."""
    if variant in table.get("unasked", {}):
        found = re.findall(r"Spread of uncached work under FCFS on \S+: ([\d.,]+)\.(?: |$)", table["unasked"][variant])
    else:
        (row,) = (row for row in table["rows"] if (row["variant"], row["claim"]) == (variant, "uncached-spread"))
        found = re.findall(rf"spread \S+ -> (\S+) on {re.escape(row['workloads'])}(?:;|$)", row["figures"])
    (spread,) = found
    return str(spread)
