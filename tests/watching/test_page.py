"""The page in a real browser: it asks the network for nothing and shows what was recorded, step by step."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.figures.seal import is_whole
from fairway.watching.page import read_recording, write_page

LARGEST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def page_file(recordings: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "queue.html"
    write_page(file, [read_recording(recording) for recording in recordings])
    return file


def test_the_page_is_small_sealed_and_the_same_each_time(
    page_file: Path, recordings: list[Path], tmp_path: Path
) -> None:
    write_page(tmp_path / "queue.html", [read_recording(recording) for recording in recordings])
    assert page_file.read_bytes() == (tmp_path / "queue.html").read_bytes()
    assert page_file.stat().st_size < LARGEST_BYTES
    assert is_whole(page_file)


def test_no_value_can_end_the_element_that_holds_the_data(tmp_path: Path, recordings: list[Path]) -> None:
    recording = {**read_recording(recordings[0]), "about": "</script><script>alert(1)</script>{data}{script}"}
    write_page(tmp_path / "queue.html", [recording])
    text = (tmp_path / "queue.html").read_text(encoding="utf-8")
    data = text.split('id="recordings">')[1].split("</script>")[0]
    assert json.loads(data)["scenes"][0]["about"] == recording["about"]


@pytest.fixture
def page(browser: Any, page_file: Path) -> Iterator[Any]:
    """Open the page; whatever it complains of or asks for besides itself fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(page_file.as_uri())
    yield opened
    assert (said, asked) == ([], [page_file.as_uri()])
    context.close()


def moments(document: dict[str, Any], policies: list[str]) -> list[int]:
    times = {document["start_ns"], document["end_ns"]}
    for run in document["runs"]:
        if run["policy"] in policies:
            times |= {time for step in run["steps"] for time in (step["start_ns"], step["end_ns"])}
    return sorted(time for time in times if document["start_ns"] <= time <= document["end_ns"])


def waiting(document: dict[str, Any], policy: str, now_ns: int) -> int:
    steps = next(run for run in document["runs"] if run["policy"] == policy)["steps"]
    return next((len(step["waiting"]) for step in steps if step["start_ns"] <= now_ns < step["end_ns"]), 0)


def shown(page: Any, side: str, field: str) -> str:
    return str(page.locator(f"#{side} [data-field={field}]").inner_text())


def position(page: Any) -> int:
    return int(page.locator("#slider").input_value())


def choose_spike(page: Any) -> None:
    page.get_by_label("The spike of small").check()


def test_both_sides_show_who_waits_at_every_moment(page: Any, spike: dict[str, Any]) -> None:
    choose_spike(page)
    times = moments(spike, ["fcfs", "fairway"])
    assert int(page.locator("#slider").get_attribute("max")) == len(times) - 1
    page.locator("#slider").focus()
    seen = []
    for _ in times:
        seen.append((shown(page, "left", "waiting"), shown(page, "right", "waiting")))
        page.keyboard.press("ArrowRight")
    assert seen == [tuple(str(waiting(spike, policy, now)) for policy in ("fcfs", "fairway")) for now in times]


def test_the_last_moment_shows_the_replay_s_times(page: Any, spike: dict[str, Any]) -> None:
    choose_spike(page)
    page.locator("#right [data-field=policy]").select_option(label="LPM")
    page.locator("h1").click()
    page.keyboard.press("End")
    for side, policy in (("left", "fcfs"), ("right", "lpm")):
        last = next(run for run in spike["runs"] if run["policy"] == policy)["steps"][-1]
        assert shown(page, side, "p50") == f"{last['p50_ns'] / 1e9:.2f} s"
        assert shown(page, side, "p99") == f"{last['p99_ns'] / 1e9:.2f} s"
        assert shown(page, side, "answered") == f"{spike['counted']} of {spike['counted']}"


