"""The estimate of the time left."""

import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import time_left
from time_left import ProgressHandler, is_no_chatter


class Run:
    """A run told event by event, with a clock that stands still in between."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, start_s: float = 0.0, *, compiles: bool = False, **planned: int
    ) -> None:
        self.now_s = 0.0
        monkeypatch.setattr("time_left.TYPICAL_S", {"calibrate": 15.0, "replay": 10.0})
        monkeypatch.setattr("time_left.JOB_START_S", start_s)
        monkeypatch.setattr("time_left.time.monotonic", lambda: self.now_s)
        monkeypatch.setattr("time_left.COMPILING_S", {"replay": 30.0})
        self.handler = ProgressHandler(compiles=compiles)
        self._tell(event=LogEvent.RUN_INFO, stats={**planned, "total": sum(planned.values())})

    def start(self, job: int, rule: str) -> None:
        self._tell(event=LogEvent.JOB_INFO, jobid=job, rule_name=rule, wildcards={"workload": "w", "seed": str(job)})

    def finish(self, job: int) -> None:
        self._tell(event=LogEvent.JOB_FINISHED, job_id=job)

    def fail(self, job: int, rule: str, message: str | None = None) -> None:
        log = [f"logs/{rule}/w/{job}.log"]
        self._tell(event=LogEvent.JOB_ERROR, jobid=job, rule_name=rule, log=log, rule_msg=message)

    def _tell(self, **values: object) -> None:
        self.handler.handle(logging.makeLogRecord(values))


def test_a_run_of_typical_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(monkeypatch, calibrate=2, replay=3)
    run.start(1, "calibrate")
    run.now_s = 15.0
    run.finish(1)
    assert capsys.readouterr().err == "1 of 5 jobs: calibrate w 1 (15 s); 15 s so far, about 45 s left\n"


def test_a_slow_machine_stretches_the_guesses_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, calibrate=1, replay=1)
    run.start(1, "calibrate")
    run.now_s = 30.0
    run.finish(1)
    assert capsys.readouterr().err == "1 of 2 jobs: calibrate w 1 (30 s); 30 s so far, about 20 s left\n"


def test_small_jobs_on_a_busy_machine_say_little_of_large_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, start_s=1.0, check=1, replay=1)
    monkeypatch.setitem(time_left.TYPICAL_S, "check", 0.0)
    run.start(1, "check")
    run.now_s = 2.0
    run.finish(1)
    assert capsys.readouterr().err == "1 of 2 jobs: check w 1 (2 s); 2 s so far, about 22 s left\n"


def test_what_was_measured_replaces_the_guess(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, replay=3)
    for job in (1, 2):
        run.start(job, "replay")
        run.now_s += 200.0
        run.finish(job)
    line = "2 of 3 jobs: replay w 2 (3 min 20 s); 6 min 40 s so far, about 3 min 20 s left"
    assert capsys.readouterr().err.splitlines()[-1] == line


def test_what_is_compiled_once_says_nothing_of_later_jobs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, compiles=True, calibrate=1, replay=4)
    run.start(1, "calibrate")
    run.now_s = 30.0
    run.finish(1)
    run.start(2, "replay")
    run.now_s = 530.0
    run.finish(2)
    run.start(3, "replay")
    run.now_s = 550.0
    run.finish(3)
    assert capsys.readouterr().err.splitlines() == [
        "the first jobs compile code, once: until then there may be no line for a minute",
        "1 of 5 jobs: calibrate w 1 (30 s); 30 s so far, about 2 min 20 s left",
        "2 of 5 jobs: replay w 2 (8 min 20 s); 8 min 50 s so far, about 1 min 0 s left",
        "3 of 5 jobs: replay w 3 (20 s); 9 min 10 s so far, about 40 s left",
    ]


def test_two_jobs_at_once_halve_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, replay=6)
    run.start(1, "replay")
    run.start(2, "replay")
    run.now_s = 60.0
    run.finish(1)
    run.finish(2)
    line = "2 of 6 jobs: replay w 2 (1 min 0 s); 1 min 0 s so far, about 2 min 0 s left"
    assert capsys.readouterr().err.splitlines()[-1] == line


def test_the_last_job_leaves_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(monkeypatch, replay=1)
    run.start(1, "replay")
    run.now_s = 3600.0
    run.finish(1)
    assert capsys.readouterr().err == "1 of 1 jobs: replay w 1 (1 h 0 min); 1 h 0 min so far\n"


def test_a_failed_job_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(monkeypatch, replay=2)
    run.start(1, "replay")
    run.fail(1, "replay")
    assert capsys.readouterr().err == "FAILED: replay w 1; its log: logs/replay/w/1.log\n"


def test_what_a_cluster_says_of_a_failed_job_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, replay=2)
    run.start(1, "replay")
    end = "For further error details see the cluster/cloud log and the log files of the involved rule(s)."
    run.fail(1, "replay", f"The queue said 'no account'.\n    the call:\n        submit ...\n{end}")
    said = "FAILED: replay w 1 (The queue said 'no account'); its log: logs/replay/w/1.log\n"
    assert capsys.readouterr().err == said
    run.fail(1, "replay", end)
    assert capsys.readouterr().err == "FAILED: replay w 1; its log: logs/replay/w/1.log\n"


@pytest.mark.parametrize(
    ("values", "stays"),
    [
        ({"event": LogEvent.JOB_FINISHED, "levelno": logging.INFO}, False),
        ({"event": LogEvent.PROGRESS, "levelno": logging.INFO}, False),
        ({"msg": "Select jobs to execute...", "module": "job_scheduler", "levelno": logging.INFO}, False),
        ({"msg": "Exiting because a job execution failed", "module": "job_scheduler", "levelno": logging.ERROR}, True),
        ({"event": LogEvent.RUN_INFO, "module": "workflow", "levelno": logging.INFO}, True),
        ({"event": LogEvent.JOB_ERROR, "module": "jobs", "levelno": logging.ERROR}, True),
    ],
)
def test_what_is_said_better_is_left_out_and_nothing_else(values: dict[str, object], stays: bool) -> None:
    assert is_no_chatter(logging.makeLogRecord(values)) is stays
