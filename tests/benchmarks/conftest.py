from typing import Any

import pytest

POLICIES = ("fcfs", "fairway", "hrrn")


def replay_row(policy: str, wall_s: list[float]) -> dict[str, Any]:
    return {
        "policy": policy,
        "steps": 30,
        "longest_queue": 1_200,
        "mean_queue": 3.25,
        "busy_share": 0.6,
        "wall_s": wall_s,
        "cpu_s": wall_s,
    }


def pressure(name: str, load: float, crowd: int) -> dict[str, Any]:
    return {
        "name": name,
        "load": load,
        "crowd": crowd,
        "mean_prompt_tokens": 5_400.4,
        "mean_blocks": 338.2,
        "peer_s": [1.0, 2.0, 1.5],
        "preparing_s": [0.1, 0.1, 0.1],
        "replays": [replay_row(policy, [0.1, 0.1, 0.2]) for policy in POLICIES],
        "peer_load": {"longest_queue": 4, "mean_queue": 1.01, "busy_share": 0.11},
    }


def size(requests: int, seconds: float) -> dict[str, Any]:
    taken = {"wall_s": seconds, "cpu_s": seconds}
    return {
        "requests": requests,
        "reading": taken,
        "preparing": taken,
        "replays": [{"policy": policy, **taken} for policy in POLICIES],
        "peak_memory_mib": 1_234,
        "file_bytes": 5_000_000,
    }


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "date": "2026-01-02",
        "commit": "0123456789ab",
        "machine": {"processor": "A processor", "cores": 2, "system": "Linux", "python": "3.11", "numpy": "2.4"},
        "seed": 1,
        "python_loop_ms": [70.2, 71.8],
        "rate_1_per_s": 2.6,
        "policies": {"fcfs": "compiled", "fairway": "compiled", "hrrn": "asked"},
        "left_out": {"peek": "policy 'peek', which needs victim_rank"},
        "start_up": {"policy": "fairway", "requests": 200, "import_s": [0.5], "cold_s": 21.0, "cached_s": [1.5, 1.6]},
        "against_peer": {
            "requests": 20_000,
            "repetitions": 3,
            "peer": {"name": "aisimulate", "version": "0.13"},
            "pressures": [pressure("low load", 0.6, 0), pressure("backlog", 1.0, 10_000)],
        },
        "reading": [
            {
                "kind": kind,
                "file_bytes": 1_500_000,
                "requests": 20_000,
                "reading": {"wall_s": 2.0},
                "peak_memory_mib": 200,
            }
            for kind in ("parquet", "jsonl")
        ],
        "growth": [
            {"name": "low load", "load": 0.6, "crowd": 0, "sizes": [size(1_000, 1.0), size(4_000, 4.4)]},
            {"name": "backlog", "load": 1.0, "crowd": 10_000, "sizes": [size(1_000, 2.0), size(4_000, 8.0)]},
        ],
    }


@pytest.fixture
def ordering() -> dict[str, Any]:
    times = {"order_us": 50.0, "order_p90_us": 70.0, "added_us": 60.0, "added_p90_us": 90.0, "walk_us": 90_000.0}
    return {
        "date": "2026-01-02",
        "vllm": "0.32.0",
        "processor": "A processor",
        "python_loop_ms": [70.2, 71.8],
        "costs": [
            {"policy": policy, "waiting": waiting, "new_tokens": new_tokens, "admitted": 2.0, "steps": 300}
            | {"walk_per_order": 1_800, **times}
            for new_tokens in (1_024, 320)
            for waiting in (128, 1_024)
            for policy in ("fairway", "lpm")
        ],
    }
