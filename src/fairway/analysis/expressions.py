"""Checks as expressions: a small part of Python, evaluated for all resamples at once.

Allowed are numbers, strings, names, tuples, ``+ - * /``, comparisons, ``and or not``, calls by name, and
``f(... for name in group)``. Comparisons and connectives work resample by resample and always evaluate every operand.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

Value = Any  # a string, a tuple of values, a number, or a vector over resamples
Function = Callable[..., Value]


class ExpressionError(Exception):
    """An expression that is no check: wrong syntax, an unknown name, arguments that do not fit."""


_ARITHMETIC: Mapping[type[ast.operator], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: Mapping[type[ast.cmpop], Function] = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
}
_SIGNS: Mapping[ast.cmpop | type[ast.cmpop], str] = {
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.Eq: "==",
}


def _values(arguments: tuple[Value, ...]) -> list[Value]:
    """Take ``max(a, b)`` and ``max(f(x) for x in group)`` alike."""
    return list(arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments)


def highest(*values: Value) -> Value:
    """Largest value, resample by resample."""
    return reduce(np.maximum, _values(values))


def lowest(*values: Value) -> Value:
    """Smallest value, resample by resample."""
    return reduce(np.minimum, _values(values))


def every(*values: Value) -> Value:
    """Whether all are true, resample by resample."""
    return reduce(np.logical_and, _values(values))


def some(*values: Value) -> Value:
    """Whether any is true, resample by resample."""
    return reduce(np.logical_or, _values(values))


def count(*values: Value) -> Value:
    """How many are true, resample by resample."""
    return reduce(np.add, [np.asarray(value).astype(np.int64) for value in _values(values)])


def different(*values: Value) -> Value:
    """How many different values there are, resample by resample."""
    ordered = np.sort(np.stack(np.broadcast_arrays(*_values(values))), axis=0)
    return 1 + (ordered[1:] != ordered[:-1]).sum(axis=0)


def magnitude(value: Value) -> Value:
    """Absolute value, resample by resample."""
    return np.abs(value)


COMBINATORS: Mapping[str, Function] = {
    "max": highest,
    "min": lowest,
    "all": every,
    "any": some,
    "count": count,
    "different": different,
    "abs": magnitude,
}


class Expression:
    """A parsed check."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise ExpressionError(f"not an expression: {text}") from error

    def mentions(self, name: str) -> bool:
        """Say whether a name occurs anywhere in the expression."""
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(self._tree))

    def evaluate(self, names: Mapping[str, Value], functions: Mapping[str, Function]) -> Value:
        """Evaluate with these names and, beside the combinators, these functions; ExpressionError if it cannot."""
        return _Evaluator(names, {**COMBINATORS, **functions}).value(self._tree)

    def sides(self, names: Mapping[str, Value], functions: Mapping[str, Function]) -> tuple[Value, str, Value] | None:
        """Evaluate both sides of a plain comparison; None for an expression of another form."""
        if not isinstance(self._tree, ast.Compare) or len(self._tree.ops) != 1:
            return None
        evaluator = _Evaluator(names, {**COMBINATORS, **functions})
        left, right = evaluator.value(self._tree.left), evaluator.value(self._tree.comparators[0])
        return left, _SIGNS[type(self._tree.ops[0])], right


class _Evaluator:
    def __init__(self, names: Mapping[str, Value], functions: Mapping[str, Function]) -> None:
        self._names = names
        self._functions = functions

    def value(self, node: ast.expr) -> Value:
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            raise ExpressionError(f"not allowed in a check: {ast.unparse(node)}")
        return visit(node)

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float, str)):
            raise ExpressionError(f"not a number or a name: {ast.unparse(node)}")
        return node.value

    def _name(self, node: ast.Name) -> Value:
        if node.id not in self._names:
            raise ExpressionError(f"unknown name {node.id}; known: {', '.join(sorted(self._names))}")
        return self._names[node.id]

    def _tuple(self, node: ast.Tuple) -> Value:
        return tuple(self.value(element) for element in node.elts)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return np.logical_not(value)
        if isinstance(node.op, ast.USub):
            return -self._number(node.operand, value)
        raise ExpressionError(f"not allowed in a check: {ast.unparse(node)}")

    def _binop(self, node: ast.BinOp) -> Value:
        apply = _ARITHMETIC.get(type(node.op))
        if apply is None:
            raise ExpressionError(f"not allowed in a check: {ast.unparse(node)}")
        left = self._number(node.left, self.value(node.left))
        right = self._number(node.right, self.value(node.right))
        with np.errstate(divide="ignore", invalid="ignore"):
            return apply(np.asarray(left), right)

    def _compare(self, node: ast.Compare) -> Value:
        operands = [self._number(side, self.value(side)) for side in (node.left, *node.comparators)]
        results = []
        for left, sign, right in zip(operands, node.ops, operands[1:], strict=False):
            if type(sign) not in _COMPARISONS:
                raise ExpressionError(f"not allowed in a check: {ast.unparse(node)}")
            results.append(_COMPARISONS[type(sign)](left, right))
        return every(*results)

    def _boolop(self, node: ast.BoolOp) -> Value:
        values = [self.value(operand) for operand in node.values]
        return every(*values) if isinstance(node.op, ast.And) else some(*values)

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        loop = node.generators[0]
        if len(node.generators) != 1 or loop.ifs or not isinstance(loop.target, ast.Name):
            raise ExpressionError(f"only 'for name in group' is allowed: {ast.unparse(node)}")
        group = self.value(loop.iter)
        if not isinstance(group, tuple) or not group:
            raise ExpressionError(f"not a group: {ast.unparse(loop.iter)}")
        name = loop.target.id
        return tuple(_Evaluator({**self._names, name: item}, self._functions).value(node.elt) for item in group)

    def _call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name) or node.func.id not in self._functions:
            raise ExpressionError(
                f"unknown function {ast.unparse(node.func)}; known: {', '.join(sorted(self._functions))}"
            )
        function = self._functions[node.func.id]
        arguments = [self.value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        try:
            inspect.signature(function).bind(*arguments, **keywords)
        except TypeError as error:
            raise ExpressionError(f"{error} in {ast.unparse(node)}") from error
        return function(*arguments, **keywords)

    def _number(self, node: ast.expr, value: Value) -> Value:
        if isinstance(value, (str, tuple)):
            raise ExpressionError(f"a name where a number is needed: {ast.unparse(node)}")
        return value
