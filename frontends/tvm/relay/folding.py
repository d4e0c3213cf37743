"""Expressions of constants: `FoldConstant`; and norms as a product and a sum: `SimplifyInference`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype, parse_dtype
from ....operators import Operator
from ....transforms.pipelines import run_pipeline
from ....transforms.relay.fold_constants import RelayFoldConstantsPass
from ....transforms.relay.simplify_inference import RelaySimplifyInferencePass
from ...relay.annotation import MARKS
from ...relay.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import TypedMutator
from ..ir.module import IRModule


def fold_constants(func: Any, with_quantized: bool = False) -> Any:
    """A typed graph, or an expression, in which expressions of constants are constants, as the compiled graph computes
    them.

    with_quantized: whether calls of `qnn` operators are computed, too.
    """
    return _Folding(with_quantized).visit(func)


class _Folding(TypedMutator):
    def __init__(self, with_quantized: bool):
        super().__init__()
        self.with_quantized = with_quantized

    def visit_function(self, fn: Function) -> Expr:
        return fn if "Primitive" in fn.attrs else super().visit_function(fn)

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if not isinstance(new.op, Operator) or new.op.name in MARKS or new.op.name == "nn.dropout":
            return new
        shape = _known_shape(call) if call.op.name in ("shape_of", "ndarray_size") else None
        if shape is not None:
            value = shape if call.op.name == "shape_of" else np.prod(shape, dtype="int64")
            return Constant(np.asarray(value, numpy_dtype(call.attrs.dtype)))  # pyright: ignore[reportAttributeAccessIssue]
        if new.op.name.startswith("qnn.") and not self.with_quantized:
            return new
        return _evaluated(new) if all(_constant_of(each) is not None for each in new.args) else new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = super().visit_tuple_getitem(op)
        whole = new.tuple_value if isinstance(new, TupleGetItem) else None
        return whole.fields[op.index] if isinstance(whole, Tuple) else new

    def visit_if(self, if_: If) -> Expr:
        cond = _constant_of(self.visit(if_.cond))
        if cond is None:
            return super().visit_if(if_)
        return self.visit(if_.true_branch if cond.array.item() else if_.false_branch)

    def visit_let(self, let: Let) -> Expr:
        value = self.visit(let.value)
        if _constant_of(value) is None:
            return super().visit_let(let)
        self.memo_map[let.var] = value
        return self.visit(let.body)


def _known_shape(call: Call) -> Any:
    """The shape of the operand of a call, None unless all of it is known."""
    kind = call.args[0].known_type
    shape = getattr(kind, "shape", None)
    return shape if shape is not None and all(isinstance(size, int) for size in shape) else None


def _constant_of(expr: Expr) -> Constant | None:
    """The constant that an expression is, perhaps with marks."""
    while isinstance(expr, Call) and operator_name(expr) in MARKS:
        expr = expr.args[0]
    return expr if isinstance(expr, Constant) else None


def _evaluated(call: Call) -> Expr:
    """The result of a call of constants; the call itself if it does not become a constant, for its size."""
    alike = Call(call.op, [_constant_of(each) for each in call.args], call.attrs)
    mod = IRModule.from_expr(Function([], alike))
    done = run_pipeline(mod, [RelaySimplifyInferencePass(), RelayFoldConstantsPass()])
    body = IRModule(done.op, done.constants)["main"].body
    parts = body.fields if isinstance(body, Tuple) else [body]
    return body if all(isinstance(each, Constant) for each in parts) else call


# Inference


def simplify_inference(func: Function) -> Function:
    """A typed graph in which `nn.batch_norm` is a product and a sum, and `nn.dropout` its operand."""
    return _Inference().visit(func)


class _Inference(TypedMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        name = operator_name(new)
        if name == "nn.dropout":
            return new.args[0]
        return _normalized(new, call) if name == "nn.batch_norm" else new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = super().visit_tuple_getitem(op)
        whole = new.tuple_value if isinstance(new, TupleGetItem) else None
        is_norm = isinstance(op.tuple_value, Call)
        return whole.fields[op.index] if is_norm and isinstance(whole, Tuple) else new


def _normalized(call: Call, old: Call) -> Tuple:
    """The results of a norm. Floats of 16 bits are computed in 32 bits, as the operator does. old: the call with
    types."""
    attrs: Any = call.attrs
    data, gamma, beta, mean, variance = call.args
    kind = old.args[0].checked_type
    dtype = "float32" if parse_dtype(kind.dtype).is_small_float else kind.dtype
    wide = lambda expr: expr if dtype == kind.dtype else new_call("cast", expr, dtype=dtype)  # noqa: E731
    number = lambda value: Constant(np.asarray(value, numpy_dtype(dtype)))  # noqa: E731
    root = new_call("sqrt", new_call("add", wide(variance), number(attrs.epsilon)))
    scale = new_call("divide", number(1), root)
    if attrs.scale:
        scale = new_call("multiply", scale, wide(gamma))
    shift = new_call("multiply", new_call("negative", wide(mean)), scale)
    if attrs.center:
        shift = new_call("add", shift, wide(beta))
    behind = len(kind.shape) - 1 - attrs.axis % len(kind.shape)
    if behind:
        scale, shift = (new_call("expand_dims", each, axis=1, num_newaxis=behind) for each in (scale, shift))
    result = new_call("add", new_call("multiply", wide(data), scale), shift)
    narrow = result if dtype == kind.dtype else new_call("cast", result, dtype=kind.dtype)
    return Tuple([narrow, mean, variance])
