"""Calls: of other functions of the module, of C symbols, of registered Python functions, of builtins."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import SymbolTable, SymbolUserOpInterface

from ..attributes import ELSEWHERE
from .base import HandleType, TirOp, require
from .functions import FuncOp


class _CallOp(TirOp):
    """Base class of calls: arguments, and an optional result."""

    @property
    def has_result(self) -> bool:
        return bool(self.results)


class _CalleeExists(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if isinstance(callee, func.FuncOp) and ELSEWHERE in callee.attributes:
            return
        require(isinstance(callee, FuncOp), lambda: f"(C1) no function {op.callee.string_value()!r} in the module")
        assert isinstance(callee, FuncOp)
        params = callee.body.block.args
        require(len(params) == len(op.args), lambda: f"(C2) {len(op.args)} arguments, expected {len(params)}")
        for i, (param, arg) in enumerate(zip(params, op.args, strict=True)):
            pointer = isinstance(arg.type, HandleType) or isinstance(param.type, HandleType)
            require(
                param.type == arg.type or pointer, lambda: f"(C2) argument {i} is {arg.type}, expected {param.type}"
            )
        got = op.results[0].type if op.results else None
        require(got == callee.result_type, lambda: f"(C3) result {got}, expected {callee.result_type}")


@irdl_op_definition
class CallOp(_CallOp):
    """Call another function of the module.

    Constraints
        (C1) the module has a function of this name, or declares one of another part (`stepwell.elsewhere`).
        (C2) one argument of the same type for each parameter; a pointer may be passed for a buffer and vice versa.
        (C3) the result type is the result type of the function.

    Example
        tir.call @add(%A, %B) : memref<8xf32>, memref<8xf32>

    Source: `cls.add(A.data, B.data)`, `Module.add(...)` (Call of a GlobalVar)
    """

    name = "tir.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    args = var_operand_def()
    result = opt_result_def()

    traits = traits_def(_CalleeExists())
    assembly_format = "$callee `(` $args `)` attr-dict (`:` type($args)^)? (`->` type($result)^)?"

    def __init__(self, callee: str, args: Sequence[SSAValue], type: Attribute | None = None):
        super().__init__(
            operands=[args], properties={"callee": SymbolRefAttr(callee)}, result_types=[None if type is None else type]
        )


@irdl_op_definition
class CallExternOp(_CallOp):
    """Call a C function by its symbol.

    pure: present if the call has no side effects.

    Example
        %y = tir.call_extern "sinf"(%x) : f32 -> f32

    Source: `T.call_extern("float32", "sinf", x)`, `T.call_pure_extern`
    """

    name = "tir.call_extern"

    callee = prop_def(StringAttr)
    pure = opt_prop_def(UnitAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = "(`pure` $pure^)? $callee `(` $args `)` attr-dict (`:` type($args)^)? (`->` type($result)^)?"

    def __init__(self, callee: str, args: Sequence[SSAValue], type: Attribute | None = None, *, pure: bool = False):
        super().__init__(
            operands=[args],
            properties={"callee": StringAttr(callee), "pure": UnitAttr() if pure else None},
            result_types=[type],
        )


@irdl_op_definition
class CallPackedOp(_CallOp):
    """Call a Python function registered under a name, which receives a buffer argument as an array over its memory.

    Example
        %r = tir.call_packed "env.add"(%A, %n) : memref<8xf32>, i32 -> i32

    Source: `T.call_packed("env.add", A, n)`
    """

    name = "tir.call_packed"

    callee = prop_def(StringAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = "$callee `(` $args `)` attr-dict (`:` type($args)^)? (`->` type($result)^)?"

    def __init__(self, callee: str, args: Sequence[SSAValue], type: Attribute | None = None):
        super().__init__(operands=[args], properties={"callee": StringAttr(callee)}, result_types=[type])


@irdl_op_definition
class CallIntrinOp(_CallOp):
    """Call a builtin of a target by name: synchronisation, warp shuffles, matrix units.

    intrinsic: the name without `T.`.  A target rejects builtins that it does not support.

    Example
        %s = tir.const "shared" : !tir.handle
        tir.call_intrin "tvm_storage_sync"(%s) : !tir.handle

    Source: `T.tvm_storage_sync("shared")`, ... (Call of a builtin with effects)
    """

    name = "tir.call_intrin"

    intrinsic = prop_def(StringAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = "$intrinsic `(` $args `)` attr-dict (`:` type($args)^)? (`->` type($result)^)?"

    def __init__(self, intrinsic: str, args: Sequence[SSAValue], type: Attribute | None = None):
        super().__init__(operands=[args], properties={"intrinsic": StringAttr(intrinsic)}, result_types=[type])
