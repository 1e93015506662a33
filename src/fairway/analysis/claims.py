"""The claims file: what the paper says, and the checks that decide it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.expressions import Expression, ExpressionError
from fairway.analysis.vocabulary import Terms, Vocabulary
from fairway.errors import InputError

KINDS = {
    "exact": "exact",
    "input": "input (we set it)",
    "ordering": "ordering",
    "ratio": "ratio",
    "absolute": "absolute",
}
_SCHEMA = Path(__file__).with_name("claims.schema.json")
_ABSOLUTE = "absolute"
_WORKLOADS = "workloads"  # in an expression: the claim's own, and then it is decided once over all of them
At = tuple[str | int, ...]  # the way to a place in the file: keys and positions

_REMEDY = "correct it; the head of the file lists what a claim and a check may say"


@dataclass(frozen=True)
class Item:
    """An expression and the workloads it is asked on; none for one asked once."""

    expression: Expression
    workloads: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    id: str
    kind: str
    workloads: tuple[str, ...]
    says: str
    paper: Mapping[str, Any]
    shows: Mapping[str, Item]
    checks: tuple[Item, ...]
    note: str
    in_sweep: bool


@dataclass(frozen=True)
class ClaimsFile:
    """All claims with the names that their checks use."""

    claims: tuple[Claim, ...]
    terms: Terms
    names: Mapping[str, Any]
    sets: Mapping[str, tuple[str, ...]]

    @property
    def ids(self) -> tuple[str, ...]:
        """The claims' names."""
        return tuple(claim.id for claim in self.claims)

    @property
    def sweep(self) -> tuple[str, ...]:
        """The configurations of the sweep, each a workload."""
        return self.sets.get("sweep", ())

    def about(self, workloads: Sequence[str]) -> ClaimsFile:
        """Return the claims that ask these workloads and no others."""
        kept = tuple(claim for claim in self.claims if claim.workloads and set(claim.workloads) <= set(workloads))
        return dataclasses.replace(self, claims=kept)

    def only(self, claim: str) -> ClaimsFile:
        """Return the claim of this name alone; InputError if there is none."""
        kept = tuple(one for one in self.claims if one.id == claim)
        if not kept:
            raise InputError(f"no claim is called {claim!r}", remedy=f"known: {', '.join(self.ids)}")
        return dataclasses.replace(self, claims=kept)

    def asking(self, workloads: Sequence[str]) -> ClaimsFile:
        """Return the claims that ask at least one of these workloads, to be asked without the sweep."""
        kept = (claim for claim in self.claims if not set(claim.workloads).isdisjoint(workloads))
        return dataclasses.replace(self, claims=tuple(dataclasses.replace(claim, in_sweep=False) for claim in kept))

    def asked_of(self, stand_ins: Mapping[str, str]) -> ClaimsFile:
        """Return the claims that can be asked of other workloads instead: ``stand_ins`` by the file's own names.

        A claim stays if each of its workloads has a stand-in; one about seconds does not, since they are the paper's.
        """

        def instead(workloads: Sequence[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(stand_ins[name] for name in workloads))

        def moved(item: Item) -> Item:
            return dataclasses.replace(item, workloads=instead(item.workloads))

        kept = tuple(
            dataclasses.replace(
                claim,
                workloads=instead(claim.workloads),
                shows={name: moved(item) for name, item in claim.shows.items()},
                checks=tuple(map(moved, claim.checks)),
                in_sweep=False,
            )
            for claim in self.claims
            if set(claim.workloads) <= set(stand_ins) and claim.kind != _ABSOLUTE
        )
        phases = {stand_ins[name]: phase for name, phase in self.terms.default_phase.items() if name in stand_ins}
        terms = dataclasses.replace(self.terms, workloads=tuple(stand_ins.values()), default_phase=phases)
        return dataclasses.replace(self, claims=kept, terms=terms)

    def scope(self, claim: Claim) -> Mapping[str, Any]:
        """What names mean inside a claim's expressions."""
        return {**self.names, _WORKLOADS: claim.workloads}


def read_claims(path: Path) -> ClaimsFile:
    """Read and check a claims file.

    Raises:
        InputError: not YAML, a key missing or unknown, or an expression with an unknown function, policy or workload;
            with file and line.
    """
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._node, self._data = self._load()

    def read(self) -> ClaimsFile:
        self._check_form()
        sets = self._data["workload_sets"]
        terms = Terms(
            workloads=tuple(dict.fromkeys(name for names in sets.values() for name in names)),
            policies=tuple(self._data["policies"]),
            default_phase=self._default_phase(sets),
        )
        names = {**{name: name for name in terms.policies}, **{k: tuple(v) for k, v in self._data["groups"].items()}}
        claims = tuple(self._claim(i, raw, sets, terms) for i, raw in enumerate(self._data["claims"]))
        self._check_ids(claims)
        file = ClaimsFile(claims, terms, names, {name: tuple(workloads) for name, workloads in sets.items()})
        for claim in claims:
            self._check_expressions(file, claim)
        return file

    def _load(self) -> tuple[yaml.Node, dict[str, Any]]:
        try:
            text = self._path.read_text(encoding="utf-8")
            node, data = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
        except FileNotFoundError as error:
            raise InputError("no such file", remedy="give the claims file", file=self._path) from error
        except UnicodeDecodeError as error:
            raise InputError("not UTF-8 text", remedy=_REMEDY, file=self._path) from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = None if mark is None else mark.line + 1
            problem = getattr(error, "problem", None) or "cannot be parsed"
            raise InputError(f"not YAML: {problem}", remedy=_REMEDY, file=self._path, line=line) from error
        if node is None:
            raise InputError("an empty file", remedy=_REMEDY, file=self._path)
        return node, data

    def _check_form(self) -> None:
        schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
        error = best_match(Draft202012Validator(schema).iter_errors(self._data))
        if error is not None:
            raise self._error(error.message, tuple(error.absolute_path))

    def _default_phase(self, sets: Mapping[str, Sequence[str]]) -> dict[str, str]:
        phases = self._data["default_phase"]
        return {name: phase for key, phase in phases.items() for name in sets.get(key, [key])}

    def _claim(self, i: int, raw: Any, sets: Mapping[str, Sequence[str]], terms: Terms) -> Claim:
        at = ("claims", i)
        workloads = self._workloads(raw["workloads"], sets, terms, (*at, "workloads"))
        shows = {
            name: self._item(item, workloads, sets, terms, (*at, "shows", name))
            for name, item in raw.get("shows", {}).items()
        }
        checks = tuple(
            self._item(item, workloads, sets, terms, (*at, "checks", j)) for j, item in enumerate(raw["checks"])
        )
        return Claim(
            id=raw["id"],
            kind=raw["kind"],
            workloads=workloads,
            says=raw["says"],
            paper=raw.get("paper", {}),
            shows=shows,
            checks=checks,
            note=raw.get("note", ""),
            in_sweep=bool(raw.get("sweep", False)),
        )

    def _item(
        self,
        raw: Any,
        workloads: tuple[str, ...],
        sets: Mapping[str, Sequence[str]],
        terms: Terms,
        at: At,
    ) -> Item:
        if isinstance(raw, dict):
            workloads = self._workloads(raw["workloads"], sets, terms, (*at, "workloads"))
            raw = raw["expression"]
        try:
            expression = Expression(raw)
        except ExpressionError as error:
            raise self._error(str(error), at) from error
        asked_once = expression.mentions(_WORKLOADS)
        return Item(expression, () if asked_once else workloads, self._line(at))

    def _workloads(
        self, raw: Sequence[str], sets: Mapping[str, Sequence[str]], terms: Terms, at: At
    ) -> tuple[str, ...]:
        names = tuple(name for key in raw for name in sets.get(key, [key]))
        for name in names:
            if name not in terms.workloads:
                raise self._error(f"unknown workload {name}; known: {', '.join(terms.workloads)}", at)
        return names

    def _check_ids(self, claims: Sequence[Claim]) -> None:
        seen: set[str] = set()
        for i, claim in enumerate(claims):
            if claim.id in seen:
                raise self._error(f"two claims called {claim.id}", ("claims", i, "id"))
            seen.add(claim.id)

    def _check_expressions(self, file: ClaimsFile, claim: Claim) -> None:
        """Evaluate every expression without any result: nothing is skipped, so each name and argument is seen."""
        vocabulary = Vocabulary(
            file.terms, results={}, exact={}, resampling=Resampling(resamples=1), absent={}, exact_absent=""
        )
        for item in (*claim.checks, *claim.shows.values()):
            for workload in item.workloads or (None,):
                try:
                    item.expression.evaluate(file.scope(claim), vocabulary.functions(workload))
                except ExpressionError as error:
                    raise InputError(
                        f"claim {claim.id}: {error}", remedy=_REMEDY, file=self._path, line=item.line
                    ) from error

    def _error(self, problem: str, at: At) -> InputError:
        return InputError(problem, remedy=_REMEDY, file=self._path, line=self._line(at))

    def _line(self, at: At) -> int:
        node = self._node
        for step in at:
            node = next((child for key, child in _children(node) if key == step), node)
        return int(node.start_mark.line) + 1


def _children(node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            yield key.value, child
    elif isinstance(node, yaml.SequenceNode):
        yield from enumerate(node.value)
