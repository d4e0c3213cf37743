"""Dilated convolutions that are written on blocks of images: `FlattenAtrousConv`."""

from __future__ import annotations

from typing import Any

from ....operators.windows import each_dimension, paddings
from ...relay.expr import Call, Constant, Expr, Function, operator_name
from ...relay.functor import ExprMutator


def flatten_atrous(func: Function) -> Function:
    """A graph in which a convolution between `nn.space_to_batch_nd` and `nn.batch_to_space_nd` is a dilated
    convolution, where the padding of the blocks is the value of the padding of the convolution."""
    return _Flattening().visit(func)


class _Flattening(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        return _flattened(new) or new if operator_name(new) == "nn.batch_to_space_nd" else new


def _flattened(outer: Call) -> Call | None:
    """The dilated convolution that a `nn.batch_to_space_nd` computes, None if it computes another function."""
    conv = outer.args[0]
    if not isinstance(conv, Call) or operator_name(conv) not in ("nn.conv2d", "qnn.conv2d"):
        return None
    inner = conv.args[0]
    if not isinstance(inner, Call) or operator_name(inner) != "nn.space_to_batch_nd":
        return None
    to_space, to_batch, attrs = _attributes(outer), _attributes(inner), _attributes(conv)
    blocks = [*to_batch.block_shape]
    is_plain = [*each_dimension(attrs.strides, 2, "strides"), *each_dimension(attrs.dilation, 2, "dilation")]
    if (
        blocks != [*to_space.block_shape]
        or len(blocks) != 2
        or attrs.data_layout[1:3] != "HW"
        or attrs.out_layout not in ("", attrs.data_layout)
        or is_plain != [1] * 4
        or any(map(any, paddings(attrs.padding, 2, "padding")))
        or to_batch.pad_value != _padding_of(conv)
    ):
        return None
    pairs = list(zip(to_batch.paddings, to_space.crops, strict=True))
    around = [pad[side] - crop[side] for side in (0, 1) for pad, crop in pairs]
    if min(around) < 0:
        return None
    changes = {"padding": around, "dilation": blocks}
    return conv.with_args([inner.args[0], *conv.args[1:]], changes)


def _attributes(call: Call) -> Any:
    return call.attrs


def _padding_of(conv: Call) -> float | None:
    """The number that a convolution pads its data with, None if it is not known."""
    if operator_name(conv) == "nn.conv2d":
        return 0
    zero = conv.args[2]
    return float(zero.array) if isinstance(zero, Constant) and zero.array.size == 1 else None
