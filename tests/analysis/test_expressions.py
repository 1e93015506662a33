from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairway.analysis.expressions import Expression, ExpressionError

NAMES: dict[str, Any] = {"lpm": "lpm", "fcfs": "fcfs", "group": ("lpm", "fcfs")}
VECTORS = {"lpm": np.array([1.0, 2.0, 3.0]), "fcfs": np.array([3.0, 2.0, 1.0])}


def p99(policy: str, *, phase: str = "") -> Any:
    return VECTORS[policy]


def value(text: str) -> Any:
    return np.asarray(Expression(text).evaluate(NAMES, {"p99": p99})).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99(lpm) <= p99(fcfs)", [True, True, False]),
        ("p99(lpm) < 1.5 * p99(fcfs) / 1", [True, True, False]),
        ("1 < p99(lpm) <= 3", [False, True, True]),
        ("p99(lpm) == 2 or p99(lpm) > 2", [False, True, True]),
        ("not (p99(lpm) >= 2 and p99(fcfs) >= 2)", [True, False, True]),
        ("max(p99(policy) for policy in group)", [3.0, 2.0, 3.0]),
        ("min(p99(lpm), p99(fcfs))", [1.0, 2.0, 1.0]),
        ("min(p99(policy) for policy in (lpm, 'fcfs'))", [1.0, 2.0, 1.0]),
        ("count(p99(policy) >= 2 for policy in group)", [1, 2, 1]),
        ("all(p99(policy) >= 2 for policy in group)", [False, True, False]),
        ("any(p99(policy) > 2 for policy in group)", [True, False, True]),
        ("different(p99(policy) for policy in group)", [2, 1, 2]),
        ("abs(p99(lpm) - p99(fcfs))", [2.0, 0.0, 2.0]),
        ("-p99(lpm) + 1", [0.0, -1.0, -2.0]),
    ],
)
def test_expressions_work_resample_by_resample(text: str, expected: list[Any]) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "p99(lpm) <=",
        "p99(lpm) <= p99(unheard_of)",
        "p98(lpm) <= 1",
        "p99(lpm, fase='spike') <= 1",
        "p99() <= 1",
        "lpm <= 1",
        "__import__('os')",
        "(1).real",
        "[1, 2]",
        "lambda: 1",
        "p99(lpm) ** 2",
        "p99(lpm) != 2",
        "p99(lpm)[0]",
        "max(p99(p) for p in group if p)",
        "max(p99(p) for p in lpm)",
        "True",
        "1 if p99(lpm) else 2",
        "group + 1",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


def test_both_sides_of_a_comparison_can_be_shown() -> None:
    left, sign, right = Expression("p99(lpm) <= 2 * 2").sides(NAMES, {"p99": p99}) or (None, "", None)
    assert (left[0], sign, right) == (1.0, "<=", 4)
    assert Expression("all(p99(p) < 1 for p in group)").sides(NAMES, {"p99": p99}) is None
