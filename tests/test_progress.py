"""Progress lines: how far, how long so far, how long still; not too often."""

import io

from fairway.progress import Progress


def test_lines_come_at_most_every_two_seconds():
    now = [0.0]
    stream = io.StringIO()
    progress = Progress("work", stream, clock_s=lambda: now[0])
    for tenth in range(1, 101):
        now[0] = tenth / 10
        progress.update(tenth / 100)
    lines = stream.getvalue().splitlines()
    assert lines == [
        "work: 20% after 2 s, about 8 s left",
        "work: 40% after 4 s, about 6 s left",
        "work: 60% after 6 s, about 4 s left",
        "work: 80% after 8 s, about 2 s left",
        "work: 100% after 10 s, about 0 s left",
    ]


def test_nothing_is_said_before_anything_is_done():
    stream = io.StringIO()
    progress = Progress("work", stream, clock_s=iter([0.0, 9.0]).__next__)
    progress.update(0.0)
    assert stream.getvalue() == ""
