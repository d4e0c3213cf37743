"""The `relax` dialect: programs that call kernels, library functions and Python functions. See docs/design.md.

Its operators and constants are those of the `relay` dialect.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .calls import CallDpsPackedOp, CallPackedOp, CallPurePackedOp, CallTirOp
from .control import DataflowOp, IfOp, OutputOp
from .devices import HintOnDeviceOp, ToVdeviceOp
from .functions import CallOp, FuncOp, FuncRefOp, ReturnOp, YieldOp
from .in_place import CallInplacePackedOp, CallTirInplaceOp
from .memory import AllocTensorOp
from .text import function_lines
from .types import CallableType, ObjectType, PartialTensorType, PrimType, ShapeType
from .values import MatchCastOp, PrimValueOp, ShapeOfOp, ShapeOp, StringOp, TupleGetOp, TupleOp
from .words import ApplyOp

__all__ = [
    "AllocTensorOp",
    "ApplyOp",
    "CallDpsPackedOp",
    "CallInplacePackedOp",
    "CallOp",
    "CallPackedOp",
    "CallPurePackedOp",
    "CallTirInplaceOp",
    "CallTirOp",
    "CallableType",
    "DataflowOp",
    "FuncOp",
    "FuncRefOp",
    "HintOnDeviceOp",
    "IfOp",
    "MatchCastOp",
    "ObjectType",
    "OutputOp",
    "PartialTensorType",
    "PrimType",
    "PrimValueOp",
    "Relax",
    "ReturnOp",
    "ShapeOfOp",
    "ShapeOp",
    "ShapeType",
    "StringOp",
    "ToVdeviceOp",
    "TupleGetOp",
    "TupleOp",
    "YieldOp",
    "function_lines",
]

Relax = Dialect(
    "relax",
    [
        AllocTensorOp,
        ApplyOp,
        CallDpsPackedOp,
        CallOp,
        CallInplacePackedOp,
        CallPackedOp,
        CallPurePackedOp,
        CallTirInplaceOp,
        CallTirOp,
        DataflowOp,
        FuncOp,
        FuncRefOp,
        HintOnDeviceOp,
        IfOp,
        MatchCastOp,
        OutputOp,
        PrimValueOp,
        ReturnOp,
        ShapeOfOp,
        ShapeOp,
        StringOp,
        ToVdeviceOp,
        TupleGetOp,
        TupleOp,
        YieldOp,
    ],
    [CallableType, ObjectType, PartialTensorType, PrimType, ShapeType],
)
