"""A day of measuring: what its configuration says, how long it takes, whether the machine can do it."""

import subprocess
import sys

import pytest

from fairway.errors import InputError
from fairway.measuring import preflight
from fairway.measuring.day import Cost, budget, costs, load_day

GIB = 1 << 30
SMI = "| NVIDIA-SMI 580.65.06   Driver Version: 580.65.06   CUDA Version: 13.0     |\n"


@pytest.fixture
def gpu_day(root):
    return load_day(root / "config/gpu-day.yaml", root)


@pytest.fixture
def cpu_loop(root):
    return load_day(root / "config/measured/cpu-loop.yaml", root)


def test_every_workload_of_the_configuration_is_measured(root, gpu_day):
    names = {file.stem for file in (root / "config/workloads").glob("*.yaml")} - {
        "sec-dynamic-a-tuning",
        "sec-flood-long",
        "conversation-0.9",  # no claim speaks of it
        "conversation-1.1",
    }
    assert {file.split("/")[-1].removesuffix(".yaml") for stage in gpu_day.stages for file in stage.workloads} == names


def test_the_profile_comes_first_and_takes_an_hour_at_most(root, gpu_day):
    listed = list(costs(gpu_day, root))
    assert listed[0] == Cost("profile (at most)", 1, 3600.0)
    flood = next(cost for cost in listed if cost.what == "first: sec-flood")
    assert flood.runs == 8 * 3
    assert flood.seconds == flood.runs * (30 + 5 + 120 + 30 + 150)
    assert budget(gpu_day, root).splitlines()[-1].startswith("all ")


def test_the_loop_on_a_cpu_takes_less_than_an_hour(root, cpu_loop):
    listed = list(costs(cpu_loop, root))
    assert [cost.runs for cost in listed] == [1, 3 * 5, 3 * 5, 2 * 5]
    assert sum(cost.seconds for cost in listed) < 56 * 60
    spike = listed[1]
    assert spike.seconds == 15 * (48 + 11) + 3 * 35, "servers stay up from one repeat to the next"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("policies: [fcfs, lpm, fairway]", "policies: [fcfs, lmp, fairway]"), "unknown policy 'lmp'"),
        (("cpu-spike-64.yaml", "cpu-spikes.yaml"), "there is no workload config/measured/workloads/cpu-spikes.yaml"),
        (("\nrepeats: 5", "\nrepeats: 0"), "repeats is 0, and must be at least 1"),
        (("count: 1", "count: 0"), "seeds.count is 0, and must be at least 1"),
        (("cache_blocks: 6000", "cache_blocks: -6000"), "profile.cache_blocks is -6000, and must be at least 1"),
        (("block_tokens: 32", "block_tokens: 0"), "engine.block_tokens is 0, and must be at least 1"),
        (("start_s: 35", "start_s: -3500"), "start_s is -3500, and must be at least 0"),
        (("seconds: 300", "seconds: -300"), "profile.seconds is -300, and must be at least 1"),
        (("first: 1,", "first: -1,"), "seeds.first is -1, and must be at least 0"),
        (("name: cpu-tiny-llama", "name: ../../x"), "profile.name is '../../x'"),
        (("policies: [fcfs, lpm, fairway]", "policies: []"), "each stage must have workloads and policies"),
        (("policies: [fcfs, lpm, fairway]", "policies: [peek]"), "peek"),
        (("name: then", "name: first"), "stages must each have a name of its own"),
        (("name: then", "name: claims"), "no stage may be named claims"),
        (("name: then", "name: profile"), "no stage may be named profile"),
        (("policies: [fcfs, lpm, fairway]", "policies: [fcfs, fcfs]"), "a stage names a policy twice"),
        (("max_num_seqs: 256", "max_num_seqs: 4096"), "engine.budget_tokens is below engine.max_num_seqs"),
        (("block_tokens: 32", "block_tokens: 17"), "engine.block_tokens must be a multiple of 32 on a CPU"),
        (("\nrepeats: 5", "\nrepeats: 1000000000"), "repeats is 1000000000, and must be at most 1000000"),
        (("device: cpu", "device: tpu"), "device is 'tpu'"),
        (("cpu-spike-64.yaml", "cpu-spike.yaml"), "a workload stands in two stages"),
        (("workload: cpu-flood}", "workload: cpu-fload}"), "stand_ins has cpu-fload, which no stage measures"),
    ],
)
def test_a_wrong_configuration_is_refused(root, tmp_path, change, problem):
    text = (root / "config/measured/cpu-loop.yaml").read_text(encoding="utf-8")
    assert change[0] in text
    file = tmp_path / "day.yaml"
    file.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_day(file, root)
    assert problem in str(caught.value)


def by_name(found):
    return {check.name: check for check in found}


def test_a_card_that_can_do_it(gpu_day):
    found = by_name(preflight.gpu_checks(gpu_day, "NVIDIA RTX A6000, 580.65.06, 49140, 5\n", SMI, "12.9"))
    assert all(check.holds for check in found.values()), [str(check) for check in found.values()]
    assert set(found) == {"GPU memory", "GPU is free", "driver"}


@pytest.mark.parametrize(
    ("gpus", "smi", "torch_cuda", "fails"),
    [
        ("NVIDIA A10, 580.65.06, 23028, 5", SMI, "12.9", "GPU memory"),
        ("NVIDIA RTX A6000, 580.65.06, 49140, 30000", SMI, "12.9", "GPU is free"),
        ("NVIDIA RTX A6000, 535.10, 49140, 5", SMI.replace("13.0", "12.2"), "12.9", "driver"),
        ("NVIDIA RTX A6000, 580.65.06, 49140, 5", "", "12.9", "driver"),
        ("NVIDIA RTX A6000, 580.65.06, 49140, 5", SMI, None, "driver"),
        ("", "", None, "GPU"),
    ],
)
def test_what_a_card_lacks_is_named_with_a_remedy(gpu_day, gpus, smi, torch_cuda, fails):
    failed = [check for check in preflight.gpu_checks(gpu_day, gpus, smi, torch_cuda) if not check.holds]
    assert [check.name for check in failed] == [fails]
    assert "Remedy: " in str(failed[0])


def test_memory_and_disk(gpu_day, cpu_loop):
    assert preflight.memory_check(gpu_day, 12 * GIB).holds
    assert not preflight.memory_check(gpu_day, 11 * GIB).holds
    assert preflight.memory_check(cpu_loop, 6 * GIB).holds
    assert not preflight.memory_check(cpu_loop, 5 * GIB).holds, "three servers' caches lie in the host's memory"
    assert preflight.disk_check(10 * GIB).holds
    assert not preflight.disk_check(9 * GIB).holds


def test_the_weights_are_those_of_eight_billion():
    assert preflight.weight_bytes("llama-3.1-8b") == pytest.approx(16.06e9, rel=0.001)


def test_the_script_prints_hours_and_checks(root):
    command = [sys.executable, root / "scripts/preflight.py", "--day", root / "config/measured/cpu-loop.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines[0] == "Time on the device, about:"
    assert any(line.startswith("all ") and line.endswith(" h") for line in lines)
    checks = [line.partition(":")[0].split() for line in lines[-3:]]
    assert [name for _, name in checks] == ["versions", "disk", "memory"]
    assert done.returncode == (2 if "FAILED" in {state for state, _ in checks} else 0)
