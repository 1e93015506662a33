"""Fingerprints of the code behind a result, so that changed code makes just the results that rest on it anew."""

import ast
import hashlib
import inspect
from pathlib import Path

from fairway.policies import make_policy

GROUND = ["errors.py", "files.py", "jsontext.py"]
POLICY_CONTRACT = [f"policies/{name}.py" for name in ("asking", "base", "registry", "rules", "score")]
ENGINE_SOURCES = [
    *GROUND,
    *POLICY_CONTRACT,
    "policies/fcfs.py",
    "cache",
    "reuse",
    "engine",
    "core",
    "profile",
    "traces",
    "hooks.py",
    "replay.py",
]
TRACE_SOURCES = [*ENGINE_SOURCES, "yamlfile.py", "calibration"]
SOURCES_SOURCES = [*GROUND, "yamlfile.py", "traces", "sources"]
REPLAY_SOURCES = [*ENGINE_SOURCES, "rows.py", "recording.py", "experiment.py"]
VLLM_SOURCES = [*REPLAY_SOURCES, "vllm"]
EXACT_SOURCES = [*GROUND, *POLICY_CONTRACT, "policies/fairway.py", "policies/lpm.py", "exact"]
BOUNDS_SOURCES = [*GROUND, "traces", "profile", "bounds"]
REGIME_SOURCES = [*GROUND, "traces", "rows.py", "regime.py"]
WATCHING_SOURCES = [*ENGINE_SOURCES, "rows.py", "exact", "watching", "analysis/wording.py", "analysis/figures"]
ANALYSIS_SOURCES = [*GROUND, "yamlfile.py", "rows.py", "analysis"]
PUBLICATION_SOURCES = [*GROUND, "yamlfile.py", "rows.py", "traces", "policies/fairway.py", "analysis", "publication"]
NOTEBOOK_SOURCES = [*REPLAY_SOURCES, *ANALYSIS_SOURCES, "policies/fairway.py", "policies/lpm.py"]
# The scripts of each stage's rules. show_claims.py is in none: it makes nothing and runs each time.
SCRIPTS = {
    "sources": ["describe_corpora", "fetch_filing", "find_sources"],
    "trace": ["build_corpus", "build_traces", "check_profile"],
    "replay": ["replay"],
    "exact": ["check_exact"],
    "bounds": ["compute_bounds"],
    "regime": ["measure_regimes"],
    "watching": ["build_queue_page", "record_queue"],
    "analysis": ["answer_claims", "compare_backends", "plot_*", "summarise", "tabulate_*"],
    "publication": ["build_paper", "publish_notebook", "render_pages"],
}


def fingerprint(package: Path, rooms: list[str], more_files: list[Path] | None = None) -> str:
    """Hash the sources of some rooms of ``package``, with their names, and of further files."""
    files = [file for room in rooms for file in _sources(package / room)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(package).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    for file in more_files or []:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def scripts_of(stage: str, folder: Path) -> list[Path]:
    """Return the files in the scripts' folder that a stage's rules run."""
    return [file for pattern in SCRIPTS[stage] for file in sorted(folder.glob(f"{pattern}.py"))]


def policy_fingerprint(package: Path, policy: str, backend: str, scripts: list[Path]) -> str:
    """Hash what a replay under ``policy`` runs: scripts, the engine, and this policy with those that it imports."""
    rooms = VLLM_SOURCES if backend == "vllm-virtual" else REPLAY_SOURCES
    source = inspect.getsourcefile(type(make_policy(policy)))
    policies = _with_imported_policies(package, Path(source)) if source else []
    return fingerprint(package, rooms, [*scripts, *policies])


def _with_imported_policies(package: Path, source: Path) -> list[Path]:
    """Return a policy's file and, over all steps, the files of the policies that it builds on."""
    found = [source]
    for file in found:  # grows while it is walked
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("fairway.policies."):
                imported = package / "policies" / f"{module.rpartition('.')[2]}.py"
                if imported not in found:
                    found.append(imported)
    return found


def _sources(room: Path) -> list[Path]:
    if room.is_file():
        return [room]
    return sorted(file for file in room.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
