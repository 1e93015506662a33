"""Every command of the README is run by a test, or the README says beside it what no test has."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workflow.conftest import shell

pytestmark = pytest.mark.xdist_group("commands")

ZIP = "tests/workflow/test_dag.py::test_make_reproduce_in_a_download_without_git"
CHECK = "tests/workflow/test_dag.py::test_make_check_names_an_edited_result"
SMALL = "tests/workflow/test_commands.py::test_a_small_run_goes_through_the_same_command"
LONG = "tests/workflow/test_long_commands.py::"
ACTIVATED = "tests/workflow/test_commands.py::test_the_environment_is_activated"
BEFORE_THE_TESTS = ".ci/run"
# The command as it stands in the README, and what runs it; of a whole run `SMALL_RUNS` has what runs in its place.
RUN_BY = {
    "make reproduce": f"{LONG}test_the_first_command_sets_up_and_reproduces",
    "make test": BEFORE_THE_TESTS,
    "make reproduce CONFIG=config/tiny.yaml": ZIP,
    "make report": SMALL,
    "make check": CHECK,
    ". .venv/bin/activate": ACTIVATED,
    "snakemake --cores 1": SMALL,
    "snakemake --cores 1 --use-conda": "tests/workflow/test_conda.py::test_the_same_bytes_as_without_conda",
    "snakemake --cores 2 --configfile config/full.yaml": SMALL,
    "snakemake --cores 1 section_5_2": SMALL,
    "snakemake --cores 1 replays": SMALL,
    "snakemake --cores 2 --directory /somewhere/else -s Snakefile": SMALL,
    "pip install snakemake-executor-plugin-slurm": (
        "tests/workflow/test_cluster.py::test_slurm_s_plugin_is_what_pip_installs"
    ),
    "snakemake --configfile config/full.yaml --profile workflow/profiles/slurm": (
        "tests/workflow/test_cluster.py::test_everything_comes_from_slurm_with_the_same_bytes"
    ),
    "docker build -t fairway .": "tests/workflow/test_docker.py::test_the_container_reproduces_without_a_network",
    "docker run --rm --network none fairway": (
        "tests/workflow/test_docker.py::test_the_container_reproduces_without_a_network"
    ),
    "make reference CONFIG=...": SMALL,
    "make reference CONFIG=config/second-seeds.yaml": SMALL,
    "make reference CONFIG=config/quick.yaml": SMALL,
    "make causes CONFIG=config/causes/<name>.yaml": SMALL,
    "make reproduce CONFIG=config/full.yaml": SMALL,
    "make check CONFIG=config/full.yaml": SMALL,
    "make reproduce CONFIG=config/parity.yaml": f"{LONG}test_both_backends_agree",
    "make parity-full": f"{LONG}test_random_cases_are_compared",
    "make bench": f"{LONG}test_benchmarks_end_in_their_page",
    "make measured DAY=config/measured/cpu-loop.yaml": f"{LONG}test_a_day_on_this_processor",
    "make real-env": f"{LONG}test_real_data_come_from_where_the_settings_say",
    "make reproduce CONFIG=config/real.yaml": f"{LONG}test_real_data_come_from_where_the_settings_say",
    "make peer-env": BEFORE_THE_TESTS,
    "make vllm-env": BEFORE_THE_TESTS,
    "make preflight": "tests/workflow/test_commands.py::test_make_preflight_says_what_a_python_with_vllm_finds",
    "make publish-measured": "tests/analysis/test_measured_page.py::test_make_keeps_the_files_and_shows_them",
    "python -m pip wheel --no-deps --wheel-dir dist .": "tests/vllm/test_operator.py",
    "python -m pip install --no-deps dist/fairway-*.whl": "tests/vllm/test_operator.py",
    "vllm serve": "tests/vllm/test_operator.py::test_one_flag_makes_a_fairway_server",
    "curl -s http://localhost:8000/metrics | grep ^fairway:": (
        "tests/vllm/test_operator.py::test_one_flag_makes_a_fairway_server"
    ),
    "python scripts/check_config.py --config config/quick.yaml FILE": "tests/workflow/test_bad_configuration.py",
    "python scripts/check_parity.py --case": "tests/vllm/test_campaign.py::test_the_script_runs_a_case_again",
    "scripts/check_profile.py": "tests/workflow/test_cluster.py",
    "scripts/convert_trace.py": "tests/traces/test_trace_file.py",
    "scripts/import_trace.py": "tests/traces/test_public_formats.py",
    "scripts/measure_profile.py": "tests/vllm/test_profile.py",
    "python scripts/replay.py --help": "tests/workflow/test_scripts.py::test_help",
    "python scripts/replay.py --policy fairway --traces mine.jsonl --profile mine.toml --cache-blocks 12970"
    " --out-dir out": "tests/workflow/test_readme.py::test_a_trace_and_a_profile_of_one_s_own_are_replayed",
    "python scripts/time_ordering.py --out-json times.json --out-csv times.csv": (
        "tests/workflow/test_ordering_time.py::test_the_script_notes_the_machine"
    ),
}
# The command as it stands in the README: what it needs and no test has. The README says so beside it, in this word.
MARKED = {
    "make measured": "GPU",
}
TINY = "--configfile config/tiny.yaml"
# What runs in place of a command whose own run would be long, in this order in one folder, and a file that it makes.
SMALL_RUNS = {
    "snakemake --cores 1 replays": (
        f"snakemake --cores 1 replays {TINY}",
        "results/rows/sim/sec-flood/fairway/seal.json",
    ),
    "snakemake --cores 1 section_5_2": (
        f"snakemake --cores 1 section_5_2 {TINY}",
        "results/section_5_2/claims.md",
    ),
    "snakemake --cores 1": (f"snakemake --cores 1 {TINY}", "results/tables/claims.md"),
    "snakemake --cores 2 --configfile config/full.yaml": (f"snakemake --cores 2 {TINY}", "results/tables/claims.md"),
    "snakemake --cores 2 --directory /somewhere/else -s Snakefile": (
        f"snakemake --cores 2 --directory ../else -s Snakefile {TINY}",
        "../else/results/tables/claims.md",
    ),
    "make report": ("make report CONFIG=config/tiny.yaml", "results/report.html"),
    "make reference CONFIG=...": (
        "make reference CONFIG=config/tiny.yaml CORES=2",
        "docs/reference/tiny/reference.json",
    ),
    "make reference CONFIG=config/second-seeds.yaml": (
        "sed 's/^seeds:.*/seeds: {first: 101, count: 2}/' config/tiny.yaml > config/second-seeds.yaml; "
        "make reference CONFIG=config/second-seeds.yaml CORES=2",
        "docs/reference/second-seeds/reference.json",
    ),
    "make reference CONFIG=config/quick.yaml": (
        "cp config/tiny.yaml config/quick.yaml; make reference CONFIG=config/quick.yaml CORES=2",
        "docs/reference/quick/reference.json",
    ),
    "make reproduce CONFIG=config/full.yaml": (
        "cp config/tiny.yaml config/full.yaml; make reproduce CONFIG=config/full.yaml CORES=2",
        "results/report.html",
    ),
    "make check CONFIG=config/full.yaml": (
        "make reference CONFIG=config/full.yaml CORES=2; make check CONFIG=config/full.yaml CORES=2",
        "docs/reference/full/reference.json",
    ),
    "make causes CONFIG=config/causes/<name>.yaml": (
        "mv causes.yaml paper; cp config/tiny.yaml config/causes; make causes CONFIG=config/causes/tiny.yaml CORES=2",
        "docs/causes/spike-latency.json",
    ),
}
CAUSES = """\
causes:
  - claim: spike-latency
    says: ["Fairway's median is {p50_s} here.", "It hits {hit_pct} of the tokens."]
    configuration: config/causes/tiny.yaml
    figures:
      p50_s: {expression: p50(fairway), workload: sec-dynamic-a}
      hit_pct: {expression: 100 * hit_rate(fairway), workload: sec-dynamic-a}