def test_the_first_step_of_the_worked_example_shows_order_lanes_and_ledgers(page: Any) -> None:
    rows = page.locator("#right tbody tr").all()
    told = [[cell.inner_text().strip() for cell in row.locator("td").all()] for row in rows[:7]]
    assert [row[1] for row in told] == ["✓ H1", "✓ H2", "✓ H3", "✓ H4", "✓ H5", "✓ M", "H6"]
    assert [told[place][4] for place in (0, 4, 5, 6)] == [
        *("fast 1,200 ≤ 6,000", "fast 6,000 ≤ 6,000", "fair 7,200 > 6,000", "fast 7,200 ≤ 12,000")
    ]
    lanes = page.locator("#right .lanes").inner_text()
    assert "Ledger 7,200, began at 1,200" in lanes and "Ledger 12,000, began at 6,000" in lanes
    assert page.locator("#left .lanes").count() == 0  # FCFS has none


def test_when_the_last_step_has_ended_nothing_runs(page: Any) -> None:
    page.locator("h1").click()
    page.keyboard.press("End")
    assert shown(page, "left", "step") == shown(page, "right", "step") == "Nothing waits and nothing runs."
    assert shown(page, "left", "waiting") == shown(page, "right", "waiting") == "0"


def test_keys_buttons_and_slider_move(page: Any) -> None:
    choose_spike(page)
    page.locator("h1").click()
    last = int(page.locator("#slider").get_attribute("max"))
    for key, expected in (
        *(("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("PageDown", 11), ("PageUp", 1)),
        *(("End", last), ("ArrowRight", last), ("Home", 0), ("ArrowLeft", 0)),
    ):
        page.keyboard.press(key)
        assert position(page) == expected, key
    page.get_by_role("button", name="One step forward").click()
    assert position(page) == 1
    page.get_by_role("slider").fill("7")
    assert position(page) == 7
    assert "moment 8 of" in page.get_by_role("slider").get_attribute("aria-valuetext")
    before = page.locator("#speed").input_value()
    page.keyboard.press("+")
    assert float(page.locator("#speed").input_value()) == 2 * float(before)


def test_a_key_moves_the_scene_that_was_chosen_by_mouse(page: Any) -> None:
    scenes = page.locator("#scenes label")
    scenes.nth(1).click()
    page.wait_for_function("document.activeElement === document.body")
    page.keyboard.press("ArrowRight")
    assert position(page) == 1
    assert scenes.nth(1).locator("input").is_checked()


def test_space_plays_to_the_end_and_pauses(page: Any) -> None:
    choose_spike(page)
    page.locator("#speed").select_option("16")
    page.locator("h1").click()
    page.keyboard.press(" ")
    assert page.locator("#play").inner_text() == "Pause"
    page.locator("#clock").filter(has_not_text="moment 1 of").wait_for()
    page.keyboard.press(" ")
    paused = position(page)
    assert page.locator("#play").inner_text() == "Play"
    page.keyboard.press(" ")
    page.locator("#play").filter(has_text="Play").wait_for()
    assert position(page) == int(page.locator("#slider").get_attribute("max")) > paused


def test_labels_say_what_it_is(page: Any) -> None:
    choose_spike(page)
    told = page.locator("#labels").inner_text()
    assert "simulated on a modelled profile (a6000-llama-3.1-8b-modelled)" in told
    assert "small, seed 7, corpus: made up" in told


def test_it_fits_a_narrow_screen_and_follows_the_colour_scheme(browser: Any, page_file: Path) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme=scheme)
        narrow = context.new_page()
        narrow.goto(page_file.as_uri())
        choose_spike(narrow)
        assert narrow.evaluate("document.documentElement.scrollWidth") == 360
        grounds.add(narrow.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert len(grounds) == 2


CUT = """cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.innerText)"""


def test_nothing_in_a_table_is_cut_at_any_width(page: Any) -> None:
    choose_spike(page)
    page.locator("#slider").fill("52")
    for width in (360, 480, 513, 607, 609, 800, 961, 1183, 1185, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".side th, .side td, dt, dd").evaluate_all(CUT) == [], width
