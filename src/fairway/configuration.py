"""The configuration of a run: what the workflow's YAML files say, checked before anything runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import jsonschema

from fairway.errors import InputError
from fairway.policies import make_policy, policy_names
from fairway.profile import load_profile, profile_names
from fairway.traces.catalogue import Catalogue, Reference, unvaried, varied
from fairway.yamlfile import KeyPath, YamlFile, merge, read_yaml

SCHEMA_FILE = Path("workflow/schemas/config.schema.yaml")
CONFIG_FOLDER = Path("config")
TUNING = "-tuning"  # ends the names of workloads that parameters are chosen on
_NO_VARIANTS: Mapping[str, Any] = {"policies": [], "workloads": {}}
_Setting = TypeVar("_Setting")

# JSON Schema takes 5.0 for an integer; a number of tokens or seeds is to be written as one.
_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]  # its stubs have no types here
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)


@dataclass(frozen=True)
class Corpus:
    """The text that prompts are made of."""

    kind: str
    seed: int
    sources: str | None = None  # file; None for the one that comes with the repository
    token_ids: bool = False  # written beside each trace


@dataclass(frozen=True)
class Engine:
    """Limits of a step, in vLLM's terms."""

    budget_tokens: int
    max_num_seqs: int
    block_tokens: int


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn."""

    resamples: int
    seed: int


@dataclass(frozen=True)
class PolicyVariant:
    """A registered policy with parameters or a cache's eviction of its own."""

    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    eviction: str = "lru"  # the cache gives up first what was used least recently


@dataclass(frozen=True)
class WorkloadVariants:
    """Workloads that run under variants as well, by variant, and the policies that run on them."""

    policies: tuple[str, ...] = ()
    workloads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The varied workloads: ``mooncake-0.9--raw-ticks`` and so on."""
        return tuple(varied(workload, variant) for variant, names in self.workloads.items() for workload in names)


@dataclass(frozen=True)
class Configuration:
    """What to run: every policy on every workload with every seed, on every backend.

    ``policies_of`` and ``seeds_of`` say otherwise for single workloads, or for a numbered family by its name: "sweep"
    means sweep-01, sweep-02 and so on. ``policy_variants`` are further names that policies can be asked for by.
    ``workload_variants`` run beside ``workloads`` and stand in a table of their own.
    """

    corpus: Corpus
    profile: str
    backends: tuple[str, ...]
    seeds: tuple[int, ...]
    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    engine: Engine
    bootstrap: Bootstrap
    policy_variants: Mapping[str, PolicyVariant]
    policies_of: Mapping[str, tuple[str, ...]]
    seeds_of: Mapping[str, tuple[int, ...]]
    workload_variants: WorkloadVariants

    @property
    def replayed_workloads(self) -> tuple[str, ...]:
        """All workloads, the varied ones last."""
        return (*self.workloads, *self.workload_variants.names)

    @property
    def all_policies(self) -> tuple[str, ...]:
        """Every policy that runs on some workload."""
        return tuple(
            dict.fromkeys(name for workload in self.replayed_workloads for name in self.policies_for(workload))
        )

    def policies_for(self, workload: str) -> tuple[str, ...]:
        """Return the policies that run on a workload."""
        if workload in self.workload_variants.names:
            return self.workload_variants.policies
        return _setting_for(workload, self.policies_of, self.policies)

    def seeds_for(self, workload: str) -> tuple[int, ...]:
        """Return the seeds of a workload; a varied one has those of the workload itself."""
        if workload in self.workload_variants.names:
            return self.seeds_for(unvaried(workload))
        return _setting_for(workload, self.seeds_of, self.seeds)

    def policy_variant(self, name: str) -> PolicyVariant:
        """Return what runs under a policy's name: a variant, or the registered policy as it is."""
        return self.policy_variants.get(name, PolicyVariant(name))


def load_configuration(files: Sequence[Path], root: Path) -> Configuration:
    """Read configuration files, later ones overriding earlier ones key by key, as Snakemake merges them.

    ``root`` is the repository's folder. Raises `InputError` with file and line.
    """
    values: dict[str, Any] = {}
    for file in files:
        merge(values, read_yaml(file).values)
    return check_configuration(values, files, root)


def check_configuration(values: Mapping[str, Any], files: Sequence[Path], root: Path) -> Configuration:
    """Check merged ``values``; ``files`` are those that they came from and serve to say where a fault is.

    Raises `InputError`; a fault that stands in no file is said to come from ``--config``.
    """
    faults = _Faults(values, [read_yaml(file) for file in files])
    _check_schema(values, root / SCHEMA_FILE, faults)
    _check_names(values, root, faults)
    return _configuration(values)


