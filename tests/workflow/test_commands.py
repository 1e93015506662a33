"""Every command of the README is run by a test, or marked as one that needs what no test has."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.workflow.conftest import shell

pytestmark = pytest.mark.xdist_group("dag")

GPU = "a card: the same loop is tested on a CPU, tests/measuring and tests/vllm"
NETWORK = "a network: the same is tested against a server of the test, tests/sources"
LONG = "minutes to hours: tests plan it and run its parts"
SET_UP = "a set-up that .ci/run makes before the tests"

ZIP = "tests/workflow/test_dag.py::test_make_reproduce_in_a_download_without_git"
PLANNED = "tests/workflow/test_commands.py::test_each_command_of_snakemake_is_planned_as_it_stands"
# The command as it stands in the README: the test that runs it, or why none does.
RUN_BY = {
    "make reproduce": ZIP,
    "make test": SET_UP,
    "make reproduce CONFIG=config/tiny.yaml": ZIP,
    "make report": "tests/workflow/test_report.py::test_every_result_stands_in_its_category_under_a_caption",
    "make check": "tests/analysis/test_fresh.py",
    "make check CONFIG=config/full.yaml": "tests/analysis/test_fresh.py",
    ". .venv/bin/activate": SET_UP,
    "snakemake --cores 1": PLANNED,
    "snakemake --cores 1 --use-conda": "tests/workflow/test_conda.py::test_the_same_bytes_as_without_conda",
    "snakemake --cores 2 --configfile config/full.yaml": PLANNED,
    "snakemake --cores 1 section_5_2": PLANNED,
    "snakemake --cores 1 replays": PLANNED,
    "snakemake --cores 2 --directory /somewhere/else -s Snakefile": PLANNED,
    "snakemake --configfile config/full.yaml --profile workflow/profiles/slurm": (
        "tests/workflow/test_cluster.py::test_slurm_s_plugin_reads_the_profile_beside_the_default_one"
    ),
    "docker build -t fairway .": "a network and docker",
    "docker run --rm --network none fairway": "docker",
    "make reproduce CONFIG=config/full.yaml": LONG,
    "make reproduce CONFIG=config/parity.yaml": LONG,
    "make reproduce CONFIG=config/real.yaml": NETWORK,
    "make real-env": NETWORK,
    "make reference CONFIG=...": "tests/analysis/test_scripts.py",
    "make reference CONFIG=config/second-seeds.yaml": "tests/analysis/test_scripts.py",
    "make reference CONFIG=config/quick.yaml": "tests/analysis/test_scripts.py",
    "make causes CONFIG=config/causes/<name>.yaml": "tests/analysis/test_causes.py",
    "make bench": "tests/benchmarks/test_page.py",
    "make peer-env": SET_UP,
    "make vllm-env": SET_UP,
    "make parity-full": "tests/vllm/test_campaign.py",
    "make preflight": "tests/measuring/test_day.py",
    "make measured": GPU,
    "make measured DAY=config/measured/cpu-loop.yaml": GPU,
    "make publish-measured": "tests/analysis/test_measured_page.py",
    "python -m pip wheel --no-deps --wheel-dir dist .": "tests/vllm/test_operator.py",
    "python -m pip install --no-deps dist/fairway-*.whl": "tests/vllm/test_operator.py",
    "vllm serve": "tests/vllm/test_operator.py",
    "curl -s http://localhost:8000/metrics | grep ^fairway:": "tests/vllm/test_operator.py",
    "python scripts/check_config.py --config config/quick.yaml FILE": "tests/workflow/test_bad_configuration.py",
    "python scripts/check_parity.py --case": "tests/vllm/test_campaign.py",
    "scripts/check_profile.py": "tests/workflow/test_cluster.py",
    "scripts/convert_trace.py": "tests/traces/test_trace_file.py",
    "scripts/import_trace.py": "tests/traces/test_public_formats.py",
    "scripts/measure_profile.py": "tests/vllm/test_profile.py",
    "python scripts/replay.py --help": "tests/workflow/test_scripts.py",
    "python scripts/replay.py --policy fairway --traces mine.jsonl --profile mine.toml --cache-blocks 12970"
    " --out-dir out": ("tests/workflow/test_readme.py::test_the_worked_example_of_a_policy_runs"),
    "python scripts/time_ordering.py --out-json times.json --out-csv times.csv": "tests/workflow/test_ordering_time.py",
}
STARTS = r"(?:(?:make|snakemake|docker|vllm|curl|python -m) |(?:python )?scripts/\w+\.py|\. \.venv)"


def commands(readme: str) -> list[str]:
    """Return the commands in blocks and in running text, without comments and line breaks.

    Those of the appendix's table are in tests/analysis/test_appendix.py.
    """
    head, _, rest = readme.partition("<!-- appendix table: begin -->")
    text = (head + rest.partition("<!-- appendix table: end -->")[2]).replace("\\\n", " ")
    blocks = re.findall(r"^    (\S.*)$", text, flags=re.MULTILINE)
    for block in re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL):
        blocks += block.splitlines()
    inline = re.findall(rf"`({STARTS}[^`]*)`", text)
    shown = [" ".join(re.sub(r"\s#.*", "", line).split()) for line in [*blocks, *inline]]
    # What is served with which settings is in the operator's own test; here it is one command.
    shown = ["vllm serve" if line.startswith("vllm serve") else line for line in shown]
    return sorted({line for line in shown if re.match(rf"{STARTS}", line)})


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_every_command_is_run_by_a_test_or_marked(readme: str, root: Path) -> None:
    assert commands(readme) == sorted(RUN_BY)
    for command, by in RUN_BY.items():
        file, _, function = by.partition("::")
        if file.startswith("tests/") and "," not in file:
            assert (root / file).exists(), command
            text = (root / file).read_text(encoding="utf-8")
            assert not function or f"def {function}(" in text, command
            script = re.match(r"(?:python )?scripts/(\w+)\.py", command)
            assert not script or script[1] in text, command


@pytest.mark.parametrize("command", [command for command, by in RUN_BY.items() if by == PLANNED])
def test_each_command_of_snakemake_is_planned_as_it_stands(command: str, unzipped: Path, tmp_path: Path) -> None:
    line = command.replace("/somewhere/else", shlex.quote(str(tmp_path / "else")))
    done = shell(unzipped, f"{sys.executable} -m {line} --dry-run")
    assert done.returncode == 0, done.stdout
    assert "This was a dry-run" in done.stdout
