"""Progress lines: how far, how long so far, how long still; not too often."""

import io

import pytest

from fairway.progress import Progress


def test_lines_come_at_most_every_ten_seconds():
    now = [0.0]
    stream = io.StringIO()
    progress = Progress("work", stream, clock_s=lambda: now[0])
    for half in range(1, 101):
        now[0] = half / 2
        progress.update(half / 100)
    lines = stream.getvalue().splitlines()
    assert lines == [
        "work: 20% after 10 s, about 40 s left",
        "work: 40% after 20 s, about 30 s left",
        "work: 60% after 30 s, about 20 s left",
        "work: 80% after 40 s, about 10 s left",
        "work: 100% after 50 s, about 0 s left",
    ]


def test_what_came_before_the_first_word_is_not_expected_again():
    now = [0.0]
    stream = io.StringIO()
    progress = Progress("work", stream, clock_s=lambda: now[0])
    now[0] = 50.0  # to compile
    progress.update(0.02)
    assert stream.getvalue() == ""
    now[0] = 60.0
    progress.update(0.27)
    assert stream.getvalue() == "work: 27% after 60 s, about 29 s left\n"


@pytest.mark.parametrize("share", [0.0, 0.001])
def test_nothing_is_said_before_anything_is_done(share):
    stream = io.StringIO()
    progress = Progress("work", stream, clock_s=iter([0.0, 99.0]).__next__)
    progress.update(share)
    assert stream.getvalue() == ""
