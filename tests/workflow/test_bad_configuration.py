"""A bad configuration ends with one line, status 2 and nothing written."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairway.configuration import load_configuration
from fairway.errors import InputError

Process = subprocess.CompletedProcess[str]

VARIED = "raw-ticks"
WITH_VARIANTS = "workload_variants:\n  policies: [fcfs]\n  workloads:\n    raw-ticks: [mooncake-0.9]\n"
BAD = {  # what is replaced in quick.yaml, by what: where the fault is said to be, what the message says, what helps
    "unknown policy": ("- lpm\n", "- lpn\n", "- lpn\n", "unknown policy 'lpn'", "did you mean 'lpm'?"),
    "unknown key": ("policies:", "polices:", "polices:", "unknown key 'polices'", "did you mean 'policies'?"),
    "unknown inner key": ("budget_tokens", "budget", "budget:", "unknown key 'engine.budget'", "budget_tokens"),
    "unknown workload": (
        "- sec-flood\n",
        "- sec-floods\n",
        "- sec-floods\n",
        "unknown workload 'sec-floods'",
        "did you mean 'sec-flood'?",
    ),
    "unknown profile": (
        "modelled",
        "modeled",
        "profile:",
        "unknown profile",
        "did you mean 'a6000-llama-3.1-8b-modelled'?",
    ),
    "no number": ("2048", "many", "engine:", "engine.budget_tokens: 'many'", "config.schema.yaml"),
    "not a number": ("2048", ".nan", "engine:", "engine.budget_tokens: nan", "config.schema.yaml"),
    "no integer": ("2048", "2048.0", "engine:", "engine.budget_tokens: 2048.0", "config.schema.yaml"),
    "no seeds": ("count: 5", "count: 0", "seeds:", "seeds.count: 0", "config.schema.yaml"),
    "twice": ("- klpm-4\n", "- lpm\n", "policies:", "policies", "config.schema.yaml"),
    "key twice": (
        "bootstrap:",
        "engine: {}\nbootstrap:",
        "engine: {}",
        "key 'engine' stands twice",
        "keep one",
    ),
    "missing key": (", seed: 1}\nprofile", "}\nprofile", "corpus:", "'seed' is a required property", "quick.yaml"),
    "number as a key": ("profile:", "3:", "3:", "a key is no text", "quotes"),
    "alias": ("[sim]", "&a [*a]", "&a", "aliases are not supported", "write the value out"),
    "unknown variant": (
        VARIED,
        "raw-tocks",
        "mooncake-0.9]",
        "unknown variant 'raw-tocks'",
        "did you mean 'raw-ticks'?",
    ),
    "variant that does not suit": (VARIED, "reshuffled", "mooncake-0.9]", "unknown key 'paragraph_order'", "ticks"),
    "policy variants of one name but for case": (
        "  fairway-floor-2:",
        "  Fairway-FLOOR-0.5:",
        "  Fairway-FLOOR-0.5",
        "'Fairway-FLOOR-0.5' and 'fairway-floor-0.5' differ by case alone",
        "another name",
    ),
    "policy variant of a policy's name but for case": (
        "  fairway-floor-2:",
        "  Fairway:",
        "  Fairway:",
        "'Fairway' and 'fairway' differ by case alone",
        "another name",
    ),
    "workload variants of one name but for case": (
        "    raw-ticks: [mooncake-0.9]\n",
        "    raw-ticks: [mooncake-0.9]\n    Raw-ticks: [mooncake-0.9]\n",
        "    Raw-ticks",
        "'Raw-ticks' and 'raw-ticks' differ by case alone",
        "another name",
    ),
    "tuning seed among the seeds": (
        "seeds: {first: 1,",
        "seeds: {first: 899,",
        "seeds:",
        "seeds has seed 900, on which parameters are tuned (seeds_of.sec-dynamic-a-tuning)",
        "not among those of the tuning",
    ),
    "tuning seed among another workload's seeds": (
        "seeds_of:\n",
        "seeds_of:\n  sec-flood: {first: 895, count: 9}\n",
        "  sec-flood:",
        "seeds_of.sec-flood has seed 900, on which parameters are tuned",
        "not among those of the tuning",
    ),
    "unknown policy of variants": ("[fcfs]", "[fifo]", "[fifo]", "unknown policy 'fifo'", "fcfs"),
}


@pytest.fixture
def changed(tmp_path: Path, root: Path) -> Callable[[str, str], Path]:
    def change(old: str, new: str) -> Path:
        text = (root / "config/quick.yaml").read_text(encoding="utf-8") + WITH_VARIANTS
        assert old in text
        file = tmp_path / "mine.yaml"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        return file

    return change


@pytest.mark.parametrize("fault", BAD)
def test_fault_is_named_with_line_and_remedy(fault: str, changed: Callable[[str, str], Path], root: Path) -> None:
    old, new, where, problem, remedy = BAD[fault]
    file = changed(old, new)
    head, _, _ = file.read_text(encoding="utf-8").partition(where)
    line = head.count("\n") + 1
    with pytest.raises(InputError) as caught:
        load_configuration([file], root)
    assert (caught.value.file, caught.value.line) == (file, line)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "a: [", "a: b: c", "\t", "a: !!python/name:os.system x", "a: 2026-13-45"]
)
def test_no_mapping(text: str, tmp_path: Path, root: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_configuration([file], root)
    assert caught.value.file == file


def test_no_text(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(b"corpus: \xff\xfe")
    with pytest.raises(InputError, match="not a UTF-8 text"):
        load_configuration([file], root)
    with pytest.raises(InputError, match="cannot be read"):
        load_configuration([tmp_path / "none.yaml"], root)


def test_later_files_override_earlier_ones(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("seeds: {count: 3}\npolicies: [srpt]\n", encoding="utf-8")
    configuration = load_configuration([root / "config/quick.yaml", file], root)
    assert configuration.seeds == (1, 2, 3)
    assert configuration.policies == ("srpt",)


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("quick", 5),
        ("full", 20),
        ("second-seeds", 20),
        ("parity", 5),
        ("tiny", 2),
        ("real-subset", 5),
        ("real-sample", 5),
        ("real-conversation", 5),
    ],
)
def test_shipped_configurations_are_good(name: str, seeds: int, root: Path) -> None:
    configuration = load_configuration([root / "config/quick.yaml", root / f"config/{name}.yaml"], root)
    assert len(configuration.seeds) == seeds


@pytest.mark.parametrize("name", ["real", "real-subset", "real-sample", "real-conversation"])
def test_real_data_run_under_every_policy(name: str, root: Path) -> None:
    quick = root / "config/quick.yaml"
    real, full = (load_configuration([quick, root / f"config/{one}.yaml"], root) for one in (name, "full"))
    assert real.policies == full.policies
    if name in ("real", "real-subset"):
        assert real.workloads == tuple(workload for workload in full.workloads if not workload.startswith("sweep-"))
    else:
        assert real.workload_variants.policies == full.policies


def test_the_tuning_seed_is_refused_wherever_it_comes_from(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("# Mine\nseeds: {first: 899, count: 5}\n", encoding="utf-8")
    with pytest.raises(InputError, match="seeds has seed 900, on which parameters are tuned") as caught:
        load_configuration([root / "config/tiny.yaml", root / "config/quick.yaml", file], root)
    assert (caught.value.file, caught.value.line) == (file, 2)
    file.write_text("seeds: {first: 899, count: 1}\nseeds_of: {sweep: {first: 901, count: 3}}\n", encoding="utf-8")
    assert load_configuration([root / "config/quick.yaml", file], root).seeds == (899,)


def test_the_second_seeds_are_no_others_ones(root: Path) -> None:
    quick = root / "config/quick.yaml"
    first, second = (
        load_configuration([quick, root / f"config/{name}.yaml"], root) for name in ("full", "second-seeds")
    )
    assert not set(first.seeds) & set(second.seeds)
    assert set(second.policies) <= set(first.policies)
    assert set(second.workloads) <= set(first.workloads)


def test_the_workflow_ends_with_one_line_and_status_2(
    tmp_path: Path, changed: Callable[[str, str], Path], snakemake: Callable[..., Process]
) -> None:
    file = changed("- lpm\n", "- lpn\n")
    folder = tmp_path / "run"
    folder.mkdir()
    refused = snakemake(folder, "--cores", "1", "--configfile", str(file))
    assert refused.returncode == 2
    assert re.findall(
        r"^error: \S*mine\.yaml:\d+: unknown policy 'lpn'\. Remedy: .*$", refused.stdout, flags=re.MULTILINE
    )
    assert "Traceback" not in refused.stdout
    assert [path.name for path in folder.iterdir() if path.name != ".snakemake"] == []


def test_values_of_the_command_line_are_checked_too(tmp_path: Path, snakemake: Callable[..., Process]) -> None:
    refused = snakemake(tmp_path, "--cores", "1", "--config", "policies=[fcfs, lpn]")
    assert refused.returncode == 2
    assert "error: --config: unknown policy 'lpn'. Remedy: did you mean 'lpm'?" in refused.stdout


def test_check_config_says_what_would_run(tmp_path: Path, root: Path, script: Callable[..., Process]) -> None:
    good = script(tmp_path, "check_config.py", "--config", root / "config/tiny.yaml")
    assert good.returncode == 0
    assert good.stdout.startswith("3 policies on 2 workloads with 2 seeds")
    (tmp_path / "bad.yaml").write_text("seed: 3\n", encoding="utf-8")
    bad = script(tmp_path, "check_config.py", "--config", root / "config/tiny.yaml", "bad.yaml")
    assert bad.returncode == 2
    assert bad.stdout.startswith("error: bad.yaml:1: unknown key 'seed'. Remedy: did you mean 'seeds'?")
