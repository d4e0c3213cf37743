"""Types of values that a program computes, and joins of these types: the type of a state of a loop, which each
iteration replaces, and of the value of a branch.

An extent that a join does not determine is `UNKNOWN`; each tensor that a program takes out of a sequence, or receives
from a loop, has a new size in its place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...operators.relay.types import names_of
from .errors import ModelUnsupportedError
from .types import Dimension, OptionalType, SequenceType, TensorType, ValueType
from .values import Item, ModelObject, ModelTensor

UNKNOWN = "?"
"""An extent that differs between the values of a type."""


def object_type(declared: ValueType) -> ValueType:
    """The type of an input that is a sequence or an optional value: names of extents in it do not denote sizes."""
    return forget_sizes(declared, None)


def forget_sizes(type: ValueType, names: Collection[str] | None) -> ValueType:
    """A type whose extents with one of some names, by default all names, are unknown."""
    match type:
        case TensorType(_, shape):
            return type if shape is None else replace(type, shape=tuple(_forget(each, names) for each in shape))
        case SequenceType():
            return type if type.element is None else SequenceType(forget_sizes(type.element, names))
        case OptionalType():
            return OptionalType(forget_sizes(type.element, names))


def _forget(extent: Dimension, names: Collection[str] | None) -> Dimension:
    if isinstance(extent, int) or extent == UNKNOWN:
        return extent
    return UNKNOWN if names is None or any(name in names for name in names_of(extent)) else extent


def runtime_type(item: Item) -> ValueType | None:
    """The type of a value in a program, in which a list is a sequence; None for an absent value."""
    match item:
        case None:
            return None
        case ModelTensor() | ModelObject():
            return item.type
        case list():
            element: ValueType | None = None
            for each in item:
                element = join(element, runtime_type(each), "elements of a sequence")
            return SequenceType(element)


def join(a: ValueType | None, b: ValueType | None, what: str) -> ValueType | None:
    """The type of values of two types; None denotes no type yet. Raises ModelUnsupportedError for types without values
    in common. what: the values, for the error."""
    match a, b:
        case None, _:
            return b
        case _, None:
            return a
        case TensorType(), TensorType() if a.dtype == b.dtype:
            return TensorType(a.dtype, _join_shapes(a.shape, b.shape))
        case SequenceType(), SequenceType():
            return SequenceType(join(a.element, b.element, what))
        case OptionalType(), _:
            return OptionalType(_joined(a.element, b.element if isinstance(b, OptionalType) else b, what))
        case _, OptionalType():
            return join(b, a, what)
        case _:
            raise ModelUnsupportedError(f"{what} of types {a} and {b}")


def _joined(a: ValueType, b: ValueType, what: str) -> ValueType:
    type = join(a, b, what)
    assert type is not None
    return type


def join_presence(a: ValueType | None, b: ValueType | None, what: str) -> ValueType:
    """The type of values of two types, one of which may be absent (None). Raises ModelUnsupportedError as of `join`,
    and if both are."""
    known = join(a, b, what)
    if known is None:
        raise ModelUnsupportedError(f"{what} that are absent")
    return known if (a is None) == (b is None) or isinstance(known, OptionalType) else OptionalType(known)


def _join_shapes(a: tuple[Dimension, ...] | None, b: tuple[Dimension, ...] | None) -> tuple[Dimension, ...] | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(left if left == right else UNKNOWN for left, right in zip(a, b, strict=True))
