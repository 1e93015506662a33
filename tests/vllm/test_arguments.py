"""Every command that is meant for a card passes vLLM's own argument parser."""

from pathlib import Path

import pytest
from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser

from fairway.engine import Limits
from fairway.measuring.day import load_day
from fairway.serving import Serving
from fairway.vllm.models import model_folder
from fairway.vllm.plugin.settings import PluginSettings

ROOT = Path(__file__).parents[2]
GPU_DAY = load_day(ROOT / "config/gpu-day.yaml", ROOT)
POLICIES = sorted({policy for stage in GPU_DAY.stages for policy in stage.policies})


def serving(policy: str | None) -> Serving:
    """Return the server of the day, with the plugin only where a policy is given."""
    limits = Limits(GPU_DAY.profile.cache_blocks, **vars(GPU_DAY.engine))
    return Serving(limits, policy, GPU_DAY.model, GPU_DAY.device)


def parsed(arguments: list[str]) -> AsyncEngineArgs:
    parser = make_arg_parser(FlexibleArgumentParser())
    found = parser.parse_args(arguments)
    validate_parsed_serve_args(found)
    return AsyncEngineArgs.from_cli_args(found)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_server_of_the_day(policy):
    engine = parsed(serving(policy).arguments(port=8000))
    assert engine.scheduler_cls == "fairway.vllm.plugin.FairwayScheduler"
    settings = PluginSettings.of(engine.additional_config)
    assert settings.make_policy().name == policy
    assert engine.num_gpu_blocks_override == 12970
    assert engine.max_num_batched_tokens == 2048
    assert engine.load_format == "dummy"
    assert engine.block_size == 16
    assert engine.model == str(model_folder("llama-3.1-8b"))
    assert not engine.enforce_eager, "a card runs with its graphs"


def test_a_server_without_the_plugin():
    assert parsed(serving(None).arguments(port=8000)).scheduler_cls is None


def test_the_engine_whose_steps_are_timed():
    engine = EngineArgs(**serving(None).stepped_arguments())
    served = parsed(serving(None).arguments(port=8000))
    same = ("model", "dtype", "load_format", "max_model_len", "block_size", "num_gpu_blocks_override")
    same += ("max_num_batched_tokens", "max_num_seqs", "enforce_eager", "skip_tokenizer_init")
    assert {name: getattr(engine, name) for name in same} == {name: getattr(served, name) for name in same}
    with pytest.raises(TypeError):
        EngineArgs(**serving(None).stepped_arguments(), no_such_argument=1)


def test_an_unknown_argument_is_refused():
    with pytest.raises(SystemExit):
        parsed([*serving("fcfs").arguments(port=8000), "--no-such-argument"])
