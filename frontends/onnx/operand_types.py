"""Checks of the data types of operands against the schemas of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from onnx import TensorProto, defs, helper

from ..models.types import dtype_name
from ..models.values import Item, ModelTensor
from .errors import OnnxError
from .graph import OnnxNode


@dataclass(frozen=True)
class _Operand:
    """A formal operand of an operator: its name, its data types, and the type variable that it shares with other
    operands, if any."""

    name: str
    dtypes: tuple[str, ...]
    variable: str | None


def check_operand_types(node: OnnxNode, operands: Sequence[Item]) -> None:
    """Raises OnnxError for operands whose data types the schema of an ONNX operator does not accept, alone or in
    combination."""
    known = _operands(node.op_type, node.version, node.domain)
    bound: dict[str, tuple[str, str]] = {}
    for index, value in enumerate(operands):
        if not isinstance(value, ModelTensor) or not known:
            continue
        operand = known[min(index, len(known) - 1)]
        if value.dtype not in operand.dtypes:
            expected = ", ".join(operand.dtypes) or "no tensor"
            raise OnnxError(f"operand {index} ({operand.name}) is of {value.dtype}, expected {expected}")
        if operand.variable is None:
            continue
        name, dtype = bound.setdefault(operand.variable, (f"operand {index} ({operand.name})", value.dtype))
        if value.dtype != dtype:
            raise OnnxError(
                f"operand {index} ({operand.name}) is of {value.dtype}, expected {dtype}, which {name} is of"
            )


@cache
def _operands(op_type: str, version: int, domain: str) -> tuple[_Operand, ...]:
    """The formal operands of an operator, the last of which may be variadic; empty for an operator without a schema."""
    if not defs.has(op_type, version, domain):
        return ()
    schema = defs.get_schema(op_type, version, domain)
    variables = {constraint.type_param_str for constraint in schema.type_constraints}
    return tuple(
        _Operand(
            each.name,
            tuple(dtype for text, dtype in _dtypes().items() if each.types & {text, f"optional({text})"}),
            each.type_str if each.type_str in variables and each.is_homogeneous else None,
        )
        for each in schema.inputs
    )


@cache
def _dtypes() -> dict[str, str]:
    """The data type of the elements by ONNX's name of a tensor type."""
    return {
        f"tensor({TensorProto.DataType.Name(code).lower()})": dtype_name(helper.tensor_dtype_to_np_dtype(code))
        for code in helper.get_all_tensor_dtypes()
    }
