"""The sources file, and any settings file: what is wrong in it is said with its line, whatever it is."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairway.configuration import load_configuration
from fairway.errors import InputError
from fairway.measuring.day import load_day
from fairway.sources.settings import read_sources
from fairway.traces.workload import load_workload

ROOT = Path(__file__).resolve().parents[2]
READERS: dict[str, Callable[[Path], Any]] = {
    "sources.yaml": lambda file: read_sources(file).edgar.filings(),
    "full.yaml": lambda file: load_configuration([ROOT / "config/quick.yaml", file], ROOT),
    "gpu-day.yaml": lambda file: load_day(file, ROOT),
    "workloads/sec-dynamic-b.yaml": load_workload,
    "workloads/sec-mixed-0.9.yaml": load_workload,
    "workloads/mooncake-0.9.yaml": load_workload,
    "workloads/sec-flood.yaml": load_workload,
}
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**70, -1, 0, 1])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["fcfs", "sec-flood", "../x", "rest"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("timeout_s: 20", "timeout_s: .nan", "timeout and deadline must be above 0"),
        ("deadline_s: 300", "deadline_s: .inf", "timeout and deadline must be above 0"),
        ("backoff_s: 1", "backoff_s: .nan", "backoff_s must be from 0 to 600"),
        ("attempts: 5", "attempts: 1000", "attempts from 1 to 20"),
        ("requests_per_s: 8", "requests_per_s: 11", "EDGAR allows 10"),
        ("https://data.sec.gov", '"http://["', "must be addresses"),
        ("https://www.sec.gov", "http:///Archives", "must be addresses"),
        ("sha256: 48", "sha256: 4", "sha256 have 64"),
        ("name: llama-3 ", "name: gpt-2 ", "tokenizer.name is 'gpt-2'"),
    ],
)
def test_a_wrong_source_is_refused_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = (ROOT / "config/sources.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    file = tmp_path / "sources.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=problem) as caught:
        read_sources(file)
    assert caught.value.line is not None and caught.value.remedy


def test_a_contact_that_no_header_can_carry_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "config/sources.yaml").read_text(encoding="utf-8")
    file = tmp_path / "sources.yaml"
    file.write_text(text.replace('contact: ""', "contact: \u0160koda a@example.org"), encoding="utf-8")
    with pytest.raises(InputError, match="which no request can carry"):
        read_sources(file).edgar.manners()


@pytest.mark.parametrize("name", READERS)
def test_a_byte_order_mark_changes_nothing(tmp_path: Path, name: str) -> None:
    text = (ROOT / "config" / name).read_text(encoding="utf-8")
    file = tmp_path / Path(name).name
    file.write_text(f"\ufeff{text}".replace("\n", "\r\n"), encoding="utf-8")
    assert READERS[name](file) == READERS[name](ROOT / "config" / name)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


@given(name=st.sampled_from(sorted(READERS)), data=st.data())
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    values = copy.deepcopy(yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8")))
    *way, last = data.draw(st.sampled_from(list(places(values))))
    inside = values
    for key in way:
        inside = inside[key]
    if data.draw(st.booleans()):
        inside[last] = data.draw(VALUES)
    else:
        del inside[last]
    file = tmp_path_factory.mktemp("changed") / Path(name).name
    file.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    try:
        READERS[name](file)
    except InputError as error:
        assert "\n" not in str(error) and error.remedy
