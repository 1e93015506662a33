"""The HTML report of a run: claims first, whole in one file, and it opens without a network."""

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.conftest import tiny

from made_by import UNKNOWN, made_by

pytestmark = pytest.mark.xdist_group("report")

CATEGORIES = ["1 Claims", "2 Tables", "3 Figures", "4 Paper, notebook, queue", "5 Provenance"]
FAULTY = """\
<img src="https://example.com/picture.png"><script>nothing_of_this_name()</script><p>seen</p>
"""


@pytest.fixture(scope="module")
def report(
    plain: Path,
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    snakemake: Callable[..., subprocess.CompletedProcess[str]],
) -> Path:
    folder = tmp_path_factory.mktemp("report") / "run"
    shutil.copytree(plain, folder)
    done = snakemake(folder, "--cores", "1", *tiny(root), "--report", "results/report.html")
    assert done.returncode == 0, done.stdout
    return folder / "results/report.html"


@dataclass(frozen=True)
class Visit:
    """What a browser made of a page."""

    text: str
    errors: tuple[str, ...]
    requests: tuple[str, ...]  # of the network


def visit(browser: Any, page: Path) -> Visit:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(page.as_uri())
    seen = Visit(opened.inner_text("body"), tuple(errors), tuple(url for url in asked if url.startswith("http")))
    context.close()
    return seen


def part(report: Path, name: str) -> dict[str, dict]:
    found = re.search(rf"^    var {name} = (.*);$", report.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found
    return json.loads(found[1])


def test_every_result_stands_in_its_category_under_a_caption(report: Path) -> None:
    categories, results = part(report, "categories"), part(report, "results")
    assert sorted(categories) == CATEGORIES
    listed = [name for some in categories.values() for names in some.values() for name in names]
    assert sorted(listed) == sorted(results)
    figures = {path.name for path in (report.parents[1] / "figures").glob("*.svg")}
    assert figures == {Path(name).name for name in results if name.endswith(".svg")}
    for name, result in results.items():
        assert len(re.sub("<[^>]+>", "", result["caption"]).split()) >= 10, name
        assert result["labels"], name
    flood = results["figures/flood.svg"]["labels"]
    assert flood == {
        "Figure": "flood",
        "Workloads": "sec-flood",
        "Seeds": "2",
        "Profile": "a6000-llama-3.1-8b-modelled",
    }


def test_it_names_the_software_that_made_it(report: Path, browser: Any, root: Path) -> None:
    commit = UNKNOWN
    if (root / ".git").exists():
        command = ["git", "-C", root, "describe", "--always", "--abbrev=12", "--dirty"]
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    made = f"made at commit {commit} with Python {platform.python_version()} and Snakemake {version('snakemake')}"
    assert made in " ".join(visit(browser, report).text.split())
    caption = part(report, "results")["results/report/provenance.html"]["caption"]
    assert made in " ".join(re.sub("<[^>]+>", "", caption).split())


def test_a_download_has_no_commit_whatever_it_lies_in(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert made_by(tmp_path)["commit"] == UNKNOWN, "nothing is committed"
    (tmp_path / "download").mkdir()
    assert made_by(tmp_path / "download")["commit"] == UNKNOWN


def test_it_opens_without_a_network_and_shows_the_claims(report: Path, browser: Any, root: Path) -> None:
    seen = visit(browser, report)
    assert seen.errors == seen.requests == ()
    claims = re.findall(r"^  - id: (\S+)$", (root / "paper/claims.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [claim for claim in claims if f"({claim})" not in seen.text] == []
    for category in CATEGORIES:
        assert category in seen.text


@pytest.mark.parametrize("page", ["results/report/claims.html", "results/notebooks/explore.html"])
def test_a_page_alone_opens_without_a_network(page: str, browser: Any, plain: Path) -> None:
    seen = visit(browser, plain / page)
    assert seen.errors == seen.requests == ()


def test_a_fault_of_a_page_is_seen(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "faulty.html").write_text(FAULTY, encoding="utf-8")
    seen = visit(browser, tmp_path / "faulty.html")
    assert "seen" in seen.text
    assert "nothing_of_this_name" in seen.errors[0]
    assert seen.requests == ("https://example.com/picture.png",)


def test_the_notebook_says_nothing_of_the_machine(plain: Path, root: Path) -> None:
    notebook = json.loads((plain / "results/notebooks/explore.ipynb").read_text(encoding="utf-8"))
    text = json.dumps(notebook)
    assert str(plain) not in text
    assert str(root) not in text
    assert "snakemake-job-properties" not in text
    assert "execution" not in {key for cell in notebook["cells"] for key in cell["metadata"]}
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
    assert any("same first tokens as the rows" in str(output.get("text")) for output in outputs)
    seen, served = re.findall(r"([\d,]+) of ([\d,]+) starts seen", text)[0]
    assert seen == served
    assert not [output for output in outputs if output.get("name") == "stderr"]
