"""Translation of expressions to IR: ops of `arith`, `math` and `tir`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import SSAValue

from ..core.dtypes import mlir_type
from ..core.gpu import DOT4
from ..core.llvm_intrinsics import LLVM_INTRINSICS
from ..dialects import te
from ..dialects.tir import FLOAT_BINARY, INT_BINARY, INTRINSICS, CallExternOp, CallLlvmOp, Mixed, TirBuilder
from .errors import TeError
from .expr import (
    And,
    BinaryOp,
    Call,
    Cast,
    FloatImm,
    IfThenElse,
    IntImm,
    Not,
    Or,
    PrimExpr,
    PureExternCall,
    Select,
    StringImm,
    Var,
)
from .tensor import ProducerLoad, Tensor


class ExpressionEmitter:
    """Emits expressions at the insertion point of a builder.

    known: the value of each expression that was emitted or is available from the start: axes, sizes.  tensors: the
    values of the tensors that may be read.
    """

    def __init__(self, builder: TirBuilder, known: Mapping[PrimExpr, SSAValue], tensors: Mapping[Tensor, SSAValue]):
        self.builder = builder
        self.known = dict(known)
        self.tensors = tensors

    def write(self, expr: PrimExpr) -> SSAValue:
        """The value of an expression. TeError for a variable or tensor that is not available here."""
        todo = [expr]
        while todo:
            top = todo[-1]
            if top in self.known:
                todo.pop()
                continue
            missing = [child for child in _eager_operands(top) if child not in self.known]
            if missing:  # operands first: no recursion, whose depth would grow with the expression
                todo += reversed(missing)
                continue
            self.known[top] = self._emit(top)
        return self.known[expr]

    def number(self, expr: PrimExpr) -> Mixed:
        """A size or bound: a number if it is constant, else its value."""
        return expr.value if isinstance(expr, IntImm) else self.write(expr)

    def _write_lazily(self, expr: PrimExpr) -> SSAValue:
        """The value of an expression, emitted at the insertion point and not reused by later expressions."""
        saved, self.known = self.known, dict(self.known)
        try:
            return self.write(expr)
        finally:
            self.known = saved

    def _emit(self, expr: PrimExpr) -> SSAValue:
        build, known = self.builder, self.known
        match expr:
            case IntImm() | FloatImm():
                return build.const(expr.value, expr.data_type)
            case StringImm():
                return build.string(expr.value)
            case Cast():
                return build.cast(known[expr.value], expr.data_type)
            case BinaryOp():
                return build.binary(expr.operator, known[expr.a], known[expr.b])
            case And():
                name = "or" if isinstance(expr, Or) else "and"
                return build.logical(name, known[expr.a], lambda: self._write_lazily(expr.b))
            case Not():
                return build.logical_not(known[expr.a])
            case Select():
                return build.select(*(known[child] for child in expr.children))
            case IfThenElse():
                return build.if_then_else(
                    known[expr.condition],
                    mlir_type(expr.data_type),
                    lambda: self._write_lazily(expr.true_value),
                    lambda: self._write_lazily(expr.false_value),
                )
            case Call():
                return self._call(expr, [known[arg] for arg in expr.args])
            case PureExternCall() if expr.name == DOT4 and len(expr.args) == 3:
                return build.dot4(*(known[arg] for arg in expr.args))
            case PureExternCall():
                call = CallExternOp(expr.name, [known[arg] for arg in expr.args], mlir_type(expr.data_type), pure=True)
                result = build.insert(call).result
                assert result is not None
                return result
            case ProducerLoad():
                indices = [known[index] for index in expr.indices]
                return build.insert(te.ReadOp(self._tensor(expr.producer), indices)).result
            case Var():
                raise TeError(f"variable {expr.name} is neither an axis here nor a size of a tensor or argument")
            case _:
                raise TeError(f"{expr!r} cannot stand here")

    def _tensor(self, tensor: Tensor) -> SSAValue:
        if tensor not in self.tensors:
            raise TeError(f"tensor {tensor.name} is read before it is computed")
        return self.tensors[tensor]

    def _call(self, expr: Call, args: Sequence[SSAValue]) -> SSAValue:
        if expr.op == "reinterpret":
            return self.builder.reinterpret(args[0], mlir_type(expr.data_type))
        if expr.op in LLVM_INTRINSICS:
            result, wanted = self.builder.insert(CallLlvmOp(expr.op, args)).result, mlir_type(expr.data_type)
            return result if result.type == wanted else self.builder.reinterpret(result, wanted)
        if expr.op in INTRINSICS:
            return self.builder.intrinsic(expr.op, *args)
        if len(args) == 1:
            return self.builder.unary(expr.op, args[0])
        if expr.op not in FLOAT_BINARY and expr.op not in INT_BINARY:
            raise TeError(f"{expr.op} of {len(args)} arguments cannot stand here")
        return self.builder.binary(expr.op, *args)


def _eager_operands(expr: PrimExpr) -> Iterable[PrimExpr]:
    """The operands of an expression that are computed unconditionally."""
    match expr:
        case IfThenElse():
            return (expr.condition,)
        case And():
            return (expr.a,)
        case _:
            return expr.children
