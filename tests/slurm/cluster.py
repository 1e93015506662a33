"""A stand-in for Slurm that has the calls Snakemake's plugin for it makes, and refuses every other one.

Its cluster is one node, this machine: `sbatch` answers at once, and a process that has nothing to do with the
submitting one waits until one of the node's CPUs is free and runs the job there. Snakemake's plugin is the real one, so
what this shows is the profile and the plugin's calls; whether a real cluster takes them it cannot show.
"""

from __future__ import annotations

import argparse
import fcntl
import getpass
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

CPUS = 2
MEMORY_MB = 16_000
PATIENCE_S = 20
ACCOUNTS = ["research"]
PARTITIONS = ["main", "long"]  # the first is the default
CONFIG = "MaxArraySize            = 1001\nMinJobAge               = 300 sec\nClusterName             = stand-in\n"
# How sacct is asked for the states of a run's jobs.
STATES_OF = "-X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime {} --endtime now --name {}"


def write_commands(base: Path, python: str) -> None:
    """Lay the cluster's commands under ``base``/bin."""
    (base / "bin").mkdir(parents=True)
    (base / "jobs").mkdir()
    for name in COMMANDS:
        line = shlex.join([python, __file__, str(base), name])
        (base / "bin" / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        (base / "bin" / name).chmod(0o755)


def submitted(base: Path) -> list[dict[str, Any]]:
    """Return the options of all jobs that `sbatch` has taken, in order."""
    jobs = sorted((base / "jobs").iterdir(), key=lambda job: int(job.name))
    return [json.loads((job / "options.json").read_text(encoding="utf-8")) for job in jobs]


def main(base: Path, command: str, arguments: list[str]) -> None:
    """Do one of the plugin's calls."""
    if command == "run-job":
        run_job(base, base / "jobs" / arguments[0])
    else:
        COMMANDS[command](base, arguments)


def refuse(command: str, arguments: list[str]) -> NoReturn:
    print(f"error: this stand-in has no `{shlex.join([command, *arguments])}`", file=sys.stderr)
    sys.exit(2)


def sbatch(base: Path, arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="sbatch", allow_abbrev=False)
    parser.add_argument("--parsable", action="store_true", required=True)
    parser.add_argument("--job-name", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--export", choices=["ALL"], required=True)
    parser.add_argument("--comment", required=True)
    parser.add_argument("-A", dest="account")
    parser.add_argument("-p", dest="partition", required=True)
    parser.add_argument("-t", dest="minutes", type=int, required=True)
    parser.add_argument("--mem", dest="memory_mb", type=int, required=True)
    parser.add_argument("--ntasks", type=int, choices=[1], required=True)
    parser.add_argument("--cpus-per-task", type=int, required=True)
    parser.add_argument("-D", dest="folder", type=Path, required=True)
    parser.add_argument("--wrap", required=True)
    asked = parser.parse_args(arguments)
    if asked.partition not in PARTITIONS:
        sys.exit(f"sbatch: error: invalid partition specified: {asked.partition}")
    if asked.account not in [None, *ACCOUNTS]:
        sys.exit(
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"
        )
    if asked.memory_mb > MEMORY_MB or asked.cpus_per_task > 1:
        sys.exit("sbatch: error: Batch job submission failed: Requested node configuration is not available")
    with (base / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        coming = base / "coming"
        coming.mkdir()
        (coming / "options.json").write_text(json.dumps(vars(asked), default=str), encoding="utf-8")
        (coming / "script").write_text(f"#!/bin/sh\n{asked.wrap}\n", encoding="utf-8")
        set_state(coming, "PENDING")
        job = coming.rename(base / "jobs" / str(1 + sum(1 for _ in (base / "jobs").iterdir())))
    away = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    line = [sys.executable, __file__, str(base), "run-job", job.name]
    process = subprocess.Popen(line, cwd="/", start_new_session=True, **away)
    (job / "process").write_text(str(process.pid), encoding="utf-8")
    print(job.name)


def set_state(job: Path, state: str) -> None:
    (job / "state.part").write_text(state, encoding="utf-8")
    (job / "state.part").replace(job / "state")


def run_job(base: Path, job: Path) -> None:
    """Run a job, away from the process that has submitted it, once a CPU of the node is free."""
    options = json.loads((job / "options.json").read_text(encoding="utf-8"))
    with (base / f"cpu-{int(job.name) % CPUS}").open("w") as cpu:
        fcntl.flock(cpu, fcntl.LOCK_EX)
        set_state(job, "RUNNING")
        environment = os.environ | {"SLURM_JOB_ID": job.name, "SLURM_JOBID": job.name, "SLURM_CLUSTER_NAME": "stand-in"}
        with Path(options["output"].replace("%j", job.name)).open("wb") as log:
            command = ["/bin/sh", str(job / "script")]
            places = {"cwd": options["folder"], "env": environment, "stdout": log, "stderr": subprocess.STDOUT}
            try:
                status = subprocess.run(command, timeout=60 * options["minutes"], check=False, **places).returncode
                set_state(job, "FAILED" if status else "COMPLETED")
            except subprocess.TimeoutExpired:
                set_state(job, "TIMEOUT")


def srun(base: Path, arguments: list[str]) -> None:
    """Become a job's only step."""
    parser = argparse.ArgumentParser(prog="srun", allow_abbrev=False)
    parser.add_argument("-n", type=int, choices=[1], required=True)
    parser.add_argument("--cpu-bind", choices=["q"], required=True)
    parser.add_argument("--cpus-per-task", type=int, choices=[1], required=True)
    parser.add_argument("--nodes", type=int, choices=[1], required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    step = parser.parse_args(arguments).command
    job = base / "jobs" / os.environ.get("SLURM_JOB_ID", "none")
    if not step or not job.is_dir() or (job / "state").read_text(encoding="utf-8") != "RUNNING":
        sys.exit("srun: error: this stand-in runs a command in a job alone")
    os.execvp(step[0], step)


def sacct(base: Path, arguments: list[str]) -> None:
    states_of = re.fullmatch(STATES_OF.format(r"\d{4}-\d\d-\d\dT\d\d:00", r"([\w-]+)"), " ".join(arguments))
    step = re.fullmatch(r"-j \d+\.(\d) --format=Reason --noheader", " ".join(arguments))
    if states_of:
        states = states_once_one_has_ended(base)
        for (job, state), options in zip(states.items(), submitted(base), strict=False):
            if options["job_name"] == states_of[1]:
                print(f"{job}|{state}")
    elif step:
        print("None" if step[1] == "0" else "", end="")
    elif arguments == ["-nu", getpass.getuser(), "-o", "Account%256", "|", "tail", "-1"]:
        # The plugin means a pipe and gives it no shell, so Slurm's own sacct has an option too many. It goes on from
        # there without an account.
        sys.exit("sacct: invalid option -- '1'")
    else:
        refuse("sacct", arguments)


def states_once_one_has_ended(base: Path) -> dict[str, str]:
    """Return all jobs' states, where no job has ended since the last answer once one has or `PATIENCE_S` are over.

    Slurm answers at once, and the plugin asks ever more seldom while no job ends: long for the jobs of a test.
    """
    told = base / "ended-by-the-last-answer"
    before = int(told.read_text(encoding="utf-8")) if told.exists() else 0
    until_s = time.monotonic() + PATIENCE_S
    while True:
        jobs = sorted((base / "jobs").iterdir(), key=lambda job: int(job.name))
        states = {job.name: (job / "state").read_text(encoding="utf-8") for job in jobs}
        ended = sum(state not in {"PENDING", "RUNNING"} for state in states.values())
        if ended > before or time.monotonic() > until_s:
            told.write_text(str(ended), encoding="utf-8")
            return states
        time.sleep(0.1)


def scancel(base: Path, arguments: list[str]) -> None:
    jobs = [base / "jobs" / number for number in arguments]
    if not jobs or not all(re.fullmatch(r"\d+", job.name) and job.is_dir() for job in jobs):
        refuse("scancel", arguments)
    for job in jobs:
        if (job / "state").read_text(encoding="utf-8") in {"PENDING", "RUNNING"}:
            os.killpg(int((job / "process").read_text(encoding="utf-8")), signal.SIGKILL)
            set_state(job, "CANCELLED")


def scontrol(base: Path, arguments: list[str]) -> None:
    if arguments != ["show", "config"]:
        refuse("scontrol", arguments)
    print(CONFIG, end="")


def sinfo(base: Path, arguments: list[str]) -> None:
    if arguments != ["-o", "%P"]:
        refuse("sinfo", arguments)
    default, *others = PARTITIONS
    print("PARTITION", f"{default}*", *others, sep="\n")


def sacctmgr(base: Path, arguments: list[str]) -> None:
    if arguments != ["-n", "-s", "list", "user", getpass.getuser(), "format=account%256"]:
        refuse("sacctmgr", arguments)
    for account in ACCOUNTS:
        print(f"{account:>256} ")


COMMANDS = {one.__name__: one for one in (sbatch, srun, sacct, scancel, scontrol, sinfo, sacctmgr)}

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
