"""The module `tvm.ir`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ....core.errors import UnsupportedError
from ....expressions.expr import PrimExpr
from ...relay.adt import Constructor
from ...relay.expr import GlobalVar
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from ...relay.types import TypeCall as TypeCall
from ...relay.types import TypeData as TypeData
from ..absent import report_absent
from ..family import Family
from ..intrinsics import register_intrin_lowering, register_op_attr
from ..nodes.expr import PointerType, PrimType
from . import analysis, diagnostics
from .attributes import Attributes
from .comparison import assert_structural_equal, get_first_structural_mismatch, structural_equal, structural_hash
from .env_func import EnvFunc
from .families import Attrs, BaseExpr, BaseFunc, GlobalInfo, Node, RelayExpr, SourceName, Type, TypeConstraint
from .module import IRModule, PrimFunc
from .node_json import load_json, save_json
from .operators import Op
from .range import Range
from .span import Span
from .vdevice import VDevice

__getattr__ = report_absent("tvm.ir")


class CallingConv(IntEnum):
    """The ways in which functions are called, with TVM's numbers, as their attribute `calling_conv` states."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


DictAttrs = Attributes
"""The type of the attributes of functions."""


class Array(list[Any], metaclass=Family, members=lambda: (list, tuple)):
    """The type of lists of nodes and of results: lists and tuples of Python."""


Map = dict
"""The type of dictionaries of nodes: dictionaries of Python."""


def make_node(type_key: str, **kwargs: Any) -> dict[str, Any]:
    """The attributes of a call of a function: `make_node("DictAttrs", name=value)`. UnsupportedError for another type
    of nodes, whose constructor creates them."""
    if type_key != "DictAttrs":
        raise UnsupportedError(f"make_node: {type_key!r}, expected 'DictAttrs': other nodes have constructors")
    return kwargs


__all__ = [
    "Array",
    "Attrs",
    "BaseExpr",
    "BaseFunc",
    "Constructor",
    "EnvFunc",
    "FuncType",
    "GlobalInfo",
    "GlobalTypeVar",
    "GlobalVar",
    "IRModule",
    "IncompleteType",
    "Map",
    "Node",
    "Op",
    "PointerType",
    "PrimExpr",
    "PrimFunc",
    "PrimType",
    "Range",
    "RefType",
    "RelayExpr",
    "SourceName",
    "Span",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "VDevice",
    "analysis",
    "assert_structural_equal",
    "diagnostics",
    "get_first_structural_mismatch",
    "load_json",
    "make_node",
    "register_intrin_lowering",
    "register_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
]
