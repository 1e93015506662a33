"""Write envs/vllm-cpu.yaml, the conda twin of .venv-vllm, from the two lock files that `make vllm-env` installs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "envs/vllm-cpu.yaml"
HEAD = """\
# vLLM's own scheduler under the replay: the conda twin of `make vllm-env`, for Linux x86-64. Made by `make lock`.
# Versions are those of requirements/vllm-torch.lock and vllm.lock; fairway itself comes from PYTHONPATH.
# vllm-cpu.post-deploy.sh takes out again what pip adds and the locks leave out.
channels: [conda-forge, nodefaults]
dependencies:
  - python=3.11
  - pip=25.3
  - pip:
      - --extra-index-url https://download.pytorch.org/whl/cpu
"""


def pins(name: str) -> list[str]:
    """Return the requirements of a lock file without their hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return [line.strip() for line in re.findall(r"^([a-z0-9-]+==[^\\\n]+)", text, flags=re.MULTILINE)]


def twin() -> str:
    """Return the text of the environment file."""
    return HEAD + "".join(f'      - "{pin}"\n' for pin in [*pins("vllm-torch.lock"), *pins("vllm.lock")])


if __name__ == "__main__":
    TARGET.write_text(twin(), encoding="utf-8", newline="\n")