class _Faults:
    """Says a fault together with the place that it came from."""

    def __init__(self, values: Mapping[str, Any], files: Sequence[YamlFile]) -> None:
        self._values = values
        self._files = files

    def at(self, path: KeyPath, problem: str, remedy: str) -> InputError:
        value = self._value(path)
        for source in reversed(self._files):
            # A value that another file or --config has replaced is not the faulty one; mappings are put together.
            if path in source.lines and (isinstance(value, Mapping) or _is_same(source.value(path), value)):
                return InputError(problem, remedy=remedy, file=source.file, line=source.lines[path])
        return InputError(problem, remedy=remedy, file=self._fallback(path))

    @contextmanager
    def said_at(self, path: KeyPath) -> Iterator[None]:
        """Say a fault that is found inside together with the place of ``path``."""
        try:
            yield
        except InputError as error:
            raise self.at(path, error.problem, error.remedy) from error

    def _value(self, path: KeyPath) -> Any:
        value: Any = self._values
        for key in path:
            value = value[key]
        return value

    def _fallback(self, path: KeyPath) -> Path | str:
        return "--config" if path or not self._files else self._files[-1].file


def _is_same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)  # not a number equals nothing, itself neither


def _check_schema(values: Mapping[str, Any], schema_file: Path, faults: _Faults) -> None:
    validator = _Validator(read_yaml(schema_file).values)
    errors = sorted(validator.iter_errors(values), key=lambda error: [str(key) for key in error.absolute_path])
    if errors:
        raise _schema_fault(errors[0], faults)


def _schema_fault(error: jsonschema.ValidationError, faults: _Faults) -> InputError:
    path: KeyPath = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known = sorted(error.schema["properties"])  # type: ignore[index]  # never a bare true or false
        unknown = min(set(cast(Mapping[str, Any], error.instance)) - set(known), key=str)
        path = (*path, unknown)
        return faults.at(path, f"unknown key {_dotted(path)!r}", _closest(unknown, known, "keys"))
    if error.validator == "required":
        return faults.at(path, error.message, "add the key; config/quick.yaml has all of them")
    where = _dotted(path) or "the configuration"
    return faults.at(path, f"{where}: {error.message}", f"see {SCHEMA_FILE} for what is allowed")


def _check_names(values: Mapping[str, Any], root: Path, faults: _Faults) -> None:
    if values["profile"] not in profile_names():
        remedy = _closest(values["profile"], profile_names(), "profiles")
        raise faults.at(("profile",), f"unknown profile {values['profile']!r}", remedy)
    _check_cases(values, faults)
    catalogue = Catalogue(root / CONFIG_FOLDER)
    for place, name in enumerate(values["workloads"]):
        with faults.said_at(("workloads", place)):
            catalogue.find(name)
    for setting in ("policies_of", "seeds_of"):
        for name in values.get(setting, {}):
            with faults.said_at((setting, name)):
                _check_workloads_of(name, catalogue)
    _check_policies(values, faults)
    _check_workload_variants(values, catalogue, faults)
    _check_tuning_seeds(values, faults)


def _check_cases(values: Mapping[str, Any], faults: _Faults) -> None:
    """Refuse names that would be one name where file names have no case: each has a folder of its own."""
    registered = {name.casefold(): name for name in policy_names()}
    _refuse_other_case(
        registered, [(("policy_variants", name), name) for name in values.get("policy_variants", {})], faults
    )
    variants = values.get("workload_variants", _NO_VARIANTS)["workloads"]
    _refuse_other_case({}, [(("workload_variants", "workloads", name), name) for name in variants], faults)
    _refuse_other_case({}, [(("workloads", place), name) for place, name in enumerate(values["workloads"])], faults)


def _refuse_other_case(known: dict[str, str], named: Sequence[tuple[KeyPath, str]], faults: _Faults) -> None:
    """Raise InputError for a name that differs by case alone from one that is ``known`` or stands before it."""
    for path, name in named:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            problem = f"{name!r} and {other!r} differ by case alone, and are one file name on some systems"
            raise faults.at(path, problem, "give one of them another name")


