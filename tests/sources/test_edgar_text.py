"""Documents to text: characters, hidden facts, tables, page furniture, items."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.sources.edgar.document import decode, is_markup, primary_text
from fairway.sources.edgar.listing import Filing, pinned_filings
from fairway.sources.edgar.markup import lines_of, plain_lines, row_text, without_furniture
from fairway.sources.edgar.sections import sections_of
from fairway.sources.edgar.text import FilingText, extract_text, read_filing_text, write_filing_text

NOISY = b"""<html><body><div style="display:none"><ix:header><ix:hidden><ix:nonNumeric name="dei:DocumentType" \
contextRef="c1">10-Q</ix:nonNumeric></ix:hidden>
<ix:resources><xbrli:context id="c1"><xbrli:entity>0000000001</xbrli:entity></xbrli:context></ix:resources></ix:header>
</div>
<p>Par value <ix:nonFraction name="us-gaap:A" contextRef="c1"><ix:nonFraction name="us-gaap:A" contextRef="c2">0.00001\
</ix:nonFraction></ix:nonFraction> each.</p>
<p>Management\x92s view \x96 1,<span>500</span> stores<ix:exclude> Page 7 </ix:exclude></p></body></html>"""


def test_inline_xbrl_leaves_what_a_reader_sees() -> None:
    lines = ["Par value 0.00001 each.", "Management\u2019s view \u2013 1,500 stores"]
    assert lines_of(decode(NOISY)) == lines
    declared = NOISY.replace(b"<html>", b'<?xml version="1.0" encoding="ASCII"?><html>')
    assert lines_of(decode(declared)) == lines
    utf8 = NOISY.decode("cp1252").encode("utf-8")
    assert lines_of(decode(utf8)) == lines
    assert lines_of("<p>Management&#146;s view&nbsp;&#x96; 1,500&#8203; stores</p>")[0] == lines[1]


def test_the_text_does_not_depend_on_the_locale(tmp_path: Path, root: Path) -> None:
    document = tmp_path / "q.htm"
    document.write_bytes(NOISY)
    code = (
        "import sys; from pathlib import Path; from fairway.sources.edgar.text import *; "
        "from fairway.sources.edgar.listing import pinned_filings; "
        "write_filing_text(extract_text(pinned_filings()[0], Path(sys.argv[1])), Path(sys.argv[2]))"
    )
    made = []
    for name in ("C", "C.UTF-8"):
        out = tmp_path / f"{name}.json"
        environment = {"LC_ALL": name, "LANG": name, "PYTHONUTF8": "0", "PYTHONPATH": str(root / "src")}
        subprocess.run([sys.executable, "-c", code, str(document), str(out)], env=environment, check=True)
        made.append(out.read_bytes())
    assert made[0] == made[1]


def test_characters_of_two_bytes_and_hidden_elements() -> None:
    page = (
        "<html><body><p hidden>dei:DocumentType</p><p hidden='hidden'>10-Q</p><p>Net sales \u2013 5</p></body></html>"
    )
    assert lines_of(decode(page.encode("utf-16"))) == ["Net sales \u2013 5"]
    assert lines_of(decode(page.encode("utf-16")[:-1])) == ["Net sales \u2013 5"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_characters_are_read_with_and_without_a_mark(encoding: str) -> None:
    assert lines_of(decode("<html><body><p>Net sales \u2013 5</p></body></html>".encode(encoding))) == [
        "Net sales \u2013 5"
    ]


@pytest.mark.parametrize("declared", ["", '<?xml version="1.0" encoding="UTF-8"?>', '<?xml encoding="ASCII"?>'])
def test_a_few_other_bytes_do_not_spoil_all_of_utf_8(declared: str) -> None:
    page = f"{declared}<html><body><p>Management\u2019s view \u2013 caf\u00e9</p>".encode() + b"<p>It\x92s 5\x81</p>"
    assert lines_of(decode(page)) == ["Management\u2019s view \u2013 caf\u00e9", "It\u2019s 5"]
    assert lines_of(decode(b"<p>It\x92s caf\xe9 \x96 \xc3\xa9</p>")) == ["It\u2019s caf\u00e9 \u2013 \u00c3\u00a9"]


def test_facts_are_hidden_whatever_their_prefix_and_wherever_they_stand() -> None:
    page = NOISY.replace(b"ix:", b"inline:").replace(b' style="display:none"', b"")
    named = page.replace(b"<html>", b"<html xmlns:inline='http://www.xbrl.org/2013/inlineXBRL'>")
    assert lines_of(decode(named)) == ["Par value 0.00001 each.", "Management\u2019s view \u2013 1,500 stores"]
    context = "<xbrli:context id='c1'><xbrli:entity>0000000001</xbrli:entity></xbrli:context>"
    assert lines_of(f"<p>Net sales</p>{context}<link:schemaRef>x</link:schemaRef>") == ["Net sales"]


def test_text_below_hundreds_of_elements_is_kept() -> None:
    depth = 400
    assert lines_of(f"<html><body>{'<div>' * depth}Net sales{'</div>' * depth}</body></html>") == ["Net sales"]


@pytest.mark.parametrize("end", ["</div>", ""])  # unclosed elements nest as well
@pytest.mark.parametrize("before", ["", "<p>x</q>&nope;" * 300])
def test_text_below_thousands_of_elements_is_refused_and_never_lost(end: str, before: str, tmp_path: Path) -> None:
    for depth in (2000, 2100, 5000):
        document = tmp_path / "q.htm"
        page = f"<html><body>{before}\n{'<div>' * depth}Net sales{end * depth}<p>Its end.</p></body></html>"
        document.write_text(page, encoding="utf-8")
        filing = pinned_filings()[0]
        if depth == 2000:
            text = extract_text(filing, document).text
            assert "Net sales" in text and "Its end." in text
            continue
        with pytest.raises(InputError) as refused:
            extract_text(filing, document)
        said = str(refused.value)
        assert said.startswith(f"{document}: {filing.ticker} {filing.period}, {filing.accession}: ")
        assert "cannot be read behind line 2 (Excessive depth" in said and "Remedy: take the filing off" in said


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "a PDF file"),
        (gzip.compress(NOISY), "a gzip file"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "a Git LFS pointer"),
    ],
)
def test_a_document_without_characters_is_named(content: bytes, kind: str, tmp_path: Path) -> None:
    document = tmp_path / "q.htm"
    document.write_bytes(content)
    with pytest.raises(InputError, match=rf"q\.htm: this is {kind}, not HTML or plain text\. Remedy: "):
        extract_text(pinned_filings()[0], document)


@given(st.sampled_from(["utf-7", "hex", "base64", "rot13", "zlib", "idna", "punycode", "undefined", "cp1252", "?"]))
def test_no_declared_encoding_stops_a_document(name: str) -> None:
    assert decode(b'<meta charset="%s"><p>caf\xe9' % name.encode("ascii"))


@given(st.binary(max_size=300))
def test_any_bytes_have_characters(content: bytes) -> None:
    text = decode(content)
    assert "\ufffd" not in text or b"\xef\xbf\xbd" in content
    lines_of(text)


@given(st.lists(st.text(max_size=20), max_size=20))
def test_lines_have_no_control_characters_and_are_not_empty(words: list[str]) -> None:
    for line in lines_of("<p>".join(words)):
        assert line == line.strip() != ""
        assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)


def test_tables_are_readable() -> None:
    table = """<table><tr><td>Net sales</td><td>$</td><td>1,163.8</td><td></td><td>(</td><td>2</td><td>)%</td></tr>
    <tr><td><p>Two</p><p>lines</p></td><td>—</td></tr><tr><td>•</td><td>a point</td></tr></table>"""
    assert lines_of(table) == ["Net sales | $1,163.8 | (2)%", "Two lines | —", "• a point"]
    assert row_text(["", "$", ""]) == "$"
    assert row_text(["Change", "$", "%"]) == "Change | $ | %"
    assert row_text(["Loss", "$", "(", "5", ")", "—", "%"]) == "Loss | $(5) | —%"
    layout = (
        "<table><tr><td><p>A page.</p><table><tr><td>a</td><td>b</td></tr></table><p>Its end.</p></td></tr></table>"
    )
    assert lines_of(layout) == ["A page.", "a | b", "Its end."]


def test_text_behind_and_between_elements_is_kept() -> None:
    assert lines_of("<div>one <b>two</b> three<div>four</div>five</div>six") == ["one two three", "four", "five", "six"]
    assert lines_of('a<span style="display: none">hidden</span>b<script>x</script>c') == ["abc"]


def test_page_furniture_goes_and_text_stays() -> None:
    pages = []
    for page in range(1, 9):
        pages += [
            "GameStop Corp.",
            f"Text of page {page}.",
            "A line",
            "another",
            "and more",
            f"Form 10-Q | {page}",
            "\f",
        ]
    lines = without_furniture(["Cover", *pages, "12", "Table of Contents", "The end", "30"])
    assert lines[0] == "Cover" and lines[-1] == "The end"
    assert [line for line in lines if line.startswith("Text")] == [f"Text of page {page}." for page in range(1, 9)]
    assert not any("Form 10-Q" in line or line in {"GameStop Corp.", "12", "Table of Contents"} for line in lines[2:])


def test_headings_of_columns_and_sentences_said_again_are_no_furniture() -> None:
    months, said = "Three Months Ended June 30, | Six Months Ended June 30,", "A sentence that is said again. " * 6
    pages = [line for page in range(8) for line in (months, "2023 | 2022", f"Sales | {page}", said, f"{page}", "\f")]
    lines = without_furniture(pages)
    assert [lines.count(line) for line in (months, "2023 | 2022", said)] == [8, 8, 8]
    thrice = [line for page in range(3) for line in ("SIGNATURE", f"Text {page}", "a", "b", "c", "d", "e", "\f")]
    assert without_furniture(thrice).count("SIGNATURE") == 3


def test_a_sentence_goes_on_over_a_page_s_end() -> None:
    start = "The obligation that relates to the separation of employees is included in"
    pages = []
    for name in ("A", "B", "C", "D", "E"):
        pages += ["Some Corp.", f"{name} liabilities.", "More.", f"{name}: {start}", "7", "\f"]
    joined = without_furniture(pages)
    assert joined[3] == f"A: {start}" and joined[4] == "B liabilities."
    pages = [line.replace("B liab", "liab") for line in pages]
    assert without_furniture(pages)[3] == f"A: {start} liabilities."
    assert without_furniture([start, "\f", "Liabilities"]) == [start, "Liabilities"]
    assert without_furniture([start, "liabilities"]) == [start, "liabilities"]
    assert without_furniture([f"{start} | 5", "\f", "less tax"]) == [f"{start} | 5", "less tax"]


@pytest.mark.parametrize(
    "raised",
    [
        "<sup>1, 2</sup>",
        '<span style="position:relative;top:-3.5pt">1, 2</span>',
        '<span style="vertical-align: super"><font>1, 2</font></span>',
    ],
)
def test_raised_numbers_stay_apart_from_the_word_before(raised: str) -> None:
    assert lines_of(f"<p>Churn{raised} fell</p>") == ["Churn\u00b9, \u00b2 fell"]
    assert lines_of(f"<table><tr><td>Churn{raised}</td><td>4</td></tr></table>") == ["Churn\u00b9, \u00b2 | 4"]
    assert lines_of("<p>the 52<sup>nd</sup> week, H<sub>2</sub>O</p>") == ["the 52nd week, H2O"]


TEN_Q = """FORM 10-Q
PART I | Page
Item 1. | Financial Statements | 3
Item 2. | Management's Discussion | 14
Item 4. | Controls and Procedures
PART II
Item 1. | Legal Proceedings | 19
Item 6. | Exhibits | 20
PART I. FINANCIAL INFORMATION
ITEM 1. FINANCIAL STATEMENTS
Assets | $5
Item 1A. "Risk Factors" of our Annual Report on Form 10-K says more than this line, which is a mention.
ITEM 2. MANAGEMENT'S DISCUSSION
We grew.
ITEM 2. MANAGEMENT'S DISCUSSION
We grew more.
Item 4.
Controls and Procedures
They work.
PART II. OTHER INFORMATION
ITEM 1. LEGAL PROCEEDINGS
None.
ITEM 6. EXHIBITS
31.1 Certification""".splitlines()


def test_items_are_found_and_the_contents_are_none() -> None:
    sections = sections_of(TEN_Q)
    found = [(section.part, section.item, section.title) for section in sections]
    assert found == [
        ("", "", ""),
        ("I", "1", "FINANCIAL STATEMENTS"),
        ("I", "2", "MANAGEMENT'S DISCUSSION"),
        ("I", "4", "Controls and Procedures"),
        ("II", "1", "LEGAL PROCEEDINGS"),
        ("II", "6", "EXHIBITS"),
    ]
    assert "\n".join(section.text for section in sections).split("\n") == TEN_Q


@given(st.lists(st.sampled_from([*TEN_Q, "Item 3. Quantitative | 7", "text", "Part II"]), max_size=40))
def test_no_line_is_lost(lines: list[str]) -> None:
    assert "\n".join(section.text for section in sections_of(lines)) == "\n".join(lines)


def test_old_filings_are_one_text_file(tmp_path: Path) -> None:
    submission = """<SEC-DOCUMENT>0000000001-96-000002.txt