"""
STARTS = r"(?:(?:bash|curl|docker|git|make|pip|python|sh|snakemake|vllm) |(?:python )?scripts/\w+\.py|\. \.venv|\./)"


def without_appendix(readme: str) -> str:
    """Leave out the appendix's table, all of whose commands are run by a test of test_long_commands.py."""
    head, _, rest = readme.partition("<!-- appendix table: begin -->")
    return head + rest.partition("<!-- appendix table: end -->")[2]


def code(readme: str) -> list[str]:
    """Return the lines of all blocks that are no program or settings, with their comments."""
    text = without_appendix(readme).replace("\\\n", " ")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    shown = [line for kind, block in fenced if kind not in {"python", "toml"} for line in block.splitlines()]
    return [*re.findall(r"^    (\S.*)$", indented, flags=re.MULTILINE), *shown]


def commands(readme: str) -> list[str]:
    """Return the commands in blocks and in running text, without comments and line breaks."""
    inline = re.findall(rf"`({STARTS}[^`]*)`", without_appendix(readme))
    shown = [without_comment(line) for line in [*code(readme), *inline]]
    # What is served with which settings is in the operator's own test; here it is one command.
    return sorted({"vllm serve" if line.startswith("vllm serve") else line for line in shown})


def without_comment(line: str) -> str:
    return " ".join(re.sub(r"\s#.*", "", line).split())


