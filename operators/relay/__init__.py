"""The `relay` dialect: graphs of operators on tensors, without loops or memory. See docs/design.md."""

from __future__ import annotations

from xdsl.ir import Dialect

from .builder import RelayBuilder
from .constants import constant_array
from .functions import (
    RESULT_NAMES,
    SIZE_LIMITS,
    SIZE_PARAMETERS,
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    ReturnOp,
    SizeLimit,
    YieldOp,
)
from .inference import SizeScope, free_sizes, names_of_size, operand_names, result_types, type_of_tensor
from .operators import OPERATIONS, OperatorOp
from .types import Size, SizesAttr, dtype_of_tensor, normal_size, shape_of, tensor_type

__all__ = [
    "OPERATIONS",
    "RESULT_NAMES",
    "SIZE_LIMITS",
    "SIZE_PARAMETERS",
    "CallOp",
    "ConstantOp",
    "FuncOp",
    "IfOp",
    "OperatorOp",
    "Relay",
    "RelayBuilder",
    "ReturnOp",
    "Size",
    "SizeLimit",
    "SizeScope",
    "SizesAttr",
    "YieldOp",
    "constant_array",
    "dtype_of_tensor",
    "free_sizes",
    "names_of_size",
    "normal_size",
    "operand_names",
    "result_types",
    "shape_of",
    "tensor_type",
    "type_of_tensor",
]

Relay = Dialect("relay", [CallOp, ConstantOp, FuncOp, IfOp, ReturnOp, YieldOp, *OPERATIONS.values()], [SizesAttr])
