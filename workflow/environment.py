"""What the workflow's jobs find in their environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from snakemake.notebook import JupyterNotebook, PythonJupyterNotebook
from snakemake.settings.types import DeploymentMethod, DeploymentSettings

from made_by import made_by


def use_sources(base: Path, deployment: DeploymentSettings) -> bool:
    """Let a rule's `python` be the one that runs Snakemake, `fairway` the one in ``base``/src, $SCRIPTS its scripts.

    Compiled code is kept in the working directory, unless NUMBA_CACHE_DIR names another folder.

    $VLLM_PYTHON is the Python that has vLLM: the one of `make vllm-env`, or another that FAIRWAY_VLLM_PYTHON names.
    $COMMIT is the repository's, for the record.

    Under --use-conda the activated environment puts its own Python before ours; `fairway` still comes from PYTHONPATH.
    So the package needs no installation in any of the environments; Snakemake is told to leave PYTHONPATH there.

    Returns:
        whether jobs run in conda environments.
    """
    in_conda = DeploymentMethod.CONDA in deployment.deployment_method
    deployment.conda_not_block_search_path_envvars = True
    os.environ.update(
        PATH=_prepended(str(Path(sys.executable).parent), "PATH"),
        PYTHONPATH=_prepended(str(base / "src"), "PYTHONPATH"),
        SCRIPTS=str(base / "scripts"),
        NUMBA_CACHE_DIR=os.environ.get("NUMBA_CACHE_DIR") or str(Path(".snakemake/numba").resolve()),
        # A user's own kernels and settings are not the notebook's, nor the figures'; there may be no home at all.
        MPLCONFIGDIR=str(Path(".snakemake/matplotlib").resolve()),
        JUPYTER_DATA_DIR=str(Path(".snakemake/jupyter").resolve()),
        JUPYTER_CONFIG_DIR=str(Path(".snakemake/jupyter").resolve()),
        JUPYTER_CONFIG_PATH=str(base / "workflow/notebooks"),  # talk to the kernel without a network, not even loopback
        VLLM_PYTHON="python" if in_conda else _vllm_python(base),
        COMMIT=made_by(base)["commit"],  # as no parameter of a job: another commit alone makes nothing anew
        PYTHONUNBUFFERED="1",  # a job's progress is seen at once, also through `tee`
    )
    return in_conda


def is_compiled() -> bool:
    """Say whether compiled code is kept from an earlier run."""
    return any(Path(os.environ["NUMBA_CACHE_DIR"]).glob("fairway-core-*/*"))


def quote_folder_of_notebooks() -> None:
    """Let a notebook run in a folder with a quote in its name: Snakemake 9 puts the name between quotes as it is."""
    preamble_of = PythonJupyterNotebook.get_preamble

    def get_preamble(notebook: PythonJupyterNotebook) -> str:
        folder = str(Path.cwd())
        return str(preamble_of(notebook)).replace(f"os.chdir(r'{folder}')", f"os.chdir({folder!r})")

    PythonJupyterNotebook.get_preamble = get_preamble


def execute_notebooks_by_nbconvert() -> None:
    """Answer that there is no papermill, which no environment here has: the shell that is asked says so aloud."""
    execute = JupyterNotebook._execute_cmd

    def execute_cmd(notebook: JupyterNotebook, cmd: str, **options: Any) -> Any:
        if cmd == "papermill --version":
            raise subprocess.CalledProcessError(127, cmd)
        return execute(notebook, cmd, **options)

    JupyterNotebook._execute_cmd = execute_cmd


def missing_vllm(base: Path) -> str | None:
    """Say in one line that there is no Python with vLLM; None if there is one."""
    python = _vllm_python(base)
    if shutil.which(python):
        return None
    return (
        f"vLLM's environment is needed, and {os.path.relpath(python)} is missing. Remedy: make vllm-env, or name "
        "another Python that has vLLM in FAIRWAY_VLLM_PYTHON, or run with --use-conda"
    )


def _vllm_python(base: Path) -> str:
    return os.environ.get("FAIRWAY_VLLM_PYTHON") or str(base / ".venv-vllm/bin/python")


def _prepended(folder: str, name: str) -> str:
    return os.pathsep.join(filter(None, [folder, os.environ.get(name)]))
