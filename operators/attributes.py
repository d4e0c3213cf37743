"""Attributes of operators: checks of their names, and conversion of their values to their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, cast

from ..core.diagnostics import did_you_mean
from ..core.dtypes import is_numpy_dtype, parse_dtype
from ..core.errors import SizeError
from ..core.sizes import check_size
from ..expressions.errors import TeError
from .definition import Attribute, Operator


def normalize_attributes(operator: Operator, given: Mapping[str, object]) -> dict[str, Any]:
    """The attributes of an operator that differ from their defaults, in the order of its definition.

    Sequences become tuples, and integers become floats where floats are expected. TeError for an unknown or missing
    attribute, and for a value of another type.
    """
    known = {attribute.name: attribute for attribute in operator.attributes}
    for name in given:
        if name not in known:
            has = ", ".join(known) or "none"
            raise TeError(f"{operator.name}: no attribute {name!r}{did_you_mean(name, known)} (has: {has})")
    attributes: dict[str, Any] = {}
    for name, attribute in known.items():
        if name in given:
            value = _convert(operator, attribute, given[name])
            if value != attribute.default or isinstance(value, bool) != isinstance(attribute.default, bool):
                attributes[name] = value
        elif attribute.default is Parameter.empty:
            raise TeError(f"{operator.name}: attribute {name!r} is missing, expected {attribute.type}")
    return attributes


def _convert(operator: Operator, attribute: Attribute, value: object) -> Any:
    for alternative in _ALIASES.get(attribute.type, attribute.type).split(" | "):
        try:
            converted = _CONVERSIONS[alternative](value)
        except SizeError as error:
            raise TeError(f"{operator.name}: {attribute.name}: {error}") from None
        if converted is not _OTHER:
            return converted
    raise TeError(f"{operator.name}: {attribute.name} = {value!r}, expected {attribute.type}")


_OTHER = object()
"""The result for a value of another type."""


def _int(value: object) -> object:
    if isinstance(value, bool):
        return _OTHER
    index = getattr(value, "__index__", None)  # of numpy's integers too
    return _OTHER if index is None else check_size(index())


def _float(value: object) -> object:
    is_number = hasattr(value, "__float__") and not isinstance(value, bool | str)
    return float(cast(Any, value)) if is_number and getattr(value, "ndim", 0) == 0 else _OTHER


def _str(value: object) -> object:
    if is_numpy_dtype(value):
        return parse_dtype(value).name
    return value if isinstance(value, str) else _OTHER


def _bool(value: object) -> object:
    return bool(value) if type(value).__name__ in ("bool", "bool_") else _OTHER


def _none(value: object) -> object:
    return None if value is None else _OTHER


def _sequence(item: Callable[[object], object]) -> Callable[[object], object]:
    def convert(value: object) -> object:
        is_list = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
        if not is_list or isinstance(value, str):
            return _OTHER
        items = [item(each) for each in cast("Sequence[object]", value)]
        return _OTHER if any(each is _OTHER for each in items) else tuple(items)

    return convert


_CONVERSIONS: dict[str, Callable[[object], object]] = {
    "int": _int,
    "float": _float,
    "str": _str,
    "bool": _bool,
    "None": _none,
    "object": lambda value: value,
    "Sequence[int]": _sequence(_int),
    "Sequence[float]": _sequence(_float),
    "Sequence[Sequence[int]]": _sequence(_sequence(_int)),
    "Sequence[str]": _sequence(_str),
}

_ALIASES = {
    "Axes": "int | Sequence[int] | None",
    "Window": "int | Sequence[int]",
    "Widths": "Sequence[Sequence[int]]",
    "Window | None": "int | Sequence[int] | None",
}