<DOCUMENT>
<TYPE>10-Q
<TEXT>
ITEM 1. FINANCIAL STATEMENTS
Net sales           $   1,200     $  1,100
<PAGE>
                           2
ITEM 2. MANAGEMENT'S DISCUSSION
Sales rose; a < b and S&P stay.
ITEM 6. EXHIBITS
None.
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>EX-27
<TEXT>
<MULTIPLIER> 1,000
</TEXT>
</DOCUMENT>"""
    path = tmp_path / "0000000001-96-000002.htm"
    path.write_text(submission, encoding="utf-8")
    filing = Filing("OLD", 1, "Old Corp.", "0000000001-96-000002", "10-Q", "1996-03-31", "")
    text = extract_text(filing, path)
    assert [section.item for section in text.sections] == ["1", "2", "6"]
    assert "Net sales | $ | 1,200 | $ 1,100" in text.text and "a < b and S&P stay." in text.text
    assert "MULTIPLIER" not in text.text and "\n2\n" not in text.text
    with pytest.raises(InputError, match="no document of type 10-K"):
        primary_text(submission, "10-K")
    assert not is_markup(submission)
    assert plain_lines("a\n\n  b   c\n") == ["a", "b | c"]


def test_a_text_is_read_as_written(tmp_path: Path) -> None:
    text = FilingText("T", "Té", "0000000001-23-000001", "2023-06-30", "0" * 64, sections_of(TEN_Q))
    write_filing_text(text, tmp_path / "t.json")
    assert read_filing_text(tmp_path / "t.json") == text
    for wrong in ("", "[]", '{"ticker": "T"}'):
        (tmp_path / "t.json").write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match=r"t\.json"):
            read_filing_text(tmp_path / "t.json")
    empty = tmp_path / "empty.htm"
    empty.write_bytes(b"<html></html>")
    with pytest.raises(InputError, match="no text"):
        extract_text(pinned_filings()[0], empty)


def real_text(ticker: str, real_data: Path, tmp_path: Path) -> FilingText:
    filing = next(filing for filing in pinned_filings() if filing.ticker == ticker)
    (packed,) = (real_data / "edgar/Archives/edgar/data" / filing.folder).glob("*.gz")
    document = tmp_path / f"{filing.accession}.htm"
    document.write_bytes(gzip.decompress(packed.read_bytes()))
    text = extract_text(filing, document)
    assert text.document_sha256 == filing.sha256
    return text
