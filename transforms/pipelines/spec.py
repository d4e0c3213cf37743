"""Pipelines as text: `tir-resolve-blocks,tir-simplify{unit-loops=true}`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_type_hints

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes as get_upstream_passes
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError, PluginError
from ...core.plugins import installed_universe
from .. import get_all_passes

PassTable: TypeAlias = Mapping[str, Callable[[], type[ModulePass]]]
"""The loader of each pass, by name."""


def known_passes() -> PassTable:
    """The passes of other packages, of xDSL and of Stepwell."""
    return {**installed_universe().all_passes, **get_upstream_passes(), **get_all_passes()}


def parse_passes(spec: str, known: PassTable | None = None) -> tuple[ModulePass, ...]:
    """The passes of a pipeline such as `tir-resolve-blocks,tir-simplify{unit-loops=true}`, as `stepwell-opt -p` takes
    it. known: the passes to choose from, by default `known_passes`.

    Raises OptionError for a malformed pipeline, an unknown pass, and an unknown or invalid option;
    PluginError for a pass whose package is broken.
    """
    known = known_passes() if known is None else known
    try:
        specs = list(parse_pipeline(spec))
    except ArgSpecParseError as error:
        raise OptionError(f"pipeline {spec!r}: {error}") from None
    for each in specs:
        if each.name not in known:
            raise OptionError(f"pipeline {spec!r}: no pass {each.name!r}{did_you_mean(each.name, known)}")
    return tuple(_pass_of(_load(known, each.name), each) for each in specs)


def _load(known: PassTable, name: str) -> type[ModulePass]:
    """The class of a pass. PluginError if its module cannot be imported, or has no such class."""
    try:
        return known[name]()
    except PluginError:
        raise
    except Exception as error:  # importing a module may raise any exception
        raise PluginError(f"pass {name} cannot be loaded: {type(error).__name__}: {error}") from error


def _pass_of(cls: type[ModulePass], spec: ArgSpec) -> ModulePass:
    """A pass with its options. OptionError for an unknown, missing or invalid option."""
    options = [_spelling(field.name) for field in dataclasses.fields(cls) if field.name != "name" and field.init]
    for given in spec.parameters:
        if _spelling(given) not in options:
            hint = did_you_mean(_spelling(given), options)
            raise OptionError(f"pass {spec.name}: no option {given!r}{hint} (has: {', '.join(options) or 'none'})")
    missing = set(map(_spelling, cls.required_fields() - {"name"})) - set(map(_spelling, spec.parameters))
    if missing:
        raise OptionError(f"pass {spec.name}: option {min(missing)!r} is missing")
    types = get_type_hints(cls)
    for name, value in spec.normalize_parameter_names().parameters.items():
        if not _has_type(value, types[name]):
            expected = type_repr(types[name])
            raise OptionError(f"pass {spec.name}: option {_spelling(name)!r}: expected {expected}, got {_text(value)}")
    try:
        return cls.from_spec(spec)
    except ValueError as error:
        raise OptionError(f"pass {spec.name}: {error}") from error


def _has_type(value: ParameterListType, hint: Any) -> bool:
    """Whether the value of an option in a pipeline, a tuple, has a type: as the tuple, its only element, or None."""
    return isa(value, hint) or (len(value) == 1 and isa(value[0], hint)) or (not value and isa(None, hint))


def _spelling(option: str) -> str:
    """The name of an option as text spells it."""
    return option.replace("_", "-")


def _text(value: tuple[Any, ...]) -> str:
    """The value of an option as in a pipeline."""
    return ",".join(str(each).lower() if isinstance(each, bool) else repr(each) for each in value) or "no value"
