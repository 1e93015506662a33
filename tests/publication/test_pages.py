"""Pages taken apart and put together again as HTML."""

import json
from pathlib import Path

from fairway.analysis import markdown
from fairway.analysis.blocks import Block, blocks_of, to_html
from fairway.publication.facts import Sources
from fairway.publication.report_pages import OVERVIEW, write_report_pages


def test_what_the_tables_write_is_read_back() -> None:
    page = "\n\n".join(
        [
            "### A head",
            "A line\nand another.",
            markdown.table(("A", "B|C"), [("`x|y`", "-"), ("**z**", "")]),
            "* one\n* two",
        ]
    )
    assert blocks_of(page + "\n") == (
        Block("heading", "A head"),
        Block("paragraph", "A line and another."),
        Block("table", header=("A", "B|C"), rows=(("`x|y`", "-"), ("**z**", ""))),
        Block("list", rows=(("one",), ("two",))),
    )


def test_html_escapes_what_is_no_mark_of_ours() -> None:
    found = to_html(blocks_of("a < b & `c <= d` and **e**"))
    assert found == "<p>a &lt; b &amp; <code>c &lt;= d</code> and <strong>e</strong></p>"


def test_every_table_becomes_a_page_of_its_own(sources: Sources, root: Path, tmp_path: Path) -> None:
    settings = [root / "config/quick.yaml"]
    write_report_pages(sources.summary, sources.calibrations, settings, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    tables = json.loads(sources.summary.read_text(encoding="utf-8"))
    assert {"claims", "metrics", "regimes", "variants"} <= set(tables)
    assert names == {OVERVIEW, "provenance.html", *(f"{name}.html" for name in tables if name != "seal")}
    for page in tmp_path.iterdir():
        text = page.read_text(encoding="utf-8")
        assert "http" not in text.replace("http-equiv", "")
        assert "|" not in text.split("</style>")[-1].replace("`", "") or page.name == "claims.html"
    assert "spike-latency" in (tmp_path / OVERVIEW).read_text(encoding="utf-8")
    assert "quick.yaml" in (tmp_path / "provenance.html").read_text(encoding="utf-8")
