"""Zeros around images as the padding of convolutions and pools: `FoldExplicitPadding`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.dtypes import dtype_of_numpy, is_float_dtype, min_value, numpy_dtype
from ....operators import Operator
from ....operators.windows import paddings
from ...relay.expr import Call, Constant, Expr, Function, operator_name
from ...relay.functor import ExprMutator


def fold_padding(func: Function) -> Function:
    """A typed graph in which `nn.pad` before a convolution or a pool is part of the padding of the latter, if both pad
    with the same value."""
    return _Folding().visit(func)


class _Folding(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if not isinstance(call.op, Operator) or not isinstance(new, Call):
            return new
        pad = new.args[0] if new.args else None
        value = _value_of(call)
        if value is None or not isinstance(pad, Call) or operator_name(pad) != "nn.pad":
            return new
        layout = call.attrs.layout if "_pool" in call.op.name else call.attrs.data_layout  # pyright: ignore[reportAttributeAccessIssue]
        widths: Any = pad.attrs.pad_width  # pyright: ignore[reportAttributeAccessIssue]
        outer = [pair for name, pair in zip(layout, widths, strict=False) if name not in "DHW"]
        is_foldable = pad.attrs.pad_mode == "constant" and value in _pad_values(pad)  # pyright: ignore[reportAttributeAccessIssue]
        if len(layout) != len(widths) or not is_foldable or any(any(pair) for pair in outer):
            return new
        inner = [pair for name, pair in zip(layout, widths, strict=True) if name in "DHW"]
        own = paddings(call.attrs.padding, len(inner), call.op.name)  # pyright: ignore[reportAttributeAccessIssue]
        total = [width[side] + pair[side] for side in (0, 1) for width, pair in zip(inner, own, strict=True)]
        if "max_pool" in call.op.name and not _reaches_image(call, total):
            return new
        if "_pool" in call.op.name and call.attrs.skip_padding:  # pyright: ignore[reportAttributeAccessIssue]
            return new
        changes: dict[str, Any] = {"padding": total}
        if "avg_pool" in call.op.name:
            if not call.attrs.count_include_pad and any(any(pair) for pair in own):  # pyright: ignore[reportAttributeAccessIssue]
                return new
            changes["count_include_pad"] = True
        return call.with_args([pad.args[0], *new.args[1:]], changes)


def _reaches_image(pool: Call, padding: list[int]) -> bool:
    """Whether each window of a maximum has an element of the image: the least number is not minus infinity."""
    attrs: Any = pool.attrs
    rank = len(padding) // 2
    numbers = (attrs.pool_size, attrs.dilation, attrs.strides)
    taps, far, steps = ([each] * rank if isinstance(each, int) else each for each in numbers)
    over = [0] * rank + [step - 1 if attrs.ceil_mode else 0 for step in steps]
    return all(width + over[n] <= (taps[n % rank] - 1) * far[n % rank] for n, width in enumerate(padding))


def _value_of(call: Call) -> float | None:
    """The number that the padding of an operator stands for; None for an operator without padding."""
    name = call.op.name
    if name in ("nn.conv1d", "nn.conv2d", "nn.conv3d") or name.startswith("nn.avg_pool"):
        return 0
    if name in ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"):
        dtype = numpy_dtype(call.args[0].checked_type.dtype)
        return float(min_value(dtype_of_numpy(dtype)))
    zero = call.args[2] if name == "qnn.conv2d" else None
    return float(zero.array) if isinstance(zero, Constant) and zero.array.size == 1 else None


def _pad_values(pad: Call) -> set[float]:
    """The numbers that `nn.pad` adds: the least finite number of floats serves as minus infinity in a maximum."""
    dtype = numpy_dtype(pad.args[0].checked_type.dtype)
    value = float(np.asarray(pad.attrs.pad_value).astype(dtype))  # pyright: ignore[reportAttributeAccessIssue]
    if is_float_dtype(dtype) and value == -np.inf:
        return {value, float(min_value(dtype_of_numpy(dtype)))}
    return {value}
