"""A score function as a program that compiled code runs: the same function, not a second copy of it.

The function is called once with symbols in place of columns. Being written in arithmetic and numpy's ufuncs, it leaves
behind which operations it consists of. numpy says itself of which type each result is. What does not depend on the
clock is computed when a request's hit changes and kept; the rest is computed for the whole queue at a hook. Every
operation is one that IEEE 754 or integer arithmetic defines exactly, so the results are those of the function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.lib.mixins
import numpy.typing as npt

from fairway.core.compiling import inner, int64
from fairway.policies import Score

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]

# Rows of the queue's columns.
ARRIVAL_NS, N_TOKENS, HIT_TOKENS, PREFILL_NS, HEAD_ID, REQUEST_ID, REMAINING_NS = range(7)
COLUMNS = {
    "arrival_ns": ARRIVAL_NS,
    "n_tokens": N_TOKENS,
    "hit_tokens": HIT_TOKENS,
    "prefill_ns": PREFILL_NS,
    "head_id": HEAD_ID,
    "request_id": REQUEST_ID,
    "remaining_ns": REMAINING_NS,
}
KEY = 7  # under which a request is ordered, highest first
HOOKS_BEFORE, EXECUTED_BEFORE = 8, 9  # what two clocks showed at the first hook that saw a request
PASSED = 10  # how many later arrivals were admitted since
KEPT = 11  # and what follows: whole numbers that a score keeps of a request

CLOCKS = 3  # what changes for all requests alike, each with a register
NOW, HOOKS, EXECUTED = range(CLOCKS)

(
    CLOCK,
    LOAD_INT,
    LOAD_FLOAT,
    KEEP_INT,
    KEEP_FLOAT,
    TO_FLOAT,
    ADD_INT,
    SUBTRACT_INT,
    MULTIPLY_INT,
    MAXIMUM_INT,
    MINIMUM_INT,
    NEGATIVE_INT,
    ABSOLUTE_INT,
    ADD_FLOAT,
    SUBTRACT_FLOAT,
    MULTIPLY_FLOAT,
    DIVIDE_FLOAT,
    MAXIMUM_FLOAT,
    MINIMUM_FLOAT,
    NEGATIVE_FLOAT,
    ABSOLUTE_FLOAT,
    KEY_OF_INT,
    KEY_OF_FLOAT,
    FLOOR_DIVIDE_INT,
) = range(24)

_OF_INTS: dict[np.ufunc, int] = {
    np.add: ADD_INT,
    np.subtract: SUBTRACT_INT,
    np.multiply: MULTIPLY_INT,
    np.maximum: MAXIMUM_INT,
    np.minimum: MINIMUM_INT,
    np.negative: NEGATIVE_INT,
    np.absolute: ABSOLUTE_INT,
    np.floor_divide: FLOOR_DIVIDE_INT,
}
_OF_FLOATS: dict[np.ufunc, int] = {
    np.add: ADD_FLOAT,
    np.subtract: SUBTRACT_FLOAT,
    np.multiply: MULTIPLY_FLOAT,
    np.true_divide: DIVIDE_FLOAT,
    np.maximum: MAXIMUM_FLOAT,
    np.minimum: MINIMUM_FLOAT,
    np.negative: NEGATIVE_FLOAT,
    np.absolute: ABSOLUTE_FLOAT,
}
_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)

GONE = -(2**63)  # the key of a place in the queue whose request has left
NOT_A_NUMBER = GONE + 1  # below every number, as numpy sorts it
CHUNK = 512  # requests that the clock's part of a program takes at once; its registers fit into the first cache


class NotPlainError(Exception):
    """A score that is more than arithmetic on columns; the text says what."""


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """What a score function computes with while it is followed: an operation, its arguments, and its type."""

    def __init__(self, operation: int, arguments: tuple[Any, ...], sample: npt.NDArray[Any] | int) -> None:
        self.operation = operation
        self.arguments = arguments  # symbols and numbers; of a column: its row; of a clock: which
        self.sample = sample  # what numpy derives types from: an array without elements, a clock is a number

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Symbol:
        if method != "__call__" or options:
            raise NotPlainError(f"numpy.{ufunc.__name__} is used as more than an operation on columns")
        if not any(isinstance(one, Symbol) and one.operation != CLOCK for one in inputs):
            raise NotPlainError("it computes with the clock alone, which Python does in its own way")
        with np.errstate(all="ignore"):
            sample = ufunc(*(one.sample if isinstance(one, Symbol) else one for one in inputs))
        known = _OF_INTS if sample.dtype == _INT else _OF_FLOATS
        if sample.dtype not in (_INT, _FLOAT) or ufunc not in known:
            raise NotPlainError(f"numpy.{ufunc.__name__} giving {sample.dtype} has no compiled form")
        return Symbol(known[ufunc], tuple(_argument(one, sample.dtype) for one in inputs), sample)

    @cached_property
    def as_float(self) -> Symbol:
        """Return it as a floating-point number."""
        return Symbol(TO_FLOAT, (self,), np.empty(0)) if self.is_int else self

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise NotPlainError("it decides by values, not by arithmetic")

    @property
    def is_int(self) -> bool:
        """Whether it stands for whole numbers."""
        return self.operation == CLOCK or np.asarray(self.sample).dtype == _INT


def _argument(value: Any, dtype: np.dtype[Any]) -> Symbol | int | float:
    if isinstance(value, Symbol):
        return value if dtype == _INT else value.as_float
    constant = _constant(value)
    return constant if dtype == _INT else float(constant)


def _constant(value: Any) -> int | float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise NotPlainError(f"{value!r} is no number")
    if isinstance(value, int | np.integer):
        if not -(2**63) <= int(value) < 2**63:
            raise NotPlainError(f"{value!r} does not fit into 64 bits")
        return int(value)
    return float(value)


@dataclass(frozen=True, eq=False)
class Program:
    """One score, ready to run.

    Instructions are rows of (operation, target, first, second). The first ``steady`` of them run for one request and
    end by keeping what the others need, or with the key itself where nothing depends on the clock.
    """

    instructions: Int64Array  # (instructions, 4)
    steady: int
    ints: Int64Array  # (registers, CHUNK); some hold constants from the beginning
    floats: Float64Array  # (registers, CHUNK)
    clock_register: int  # of ``ints``, of the first clock; the others follow
    kept_ints: int
    kept_floats: int
    columns: frozenset[int]  # that it reads


def program_of(score: Score, *, counted: bool = False) -> Program:
    """Return the program of a score; if ``counted``, of one that may read the columns of a `CountedView`.

    Raises:
        NotPlainError: it is more than arithmetic on columns, and has to be asked in Python.
    """
    result = _followed(score, counted)
    order = list(_innermost_first(result))
    clocked: dict[Symbol, bool] = {}
    for symbol in order:
        clocked[symbol] = symbol.operation == CLOCK or any(clocked[one] for one in _inner(symbol))
    ints, floats = _Registers(), _Registers()
    steady, later = _Writer(ints, floats), _Writer(ints, floats)
    clock_register, *_ = [ints.new() for _ in range(CLOCKS)]
    kept = _Kept()
    for symbol in order:
        if symbol.operation == CLOCK:
            later.place[symbol] = clock_register + symbol.arguments[0]
        elif not clocked[symbol]:
            steady.operation(symbol)
        else:
            for one in _inner(symbol):
                if one not in later.place:
                    kept.bring_over(one, steady, later)
            later.operation(symbol)
    (later if clocked[result] else steady).key(result)
    return Program(
        instructions=np.array(steady.rows + later.rows, dtype=np.int64),
        steady=len(steady.rows),
        ints=np.repeat(np.array(ints.values, dtype=np.int64)[:, None], CHUNK, axis=1),
        floats=np.repeat(np.array(floats.values, dtype=np.float64)[:, None], CHUNK, axis=1),
        clock_register=clock_register,
        kept_ints=kept.ints,
        kept_floats=kept.floats,
        columns=frozenset(symbol.arguments[0] for symbol in order if symbol.operation == LOAD_INT),
    )


def _followed(score: Score, counted: bool) -> Symbol:
    """Call the score with symbols."""
    empty = np.empty(0, dtype=np.int64)
    columns = {name: Symbol(LOAD_INT, (row,), empty) for name, row in COLUMNS.items()}
    now, hooks, executed = (Symbol(CLOCK, (clock,), 0) for clock in range(CLOCKS))
    derived = {
        "now_ns": now,
        "wait_ns": now - columns["arrival_ns"],
        "uncached_tokens": columns["n_tokens"] - columns["hit_tokens"],
    }
    counts = {
        "hooks_waited": hooks - Symbol(LOAD_INT, (HOOKS_BEFORE,), empty),
        "executed_tokens": executed - Symbol(LOAD_INT, (EXECUTED_BEFORE,), empty),
    }
    known = {**columns, **derived, **(counts if counted else {})}
    try:
        result = score.function(*(known[name] for name in score.columns), *score.constants)
    except KeyError as error:
        raise NotPlainError(f"it reads {error.args[0]}") from error
    except NotPlainError:
        raise
    except Exception as error:  # whatever the function raises on symbols, it may not on arrays: ask it there
        raise NotPlainError(f"{type(error).__name__}: {error}") from error
    if not isinstance(result, Symbol) or result.operation == CLOCK:
        raise NotPlainError("it is the same for every request")
    return result


def _inner(symbol: Symbol) -> list[Symbol]:
    return [one for one in symbol.arguments if isinstance(one, Symbol)]


def _innermost_first(result: Symbol) -> Iterator[Symbol]:
    """Yield every symbol after its arguments, each once."""
    seen: set[Symbol] = set()
    stack = [(result, False)]
    while stack:
        symbol, ready = stack.pop()
        if ready:
            yield symbol
        elif symbol not in seen:
            seen.add(symbol)
            stack.append((symbol, True))
            stack += [(one, False) for one in _inner(symbol)]


@dataclass
class _Registers:
    """Registers of one type, with what they hold at the beginning."""

    values: list[Any] = field(default_factory=list)
    constants: dict[Any, int] = field(default_factory=dict)

    def new(self, value: Any = 0) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def constant(self, value: Any) -> int:
        key = repr(value)  # 0.0 and -0.0 are two
        if key not in self.constants:
            self.constants[key] = self.new(value)
        return self.constants[key]


@dataclass
class _Writer:
    """Writes instructions and remembers in which register each symbol's value is."""

    ints: _Registers
    floats: _Registers
    place: dict[Symbol, int] = field(default_factory=dict)
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)

    def write(self, operation: int, target: int, first: int, second: int = 0) -> None:
        self.rows.append((operation, target, first, second))

    def load(self, operation: int, symbol: Symbol, row: int) -> None:
        self.place[symbol] = (self.ints if symbol.is_int else self.floats).new()
        self.write(operation, self.place[symbol], row)

    def operation(self, symbol: Symbol) -> None:
        if symbol.operation == LOAD_INT:
            self.load(LOAD_INT, symbol, symbol.arguments[0])
            return
        first, *more = (self._register(one) for one in symbol.arguments)
        self.place[symbol] = (self.ints if symbol.is_int else self.floats).new()
        self.write(symbol.operation, self.place[symbol], first, *more)

    def key(self, symbol: Symbol) -> None:
        if symbol.is_int:
            self.write(KEY_OF_INT, 0, self.place[symbol])
        else:
            self.write(KEY_OF_FLOAT, self.floats.new(), self.place[symbol])

    def _register(self, argument: Symbol | int | float) -> int:
        if isinstance(argument, Symbol):
            return self.place[argument]
        return self.ints.constant(argument) if isinstance(argument, int) else self.floats.constant(argument)


