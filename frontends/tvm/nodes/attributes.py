"""Attributes of IR as values of Python."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ....core.dtypes import mlir_type
from ....core.errors import OptionError
from ....dialects.tir import TargetAttr
from ....dialects.tir.annotations import annotation_value
from ....expressions.expr import FloatImm, IntImm, StringImm
from ....operators.relay.attributes import as_python
from ..target.target import Target


def attribute_of(value: object) -> Attribute:
    """The attribute of a value of Python, of a constant or of a target. ValueError for other values."""
    if isinstance(value, IntImm | FloatImm):
        kind: Any = mlir_type(value.data_type)
        return IntegerAttr(value.value, kind) if isinstance(value, IntImm) else FloatAttr(value.value, kind)
    if isinstance(value, StringImm):
        value = value.value
    if not isinstance(value, Target):
        return annotation_value(value)
    return TargetAttr(annotation_value(dict(sorted(value.export().items()))))


def python_value(attribute: Attribute) -> Any:
    """The value of an attribute; the attribute itself if it has no value of Python."""
    match attribute:
        case TargetAttr():
            try:
                return Target(python_value(attribute.config))
            except OptionError:  # a kind or an option of another version of TVM
                return attribute
        case DictionaryAttr():
            return {key: python_value(value) for key, value in attribute.data.items()}
        case _:
            pass
    try:
        return as_python(attribute)
    except VerifyException:
        return attribute
