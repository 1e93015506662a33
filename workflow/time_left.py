"""One line for every job that ends, with the time left, in place of Snakemake's own lines about it."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

# What a job takes before it begins with its own work, and the seconds of that, on one of two cores of a small cloud
# machine. They are the first guess, which what this run measures replaces rule by rule.
JOB_START_S = 1.0
TYPICAL_S = {
    "find_sources": 4.0,
    "fetch_filing": 0.5,
    "build_corpus": 0.2,
    "build_agent_trace": 2.0,
    "build_traces": 0.15,  # a seed
    "check_profile": 0.1,
    "replay": 0.01,  # a seed of a workload
    "compute_bounds": 2.0,
    "check_exact": 4.0,
    "tabulate_metrics": 8.0,
    "tabulate_comparison": 4.0,
    "tabulate_regimes": 4.0,
    "tabulate_sensitivity": 0.5,
    "measure_regimes": 0.5,
    "answer_claims": 4.0,
    "summarise": 0.2,
    "build_paper": 3.0,
    "render_pages": 1.0,
    "explore": 8.0,
    "publish_notebook": 0.5,
    "all": 0.1,
}
_UNKNOWN_RULE_S = 1.0  # as the figures take
# What the first job of a rule compiles besides, once for each state of the code, on the same machine. That job's time
# says nothing of the rule's others, nor do the times of those that began before its end.
COMPILING_S = {"build_traces": 25.0, "replay": 10.0, "compute_bounds": 5.0, "check_exact": 5.0}


Size = tuple[str, int]  # a rule of `TYPICAL_S`, and how many times its work a job does


class ProgressHandler(logging.Handler):
    """Prints, after each job, what it was and how long it took, how many are done, and about how much time is left.

    Of a job that fails it prints which one, what a cluster says of it, and where its log is.
    """

    def __init__(self, sizes: Mapping[str, Size] | None = None, *, compiles: bool = False) -> None:
        super().__init__()
        self._sizes = sizes or {}
        self._compiling_s = dict(COMPILING_S) if compiles else {}  # of those that have not compiled yet
        self._cold: set[int] = set()  # jobs that began before that
        self._cold_s: list[float] = []
        self._clock = time.monotonic
        self._start_s = self._clock()
        self._planned: Counter[str] = Counter()  # jobs of each rule in this run
        self._running: dict[int, tuple[str, float]] = {}  # job id: rule, when it started
        self._done: Counter[str] = Counter()
        self._names: dict[int, str] = {}  # job id: rule and wildcards
        self._measured_s: defaultdict[str, list[float]] = defaultdict(list)

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one of Snakemake's log events."""
        event = getattr(record, "event", None)
        if event is LogEvent.RUN_INFO:
            self._planned = Counter({rule: count for rule, count in record.stats.items() if rule != "total"})
            if any(self._known(rule) in self._compiling_s for rule in self._planned):
                _say("the first jobs compile code, once: until then there may be no line for a minute")
        elif event is LogEvent.JOB_INFO:
            self._running[record.jobid] = (record.rule_name, self._clock())
            if self._known(record.rule_name) in self._compiling_s:
                self._cold.add(record.jobid)
            self._names[record.jobid] = " ".join([record.rule_name, *map(str, record.wildcards.values())])
        elif event is LogEvent.JOB_FINISHED and record.job_id in self._running:
            self._finish(record.job_id)
        elif event is LogEvent.JOB_ERROR:
            name = self._names.get(record.jobid, record.rule_name)
            _say(f"FAILED: {name}{_why(record.rule_msg)}; its log: {', '.join(record.log) or 'none'}")

    def _finish(self, job: int) -> None:
        rule, start_s = self._running.pop(job)
        now_s = self._clock()
        self._compiling_s.pop(self._known(rule), None)
        self._done[rule] += 1
        (self._cold_s if job in self._cold else self._measured_s[rule]).append(now_s - start_s)
        done, planned = self._done.total(), self._planned.total()
        left = f", about {_in_words(self._left_s(now_s))} left" if done < planned else ""
        took, so_far = _in_words(now_s - start_s), _in_words(now_s - self._start_s)
        _say(f"{done} of {planned} jobs: {self._names[job]} ({took}); {so_far} so far{left}")

    def _left_s(self, now_s: float) -> float:
        planned_yet = {self._known(rule) for rule in self._planned if self._planned[rule] > self._done[rule]}
        left_s = sum(seconds for rule, seconds in self._compiling_s.items() if rule in planned_yet) * self._speed()
        for rule, planned in self._planned.items():
            left_s += self._expected_s(rule) * (planned - self._done[rule])
        for rule, start_s in self._running.values():
            left_s -= min(now_s - start_s, self._expected_s(rule))
        return left_s / self._parallel_jobs(now_s)

    def _expected_s(self, rule: str) -> float:
        measured_s = self._measured_s[rule]
        return sum(measured_s) / len(measured_s) if measured_s else self._typical_s(rule) * self._speed()

    def _known(self, rule: str) -> str:
        return self._sizes.get(rule, (rule, 1))[0]

    def _typical_s(self, rule: str) -> float:
        known, times = self._sizes.get(rule, (rule, 1))
        return JOB_START_S + TYPICAL_S.get(known, _UNKNOWN_RULE_S) * times

    def _speed(self) -> float:
        """How much longer than typical jobs take here."""
        done = [(self._typical_s(rule) * len(times), sum(times)) for rule, times in self._measured_s.items()]
        typical_s = sum(typical for typical, _ in done)
        return sum(measured for _, measured in done) / typical_s if typical_s else 1.0

    def _parallel_jobs(self, now_s: float) -> float:
        busy_s = sum(map(sum, self._measured_s.values())) + sum(self._cold_s)
        busy_s += sum(now_s - start for _, start in self._running.values())
        return max(1.0, busy_s / max(now_s - self._start_s, 1e-9))


def report_progress(sizes: Mapping[str, Size], quiet: Collection[Quietness], *, compiles: bool) -> None:
    """Listen to this run's events; where Snakemake is to be quiet about rules, its lines about progress are left out.

    ``sizes`` says of rules that are not in `TYPICAL_S` what their jobs amount to, ``compiles`` whether no compiled code
    is kept yet. ``--quiet progress`` would leave the lines out as well, but then Snakemake does not even tell the
    events.
    """
    logger.addHandler(ProgressHandler(sizes, compiles=compiles))
    if Quietness.RULES in quiet:
        for handler in logger.handlers:
            if handler.name == "DefaultStreamHandler":
                handler.addFilter(is_no_chatter)


def is_no_chatter(record: logging.LogRecord) -> bool:
    """Say whether a line is one that `ProgressHandler` does not say better."""
    if getattr(record, "event", None) in (LogEvent.JOB_FINISHED, LogEvent.PROGRESS):
        return False
    return record.levelno > logging.INFO or record.module != "job_scheduler"  # "Select jobs to execute..." and the like


def _why(message: str | None) -> str:
    """Return what a cluster has said of a job, such as why it did not take it: the job's log has nothing of that."""
    said = (message or "").partition("For further error details")[0].strip().partition("\n")[0]
    return f" ({said.rstrip('.')})" if said else ""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _in_words(seconds: float) -> str:
    minutes, rest_s = divmod(round(max(seconds, 0.0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"