@dataclass
class _Kept:
    """Counts what is kept of a request between hooks."""

    ints: int = 0
    floats: int = 0

    def bring_over(self, symbol: Symbol, steady: _Writer, later: _Writer) -> None:
        """Let the steady part keep a value and the clocked part load it; a column needs no keeping."""
        if symbol.operation == LOAD_INT:
            later.load(LOAD_INT, symbol, symbol.arguments[0])
        elif symbol.is_int:
            steady.write(KEEP_INT, KEPT + self.ints, steady.place[symbol])
            later.load(LOAD_INT, symbol, KEPT + self.ints)
            self.ints += 1
        else:
            steady.write(KEEP_FLOAT, self.floats, steady.place[symbol])
            later.load(LOAD_FLOAT, symbol, self.floats)
            self.floats += 1


@inner
def key_of_float(value: float) -> int:
    """Return a whole number that orders as ``value`` does."""
    if value != value:
        return NOT_A_NUMBER
    bits = int64(np.float64(value + 0.0).view(np.int64))  # -0.0 equals 0.0
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@inner
def _quotient(dividend: int, divisor: int) -> int:
    """Return the quotient, rounded down, as numpy has it: 0 by 0, and the lowest number by -1 is itself."""
    if divisor == 0:
        return 0
    return -dividend if divisor == -1 else dividend // divisor


