"""Write envs/vllm-cpu.yaml and envs/vllm-gpu.yaml, conda twins of the lock files of vLLM's environments."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_COMMENT = """\
# vLLM's own scheduler under the replay: the conda twin of `make vllm-env`, for Linux x86-64. Made by `make lock`.
# Versions are those of requirements/vllm-torch.lock and vllm.lock; fairway itself comes from PYTHONPATH.
# vllm-cpu.post-deploy.sh takes out again what pip adds and the locks leave out.
"""
GPU_COMMENT = """\
# vLLM on a card, for measured runs (workflow/measured.smk): the same scheduler with a CUDA build of torch, for Linux
# x86-64. Made by `make lock`. Versions are those of requirements/vllm-gpu.lock; fairway itself comes from PYTHONPATH.
"""
HEAD = """\
channels: [conda-forge, nodefaults]
dependencies:
  - python=3.11
  - pip=25.3
  - pip:
"""
TORCH_FOR_CPUS = "      - --extra-index-url https://download.pytorch.org/whl/cpu\n"


def pins(name: str) -> list[str]:
    """Return the requirements of a lock file without their hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return [line.strip() for line in re.findall(r"^([a-z0-9-]+==[^\\\n]+)", text, flags=re.MULTILINE)]


def listed(*locks: str) -> str:
    """Return the requirements of ``locks`` as an environment file lists them."""
    return "".join(f'      - "{pin}"\n' for lock in locks for pin in pins(lock))


if __name__ == "__main__":
    twins = {
        "vllm-cpu.yaml": CPU_COMMENT + HEAD + TORCH_FOR_CPUS + listed("vllm-torch.lock", "vllm.lock"),
        "vllm-gpu.yaml": GPU_COMMENT + HEAD + listed("vllm-gpu.lock"),
    }
    for name, text in twins.items():
        (ROOT / "envs" / name).write_text(text, encoding="utf-8", newline="\n")
