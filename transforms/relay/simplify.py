"""The pass `relay-simplify`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, inf
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import int_range, parse_dtype, preserves_int
from ...core.walking import find_ops
from ...expressions.errors import TeError
from ...operators.relay import ConstantOp, FuncOp, OperatorOp, RelayBuilder, Size, dtype_of_tensor, shape_of
from ...operators.windows import paddings
from .graphs import RESHAPES, drop_unused_arrays, erase, graphs_of, operator_at, replace, splat_number

Rule: TypeAlias = "Callable[[OperatorOp, RelayBuilder], SSAValue | None]"
"""A rewrite rule: returns the replacement of an operator, or None if it does not apply. Unused insertions are erased.
"""


class RelaySimplifyPass(ModulePass):
    """Replaces operators by fewer or simpler operators with the same results, to the last bit.

    Removes operators that add 0, multiply by 1, move no element or convert to the type of the operand; merges chains of
    transposes, reshapes, casts, clips and paddings; turns zeros around an image into padding of the convolution or pool
    that reads it, and a product with a transpose into a product with a transpose flag. `x + 0.0` becomes x where x is
    known to be no -0.0.

    Before
        %0 = relay.transpose(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
        %1 = relay.transpose(%0) : (tensor<3x2xf32>) -> tensor<2x3xf32>
        %2 = relay.constant 1.0 : tensor<f32>
        %3 = relay.multiply(%1, %2) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>

    After
        %x

    Must hold before: nothing; primitive functions stay as they are.

    Gone after: nothing.
    """

    name = "relay-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with drop_unused_arrays(op):
            for func in graphs_of(op):
                while _simplify(func):
                    pass


def _simplify(func: FuncOp) -> bool:
    """Simplifies each operator once, then erases operators without uses. Returns whether the function has changed."""
    changed = False
    for op in list(find_ops(func, OperatorOp)):
        for rule in _RULES.get(op.operator.name, ()):
            replacement = _apply(rule, op)
            if replacement is not None:
                replace(op, [replacement])
                changed = True
                break
    for op in reversed(list(find_ops(func, OperatorOp, ConstantOp))):
        if not any(result.uses for result in op.results):
            erase(op)
    return changed


def _apply(rule: Rule, op: OperatorOp) -> SSAValue | None:
    """The replacement of an operator by a rule; None unless its type is the type of the operator."""
    try:
        replacement = rule(op, RelayBuilder(InsertPoint.before(op), location=op.location))
    except TeError:  # operands of an inserted operator do not match
        return None
    return replacement if replacement is not None and replacement.type == op.outputs[0].type else None


# Arithmetic


def _neutral(number: float, *indices: int) -> Rule:
    """A rule that removes an operator whose operand at one of the indices is the identity element `number`."""

    def rule(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
        for index in indices:
            operand = splat_number(op.args[index])
            if operand is not None and operand == number and _is_exact(op, index, operand):
                return op.args[1 - index]
        return None

    return rule


def _is_exact(op: OperatorOp, index: int, number: float) -> bool:
    """Whether adding (or subtracting) `number` keeps the other operand unchanged: only zeros may not, as -0.0 + 0.0 is
    0.0.
    """
    if not isinstance(number, float) or number != 0.0:
        return True
    is_negative = copysign(1, number) < 0
    added = is_negative if op.operator.name == "add" else not is_negative
    return added or operator_at(op.args[1 - index], *_NEVER_NEGATIVE_ZERO) is not None


_NEVER_NEGATIVE_ZERO = ("abs", "exp", "nn.relu", "sigmoid", "nn.softmax")


def _involution(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    """Removes an operator that is its own inverse and is applied twice."""
    inner = operator_at(op.args[0], op.operator.name)
    return inner.args[0] if inner is not None and inner.explicit_attributes == op.explicit_attributes else None


def _idempotent(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    """Removes the second application of an idempotent operator."""
    return op.args[0] if operator_at(op.args[0], op.operator.name) is not None else None


def _clip_of_clip(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    inner = operator_at(op.args[0], "clip")
    if inner is None:
        return None
    (a, b), (c, d) = ((each.attribute_value("a_min"), each.attribute_value("a_max")) for each in (inner, op))
    if not (a <= b and c <= d and max(a, c) <= min(b, d)) or 0 in (a, b, c, d):  # signed zeros
        return None
    return build.operator("clip", inner.args[0], a_min=max(a, c), a_max=min(b, d))


def _relu_of_clip(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    inner = operator_at(op.args[0], "clip")
    return (
        op.args[0]
        if inner is not None and 0 < inner.attribute_value("a_min") <= inner.attribute_value("a_max")
        else None
    )


# Data types


def _holds(wide: str, narrow: str) -> bool:
    """Whether a data type represents all numbers of another data type."""
    a, b = parse_dtype(wide), parse_dtype(narrow)
    if wide == narrow or b.is_bool:
        return True
    if a.is_float and b.is_float:
        return a.format.represents(b.format)
    if a.is_float:
        return b.is_int and all(preserves_int(a, bound) for bound in int_range(b))
    return a.is_int and b.is_int and (a.bits > b.bits and (a.kind == "int" or b.kind == "uint"))


def _cast_of_cast(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    inner = operator_at(op.args[0], "cast")
    if inner is None:
        return None
    first, between, last = (dtype_of_tensor(each) for each in (inner.args[0], op.args[0], op.outputs[0]))
    wraps = parse_dtype(first).is_int and parse_dtype(between).is_float and parse_dtype(last).is_int
    if not _holds(between, first) or (wraps and not _holds(last, first)):  # saturates where integers wrap
        return None
    return build.cast(inner.args[0], last)


# Shapes and orders


def _same_type(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    """Removes an operator that moves no element, as its type is the type of its operand."""
    return op.args[0] if op.args[0].type == op.outputs[0].type else None


def _whole_slice(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    strides = op.attribute_value("strides")
    return _same_type(op, build) if strides is None or min(strides, default=1) > 0 else None


def _only_one(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    return op.args[0] if len(op.args) == 1 else None


def _without_empty(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    """Concatenates only the tensors that have elements."""
    axis = op.attribute_value("axis") % len(shape_of(op.args[0]))
    kept = [arg for arg in op.args if shape_of(arg)[axis] != 0]
    if not kept or len(kept) == len(op.args):
        return None
    return build.operator("concatenate", *kept, axis=axis)


def _order(op: OperatorOp) -> tuple[int, ...]:
    rank, axes = len(shape_of(op.args[0])), op.attribute_value("axes")
    return tuple(reversed(range(rank))) if axes is None else tuple(axis % rank for axis in axes)


def _merge_transposes(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    """Merges two transposes; removes transposes that move only extents of 1, or nothing."""
    data, order = op.args[0], _order(op)
    inner = operator_at(data, "transpose")
    if inner is not None:
        first = _order(inner)
        return build.operator("transpose", inner.args[0], axes=[first[axis] for axis in order])
    if order == tuple(range(len(order))):
        return data
    long = [axis for axis in order if shape_of(data)[axis] != 1]
    return _reshape(build, data, shape_of(op.outputs[0])) if long == sorted(long) else None


def _reshape(build: RelayBuilder, data: SSAValue, shape: Sequence[Size]) -> SSAValue | None:
    """A tensor in another shape, if `reshape` can express it: all sizes but one are known and positive."""
    sizes = [size if isinstance(size, int) and size > 0 else -1 for size in shape]
    return build.operator("reshape", data, newshape=sizes) if sizes.count(-1) < 2 else None


def _reshape_of_reshape(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    inner = operator_at(op.args[0], *RESHAPES)
    if inner is None:
        return None
    data = inner.args[0]
    if data.type == op.outputs[0].type:
        return data
    is_reshape = "reshape" in (op.operator.name, inner.operator.name)  # other pairs are simpler than a reshape
    return _reshape(build, data, shape_of(op.outputs[0])) if is_reshape else None


# Products


def _transpose_operand(value: SSAValue) -> SSAValue | None:
    """The operand of a transpose of the last two axes; None for constants, whose transposes are constants."""
    inner = operator_at(value, "transpose")
    if inner is None or isinstance(inner.args[0].owner, ConstantOp):
        return None
    rank, order = len(shape_of(value)), _order(inner)
    return inner.args[0] if order == (*range(rank - 2), rank - 1, rank - 2) else None


def _product_of_transpose(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    for index, flag in enumerate(("transpose_a", "transpose_b")):
        data = _transpose_operand(op.args[index])
        if data is not None:
            args = [data if n == index else arg for n, arg in enumerate(op.args)]
            return build.operator(
                op.operator.name, *args, **{**op.explicit_attributes, flag: not op.attribute_value(flag)}
            )
    return None


def _dense_of_transpose(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    data, weight = op.args[0], _transpose_operand(op.args[1])
    if weight is None or len(shape_of(data)) != 2:
        return None
    return build.operator("nn.matmul", data, weight, out_dtype=op.attribute_value("out_dtype"))


# Padding


def _widths(op: OperatorOp) -> list[tuple[int, int]] | None:
    """The padding before and after each axis of a `nn.pad` by a constant; None for other modes or negative padding."""
    widths = [(front, back) for front, back in op.attribute_value("pad_width")]
    if op.attribute_value("pad_mode") != "constant" or any(n < 0 for pair in widths for n in pair):
        return None
    return widths


def _pad_of_nothing(op: OperatorOp, _build: RelayBuilder) -> SSAValue | None:
    return None if any(n for pair in op.attribute_value("pad_width") for n in pair) else op.args[0]


def _pad_of_pad(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
    inner = operator_at(op.args[0], "nn.pad")
    if inner is None or repr(inner.attribute_value("pad_value")) != repr(op.attribute_value("pad_value")):
        return None
    outer, around = _widths(op), _widths(inner)
    if outer is None or around is None:
        return None
    total = [(a + c, b + d) for (a, b), (c, d) in zip(around, outer, strict=True)]
    return build.operator("nn.pad", inner.args[0], pad_width=total, pad_value=op.attribute_value("pad_value"))


def _pad_into_window(kind: str, rank: int) -> Rule:
    """A rule that merges the padding of an image into the window operator that reads it: "conv", "max" or "avg"."""
    letters = "DHW"[3 - rank :]

    def rule(op: OperatorOp, build: RelayBuilder) -> SSAValue | None:
        inner = operator_at(op.args[0], "nn.pad")
        widths = None if inner is None else _widths(inner)
        if inner is None or widths is None or inner.attribute_value("pad_value") != (-inf if kind == "max" else 0):
            return None
        layout: str = op.attribute_value("data_layout" if kind == "conv" else "layout")
        if any(any(pair) and letter not in letters for pair, letter in zip(widths, layout, strict=True)):
            return None
        own = paddings(op.attribute_value("padding"), rank, op.operator.name)
        values = dict[str, Any](op.explicit_attributes)
        if kind == "avg":
            if any(n for pair in own for n in pair) and not op.attribute_value("count_include_pad"):
                return None
            values["count_include_pad"] = True  # the zeros count as elements of the image
        more = [widths[layout.index(letter)] for letter in letters]
        values["padding"] = [a[0] + b[0] for a, b in zip(own, more, strict=True)]
        values["padding"] += [a[1] + b[1] for a, b in zip(own, more, strict=True)]
        return build.operator(op.operator.name, inner.args[0], *op.args[1:], **values)

    return rule


_RULES: dict[str, Sequence[Rule]] = {
    "add": [_neutral(0, 0, 1)],
    "subtract": [_neutral(0, 1)],
    "multiply": [_neutral(1, 0, 1)],
    "divide": [_neutral(1, 1)],
    "copy": [_same_type],
    "negative": [_involution],
    "logical_not": [_involution],
    "bitwise_not": [_involution],
    "reverse": [_involution],
    "abs": [_idempotent],
    **{name: [_idempotent] for name in ("ceil", "floor", "round", "trunc", "sign")},
    "nn.relu": [_idempotent, _relu_of_clip],
    "clip": [_clip_of_clip],
    "cast": [_same_type, _cast_of_cast],
    "reshape": [_same_type, _reshape_of_reshape],
    **{name: [_same_type, _reshape_of_reshape] for name in ("squeeze", "expand_dims", "nn.batch_flatten")},
    "broadcast_to": [_same_type],
    "strided_slice": [_whole_slice],
    "concatenate": [_only_one, _without_empty],
    "transpose": [_merge_transposes],
    "nn.dense": [_dense_of_transpose],
    "nn.matmul": [_product_of_transpose],
    "nn.batch_matmul": [_product_of_transpose],
    "nn.pad": [_pad_of_nothing, _pad_of_pad],
    **{f"nn.conv{rank}d": [_pad_into_window("conv", rank)] for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": [_pad_into_window(kind, rank)] for kind in ("max", "avg") for rank in (1, 2, 3)},
}
"""The rules for each operator."""