@inner
def run_steady(
    program: Int64Array,
    steady: int,
    ints: Int64Array,
    floats: Float64Array,
    columns: Int64Array,
    reals: Float64Array,
    place: int,
) -> None:
    """Run the first ``steady`` instructions, for the request at ``place`` in the queue."""
    for row in range(steady):
        operation, target, first, second = program[row, 0], program[row, 1], program[row, 2], program[row, 3]
        if operation == LOAD_INT:
            ints[target, 0] = columns[first, place]
        elif operation == KEEP_INT:
            columns[target, place] = ints[first, 0]
        elif operation == KEEP_FLOAT:
            reals[target, place] = floats[first, 0]
        elif operation == TO_FLOAT:
            floats[target, 0] = float(ints[first, 0])
        elif operation == ADD_INT:
            ints[target, 0] = ints[first, 0] + ints[second, 0]
        elif operation == SUBTRACT_INT:
            ints[target, 0] = ints[first, 0] - ints[second, 0]
        elif operation == MULTIPLY_INT:
            ints[target, 0] = ints[first, 0] * ints[second, 0]
        elif operation == MAXIMUM_INT:
            ints[target, 0] = max(ints[first, 0], ints[second, 0])
        elif operation == MINIMUM_INT:
            ints[target, 0] = min(ints[first, 0], ints[second, 0])
        elif operation == NEGATIVE_INT:
            ints[target, 0] = -ints[first, 0]
        elif operation == ABSOLUTE_INT:
            ints[target, 0] = abs(ints[first, 0])
        elif operation == FLOOR_DIVIDE_INT:
            ints[target, 0] = _quotient(ints[first, 0], ints[second, 0])
        elif operation == ADD_FLOAT:
            floats[target, 0] = floats[first, 0] + floats[second, 0]
        elif operation == SUBTRACT_FLOAT:
            floats[target, 0] = floats[first, 0] - floats[second, 0]
        elif operation == MULTIPLY_FLOAT:
            floats[target, 0] = floats[first, 0] * floats[second, 0]
        elif operation == DIVIDE_FLOAT:
            floats[target, 0] = floats[first, 0] / floats[second, 0]
        elif operation == MAXIMUM_FLOAT:
            floats[target, 0] = np.maximum(floats[first, 0], floats[second, 0])
        elif operation == MINIMUM_FLOAT:
            floats[target, 0] = np.minimum(floats[first, 0], floats[second, 0])
        elif operation == NEGATIVE_FLOAT:
            floats[target, 0] = -floats[first, 0]
        elif operation == ABSOLUTE_FLOAT:
            floats[target, 0] = abs(floats[first, 0])
        elif operation == KEY_OF_INT:
            columns[KEY, place] = max(ints[first, 0], NOT_A_NUMBER)
        elif operation == KEY_OF_FLOAT:
            columns[KEY, place] = key_of_float(floats[first, 0])


