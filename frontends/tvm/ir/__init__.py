"""The module `tvm.ir`."""

from ....expressions.expr import PrimExpr
from ....operators import Operator as Op
from ...relay.expr import GlobalVar
from ...relay.types import FuncType, TensorType, TupleType
from ..absent import report_absent
from ..intrinsics import register_intrin_lowering, register_op_attr
from .comparison import assert_structural_equal, structural_equal, structural_hash
from .module import IRModule, PrimFunc
from .range import Range

__getattr__ = report_absent("tvm.ir")

__all__ = [
    "FuncType",
    "GlobalVar",
    "IRModule",
    "Op",
    "PrimExpr",
    "PrimFunc",
    "Range",
    "TensorType",
    "TupleType",
    "assert_structural_equal",
    "register_intrin_lowering",
    "register_op_attr",
    "structural_equal",
    "structural_hash",
]
