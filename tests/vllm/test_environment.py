"""Whether the tests of this folder can run at all."""

import importlib.util

import pytest

from fairway.vllm.versions import check_version


def test_the_tested_vllm_is_installed() -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed for this Python, so no test of tests/vllm runs. To run them: make vllm-env")
    check_version()