@inner
def run_clocked(
    program: Int64Array,
    steady: int,
    ints: Int64Array,
    floats: Float64Array,
    columns: Int64Array,
    reals: Float64Array,
    begin: int,
    end: int,
) -> None:
    """Run the other instructions, for the places ``begin`` to ``end``, at most `CHUNK` of them."""
    count = end - begin
    for row in range(steady, len(program)):
        operation, target, first, second = program[row, 0], program[row, 1], program[row, 2], program[row, 3]
        if operation == LOAD_INT:
            for i in range(count):
                ints[target, i] = columns[first, begin + i]
        elif operation == LOAD_FLOAT:
            for i in range(count):
                floats[target, i] = reals[first, begin + i]
        elif operation == TO_FLOAT:
            for i in range(count):
                floats[target, i] = float(ints[first, i])
        elif operation == ADD_INT:
            for i in range(count):
                ints[target, i] = ints[first, i] + ints[second, i]
        elif operation == SUBTRACT_INT:
            for i in range(count):
                ints[target, i] = ints[first, i] - ints[second, i]
        elif operation == MULTIPLY_INT:
            for i in range(count):
                ints[target, i] = ints[first, i] * ints[second, i]
        elif operation == MAXIMUM_INT:
            for i in range(count):
                ints[target, i] = max(ints[first, i], ints[second, i])
        elif operation == MINIMUM_INT:
            for i in range(count):
                ints[target, i] = min(ints[first, i], ints[second, i])
        elif operation == NEGATIVE_INT:
            for i in range(count):
                ints[target, i] = -ints[first, i]
        elif operation == ABSOLUTE_INT:
            for i in range(count):
                ints[target, i] = abs(ints[first, i])
        elif operation == FLOOR_DIVIDE_INT:
            for i in range(count):
                ints[target, i] = _quotient(ints[first, i], ints[second, i])
        elif operation == ADD_FLOAT:
            for i in range(count):
                floats[target, i] = floats[first, i] + floats[second, i]
        elif operation == SUBTRACT_FLOAT:
            for i in range(count):
                floats[target, i] = floats[first, i] - floats[second, i]
        elif operation == MULTIPLY_FLOAT:
            for i in range(count):
                floats[target, i] = floats[first, i] * floats[second, i]
        elif operation == DIVIDE_FLOAT:
            for i in range(count):
                floats[target, i] = floats[first, i] / floats[second, i]
        elif operation == MAXIMUM_FLOAT:
            for i in range(count):
                floats[target, i] = np.maximum(floats[first, i], floats[second, i])
        elif operation == MINIMUM_FLOAT:
            for i in range(count):
                floats[target, i] = np.minimum(floats[first, i], floats[second, i])
        elif operation == NEGATIVE_FLOAT:
            for i in range(count):
                floats[target, i] = -floats[first, i]
        elif operation == ABSOLUTE_FLOAT:
            for i in range(count):
                floats[target, i] = abs(floats[first, i])
        elif operation == KEY_OF_INT:
            for i in range(count):
                columns[KEY, begin + i] = max(ints[first, i], NOT_A_NUMBER)
        elif operation == KEY_OF_FLOAT:
            numbers = floats[target]
            for i in range(count):
                numbers[i] = floats[first, i] + 0.0
            bits = numbers.view(np.int64)
            for i in range(count):
                ordered = bits[i] ^ ((bits[i] >> 63) & 0x7FFFFFFFFFFFFFFF)
                columns[KEY, begin + i] = ordered if numbers[i] == numbers[i] else NOT_A_NUMBER