def beside(command: str, readme: str) -> str:
    """Return what the README says around a command: its line's comment, or the paragraph that it stands in or ends."""
    comments = [line.partition(" #")[2] for line in code(readme) if without_comment(line) == command]
    paragraphs = re.split(r"\n\n(?!    )", without_appendix(readme))
    here = r"(?<=[` ])" + r"\s".join(map(re.escape, command.split())) + r"(?![^`\n])"
    around = [re.sub(here, "", one) for one in paragraphs if re.search(here, one)]
    return " ".join([comment for comment in comments if comment] or around)


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_every_command_is_run_by_a_test_or_marked(readme: str, root: Path) -> None:
    assert commands(readme) == sorted([*RUN_BY, *MARKED])
    for command, by in RUN_BY.items():
        file, _, function = by.partition("::")
        text = (root / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, command
        assert file != BEFORE_THE_TESTS or re.search(rf"\b{command}$", text, flags=re.MULTILINE), command
        target = re.match(r"make ([\w-]+)", command)
        assert not target or re.search(rf"\bmake\W+(?:{target[1]}\b|{{target}})", text), command
        script = re.match(r"(?:python )?scripts/(\w+)\.py", command)
        assert not script or script[1] in text or function == "test_help", command


@pytest.mark.parametrize(
    "line", ["    make everything # at once", "```bash\n./new.sh\n```", "```\nls\n```", "and `pip install x`,"]
)
def test_a_new_command_is_seen(line: str, readme: str) -> None:
    assert set(commands(f"{readme}\n{line}\n")) > set(commands(readme))


@pytest.mark.parametrize("command", MARKED)
def test_the_readme_says_beside_a_command_what_no_test_has(command: str, readme: str) -> None:
    said = beside(command, readme)
    assert re.search(rf"\b{MARKED[command]}\b", said), said


def test_a_command_without_a_word_beside_it_is_seen() -> None:
    assert beside("make bench", "It takes minutes.\n\nThen `make bench` measures.\n") == "Then `` measures.\n"
    assert beside("make bench", "So:\n\n    make bench # hours\n\nMinutes.") == " hours"
    assert "network" in beside("make bench", "With a network:\n\n    make bench\n\nMinutes.")


def test_each_script_that_make_calls_where_only_the_whole_takes_long_is_run_by_a_test(root: Path) -> None:
    files = [file for file in (root / "tests").rglob("*.py") if file != Path(__file__)]
    tested = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for command in [command for command in MARKED if command.startswith("make ")]:
        line = [*command.split(), "--dry-run", f"PYTHON={sys.executable}"]
        planned = subprocess.run(line, cwd=root, capture_output=True, text=True, encoding="utf-8", check=True).stdout
        for name in re.findall(r"scripts/(\w+)\.py", planned):
            assert re.search(rf"""["/ ]{name}(?:\.py)?["' ]""", tested), (command, name)


def test_the_environment_is_activated(tmp_path: Path) -> None:
    made = shell(tmp_path, f"{shlex.quote(sys.executable)} -m venv --without-pip .venv")
    assert made.returncode == 0, made.stdout
    assert shell(tmp_path, ". .venv/bin/activate; command -v python").stdout.strip() == f"{tmp_path}/.venv/bin/python"


@pytest.mark.parametrize("command", [command for command in SMALL_RUNS if command.startswith("snakemake ")])
def test_each_command_of_snakemake_is_planned_as_it_stands(command: str, unzipped: Path, tmp_path: Path) -> None:
    line = command.replace("/somewhere/else", shlex.quote(str(tmp_path / "else")))
    done = shell(unzipped, f"{shlex.quote(sys.executable)} -m {line} --dry-run")
    assert done.returncode == 0, done.stdout
    assert "This was a dry-run" in done.stdout


@pytest.fixture(scope="module")
def checkout(copied: Path) -> Path:
    """Give a download to be written to by every command."""
    (copied / "causes.yaml").write_text(CAUSES, encoding="utf-8")
    return copied


def test_each_command_that_a_small_run_stands_for_has_one() -> None:
    assert {command for command, by in RUN_BY.items() if by == SMALL} == SMALL_RUNS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("command", SMALL_RUNS)
def test_a_small_run_goes_through_the_same_command(command: str, checkout: Path) -> None:
    line, made = SMALL_RUNS[command]
    before = (checkout / made).stat().st_mtime_ns if (checkout / made).exists() else None
    done = shell(checkout, re.sub(r"^snakemake ", f"{shlex.quote(sys.executable)} -m snakemake ", line))
    assert done.returncode == 0, done.stdout
    assert (checkout / made).is_file()
    is_there_already = line == f"snakemake --cores 2 {TINY}"  # by the one before it
    assert is_there_already or (checkout / made).stat().st_mtime_ns != before


def preflight(checkout: Path, python: Path) -> subprocess.CompletedProcess[str]:
    day = "DAY=config/measured/cpu-loop.yaml"
    return shell(checkout, f"make preflight {day} FAIRWAY_VLLM_PYTHON={shlex.quote(str(python))}")


def test_make_preflight_prints_hours_and_refuses_a_python_without_vllm(checkout: Path) -> None:
    done = preflight(checkout, checkout / ".venv/bin/python")
    assert "\nTime on the device, about:\n" in done.stdout
    assert re.search(r"^FAILED +versions: ", done.stdout, flags=re.MULTILINE)
    assert done.returncode == 2


def test_make_preflight_says_what_a_python_with_vllm_finds(checkout: Path, root: Path) -> None:
    if not (root / ".venv-vllm/.installed").is_file():
        end = pytest.fail if os.environ.get("FAIRWAY_REQUIRE_VLLM") else pytest.skip
        end("there is no .venv-vllm: make vllm-env")
    done = preflight(checkout, root / ".venv-vllm/bin/python")
    assert re.search(r"^ok +versions: the tested vLLM", done.stdout, flags=re.MULTILINE)
    too_little = re.findall(r"^FAILED +(\w+)", done.stdout, flags=re.MULTILINE)  # memory or disk, on a small machine
    assert done.returncode == (2 if too_little else 0), done.stdout
