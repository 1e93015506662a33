"""The rooms of docs/architecture.md and who may know whom."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.policies import policy_names

GROUND = {"errors", "files", "command", "jsontext", "progress", "yamlfile"}
# Room: the rooms that it may know besides the ground floor. A room that is not here may not be.
KNOWS: dict[str, set[str]] = {
    **{room: set() for room in GROUND},
    "traces": set(),
    "sources": {"traces"},
    "profile": set(),
    "policies": set(),
    "cache": set(),
    "reuse": set(),
    "rows": set(),
    "analysis": {"rows"},
    "publication": {"analysis", "policies", "traces"},
    "engine": {"policies", "cache", "reuse"},
    "exact": {"policies"},
    "hooks": {"policies"},
    "core": {"engine", "hooks", "traces", "profile", "policies"},
    "vllm": {"engine", "cache", "reuse", "policies", "profile"},
    "replay": {"core", "engine", "hooks", "traces", "profile", "policies"},
    "recording": {"replay", "hooks", "rows", "traces", "profile", "policies"},
    "bounds": {"traces", "profile"},
    "ordering_time": {"policies"},
    "calibration": {"replay", "core", "engine", "traces", "profile", "policies"},
    "parity": {"vllm", "replay", "engine", "traces", "profile", "policies"},
    "experiment": {"vllm", "recording", "replay", "engine", "rows", "traces", "profile", "policies"},
    "regime": {"rows", "traces"},
    "watching": {"replay", "engine", "exact", "rows", "analysis", "traces", "profile", "policies"},
    "serving": {"vllm", "engine", "traces"},
    "measuring": {"hooks", "policies", "vllm", "serving", "recording", "replay", "rows", "engine", "traces", "profile"},
    "configuration": {"policies", "profile", "traces"},
}
CONTRACT = {  # what an engine may know of the policies
    *("Capability", "Column", "Policy", "QueueView"),
    *("checked_order", "checked_victim_rank", "drawn_together", "tell_of", "tell_of_hook"),
}
RULES = {  # and the core of these, too
    *("ByArrival", "ByCountedScore", "ByScore", "Draws", "EveryK", "HEAD_TOKENS", "HeadGroup", "Rule", "RulePolicy"),
    *("Score", "StandingList", "Turns", "TwoLanes"),
}
BLIND = {"engine", "core", "replay", "cache", "reuse", "vllm"}  # rooms that know no policy by name
# Where an operator's settings are read: there a policy has a name, and the plugin a default one.
READS_SETTINGS = {"fairway.vllm.plugin.settings"}
OF_VLLM = {"vllm", "torch"}
BARE = ["cache", "engine", "exact", "policies", "profile", "reuse", "traces", "vllm"]

SOURCES = Path(__file__).resolve().parents[1] / "src"
FILES = sorted((SOURCES / "fairway").rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the module and the name in it of every import from fairway."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def imported_modules(tree: ast.Module) -> set[str]:
    wanted = set()
    for module, name in imports(tree):
        wanted.add(f"{module}.{name}" if f"{module}.{name}" in MODULES else module)
    return {module for module in wanted if module.startswith("fairway.")}


def top(module: str) -> str:
    return module.split(".")[0]


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("module", MODULES)
def test_a_room_knows_only_what_it_may(module: str) -> None:
    here = room(module)
    if here:
        assert here in KNOWS, f"{here} has no floor: give it one in docs/architecture.md and here"
        known = {room(other) for other in imported_modules(MODULES[module])} - {here}
        assert known <= KNOWS[here] | GROUND


def test_every_room_is_described(root: Path) -> None:
    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {room(module) for module in MODULES} - {""}
    assert [name for name in sorted(rooms) if f"`{name}.py`" not in text and f"`{name}/`" not in text] == []


def test_no_circles() -> None:
    graph = {module: imported_modules(tree) - {module} for module, tree in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    "module", [module for module in MODULES if room(module) in BLIND and module not in READS_SETTINGS]
)
def test_the_engine_knows_no_policy_by_name(module: str) -> None:
    tree = MODULES[module]
    allowed = CONTRACT | RULES if room(module) == "core" else CONTRACT
    assert {name for source, name in imports(tree) if source.startswith("fairway.policies")} <= allowed
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert texts & set(policy_names()) == set()


def test_only_its_own_room_imports_vllm() -> None:
    users = {room(name) for name, tree in MODULES.items() for module, _ in imports(tree) if top(module) in OF_VLLM}
    assert users == {"vllm"}


@pytest.mark.parametrize(("package", "needs"), [*((name, ()) for name in BARE), ("replay", ("numba", "llvmlite"))])
def test_what_runs_beside_a_server_imports_with_numpy_alone(package: str, needs: tuple[str, ...]) -> None:
    code = f"""
import importlib.metadata, sys

class OnlyNumpy:
    outside = set(importlib.metadata.packages_distributions()) - {{"numpy", "fairway", *{needs}}}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.outside:
            raise ModuleNotFoundError(f"{{name}} is not numpy")

assert "yaml" in OnlyNumpy.outside
sys.meta_path.insert(0, OnlyNumpy())
import fairway.{package}
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", sorted((SOURCES.parent / "scripts").glob("*.py")), ids=lambda path: path.name)
def test_a_script_only_parses_arguments(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert [node for node in ast.walk(tree) if isinstance(node, ast.While | ast.ClassDef | ast.Try)] == []
    assert text.endswith('if __name__ == "__main__":\n    run(main)\n')
    libraries = {module.split(".")[0] for module, _ in imports(tree)} - sys.stdlib_module_names
    assert libraries <= {"fairway", "yaml"}
