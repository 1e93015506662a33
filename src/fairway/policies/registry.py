"""Policies by the names that the tables use."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fairway.errors import InputError
from fairway.policies.base import Capability, Column, Policy

ENTRY_POINT_GROUP = "fairway.policies"
PolicyFactory = Callable[..., Policy]

_FACTORIES: dict[str, PolicyFactory] = {}
_FAMILIES: dict[str, _Family] = {}


@dataclass(frozen=True)
class _Family:
    """Policies whose name ends in a whole number, such as ``klpm-4``."""

    factory: PolicyFactory
    parameter: str
    shown: tuple[int, ...]


def register(name: str, factory: PolicyFactory) -> None:
    """Register a policy class, or a function that returns a policy, under ``name``."""
    _FACTORIES[name] = factory


def register_family(prefix: str, factory: PolicyFactory, parameter: str, shown: tuple[int, ...]) -> None:
    """Register ``<prefix>-<number>`` for every number; ``shown`` are those listed by `policy_names`."""
    _FAMILIES[prefix] = _Family(factory, parameter, shown)


def policy_names() -> list[str]:
    """Return all names, those of outside packages included, sorted."""
    families = [f"{prefix}-{number}" for prefix, family in _FAMILIES.items() for number in family.shown]
    return sorted({*_FACTORIES, *families, *_outside()})


def make_policy(name: str, /, **parameters: Any) -> Policy:
    """Return a new policy of that name; ``parameters`` override those of the name.

    Raises `InputError` for an unknown name or parameter (with the known ones) and for values that the policy refuses.
    """
    factory = _factory(name)
    _refuse_unknown(name, factory, parameters)
    try:
        policy = factory(**parameters)
    except (TypeError, ValueError) as error:
        raise InputError(f"policy {name!r} refuses its parameters: {error}", remedy="correct or drop them") from error
    except Exception as error:  # whatever an outside policy raises is said to be that policy's
        raise InputError(
            f"policy {name!r} cannot be made: {type(error).__name__}: {error}", remedy="mend the policy"
        ) from error
    _check_contract(name, policy)
    policy.name = name
    return policy


def _refuse_unknown(name: str, factory: PolicyFactory, parameters: Mapping[str, Any]) -> None:
    known = _parameter_names(factory) if parameters else None
    unknown = [] if known is None else sorted(set(parameters) - set(known))
    if known is not None and unknown:
        listed = f"known parameters: {', '.join(known)}" if known else "leave them out: it has none"
        raise InputError(
            f"policy {name!r} refuses its parameters: it has no parameter {unknown[0]!r}",
            remedy=_meant(unknown[0], known) + listed,
        )


def _parameter_names(factory: PolicyFactory) -> list[str] | None:
    """Return the fields of a policy's ``parameters``, or else what its class takes; None where neither is said."""
    try:
        policy = factory()
    except Exception:  # one that cannot be made without parameters says so when it is made with these
        return None
    parameters = getattr(policy, "parameters", None)
    if dataclasses.is_dataclass(parameters):
        return [field.name for field in dataclasses.fields(parameters)]
    accepted = inspect.signature(type(policy)).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in accepted):
        return None
    return [one.name for one in accepted if one.kind is not one.VAR_POSITIONAL]


def _check_contract(name: str, policy: Policy) -> None:
    if not isinstance(policy, Policy):
        raise InputError(
            f"policy {name!r} is a {type(policy).__name__}, which is no fairway.policies.Policy",
            remedy="derive it from fairway.policies.Policy",
        )
    for attribute, kind in (("columns", Column), ("capabilities", Capability)):
        declared = getattr(policy, attribute)
        if not isinstance(declared, frozenset) or not all(isinstance(one, kind) for one in declared):
            raise InputError(
                f"policy {name!r} declares {attribute} {declared!r}",
                remedy=f"declare a frozenset of fairway.policies.{kind.__name__}",
            )


def _factory(name: str) -> PolicyFactory:
    if name in _FACTORIES:
        return _FACTORIES[name]
    family = re.fullmatch(r"(?P<prefix>.+)-(?P<number>0|[1-9][0-9]{0,8})", name)
    if family and family["prefix"] in _FAMILIES:
        found, number = _FAMILIES[family["prefix"]], int(family["number"])
        return lambda **parameters: found.factory(**{found.parameter: number, **parameters})
    if name in _outside():
        return _load(_outside()[name])
    known = policy_names()
    raise InputError(f"unknown policy {name!r}", remedy=f"{_meant(name, known)}known policies: {', '.join(known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""


@cache
def _outside() -> dict[str, EntryPoint]:
    """Policies of installed packages, by entry point; a name of ours cannot be taken over."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _load(point: EntryPoint) -> PolicyFactory:
    try:
        factory: PolicyFactory = point.load()
    except Exception as error:  # whatever an outside module raises on import is its package's fault, said so
        raise InputError(
            f"policy {point.name!r} cannot be loaded from {point.value!r}: {error}",
            remedy="mend or uninstall the package that provides it",
        ) from error
    return factory