def _check_tuning_seeds(values: Mapping[str, Any], faults: _Faults) -> None:
    """Refuse results on seeds that parameters were chosen on."""
    seeds: dict[KeyPath, set[int]] = {("seeds",): set(_seeds(values["seeds"]))}
    seeds |= {("seeds_of", name): set(_seeds(raw)) for name, raw in values.get("seeds_of", {}).items()}
    tuning = {path: those for path, those in seeds.items() if str(path[-1]).endswith(TUNING)}
    for path in [path for path in seeds if path not in tuning]:
        for (_, name), those in tuning.items():
            if both := sorted(seeds[path] & those):
                problem = f"{_dotted(path)} has seed {both[0]}, on which parameters are tuned (seeds_of.{name})"
                raise faults.at(path, problem, "give seeds that are not among those of the tuning")


def _check_workloads_of(name: str, catalogue: Catalogue) -> None:
    """Raise InputError unless ``name`` is a workload or a numbered family of them."""
    try:
        catalogue.find(f"{name}-01")
    except InputError:
        catalogue.find(name)


def _check_policies(values: Mapping[str, Any], faults: _Faults) -> None:
    """Make every policy and variant once: names and parameters are those that the policies know."""
    variants = values.get("policy_variants", {})
    for name, variant in variants.items():
        path: KeyPath = ("policy_variants", name)
        if name in policy_names():
            raise faults.at(path, f"{name!r} is a policy's own name", "give the variant another name")
        with faults.said_at(path):
            make_policy(variant["policy"], **variant.get("parameters", {}))
    asked: list[tuple[KeyPath, str]] = [(("policies", i), name) for i, name in enumerate(values["policies"])]
    for workload, names in values.get("policies_of", {}).items():
        asked += [(("policies_of", workload, i), name) for i, name in enumerate(names)]
    in_variants = values.get("workload_variants", _NO_VARIANTS)["policies"]
    asked += [(("workload_variants", "policies", i), name) for i, name in enumerate(in_variants)]
    for path, name in asked:
        if name not in variants:
            with faults.said_at(path):
                make_policy(name)


def _check_workload_variants(values: Mapping[str, Any], catalogue: Catalogue, faults: _Faults) -> None:
    """Every variant exists, suits its workloads and names a profile that exists."""
    for variant, workloads in values.get("workload_variants", _NO_VARIANTS)["workloads"].items():
        for place, workload in enumerate(workloads):
            with faults.said_at(("workload_variants", "workloads", variant, place)):
                _check_variant(catalogue.find(varied(workload, variant)))


def _check_variant(reference: Reference) -> None:
    reference.load()
    if reference.profile is not None:
        load_profile(reference.profile)


def _configuration(values: Mapping[str, Any]) -> Configuration:
    return Configuration(
        corpus=Corpus(**values["corpus"]),
        profile=values["profile"],
        backends=tuple(values["backends"]),
        seeds=_seeds(values["seeds"]),
        workloads=tuple(values["workloads"]),
        policies=tuple(values["policies"]),
        engine=Engine(**values["engine"]),
        bootstrap=Bootstrap(**values["bootstrap"]),
        policy_variants={name: PolicyVariant(**variant) for name, variant in values.get("policy_variants", {}).items()},
        policies_of={name: tuple(policies) for name, policies in values.get("policies_of", {}).items()},
        seeds_of={name: _seeds(seeds) for name, seeds in values.get("seeds_of", {}).items()},
        workload_variants=_workload_variants(values),
    )


def _workload_variants(values: Mapping[str, Any]) -> WorkloadVariants:
    """Return the variants of what runs anyway, so that each has the same policies on the same workload beside it."""
    variants = values.get("workload_variants", _NO_VARIANTS)
    policies = tuple(name for name in variants["policies"] if name in values["policies"])
    workloads = {
        variant: tuple(name for name in names if name in values["workloads"] and policies)
        for variant, names in variants["workloads"].items()
    }
    return WorkloadVariants(policies, {variant: names for variant, names in workloads.items() if names})


def _seeds(raw: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(range(raw["first"], raw["first"] + raw["count"]))


def _setting_for(workload: str, settings: Mapping[str, _Setting], default: _Setting) -> _Setting:
    """Return the setting of a workload, of its numbered family, or the general one."""
    return settings.get(workload, settings.get(_family(workload), default))


def _family(workload: str) -> str:
    """Return ``sweep`` for ``sweep-01``; a name without a number at its end is its own family."""
    return re.sub(r"-\d+$", "", workload)


def _closest(name: str, known: Sequence[str], kind: str) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"{meant}known {kind}: {', '.join(known)}"


def _dotted(path: KeyPath) -> str:
    return ".".join(key for key in path if isinstance(key, str))  # the line number tells list items apart
