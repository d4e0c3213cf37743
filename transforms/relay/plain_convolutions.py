"""Convolutions that passes may replace by operators with other weights."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue

from ...operators.relay import OperatorOp, dtype_of_tensor, shape_of
from ...operators.winograd import LANES


def whole_blocks(extent: int) -> int:
    """The least number of channels, or of other elements, in whole blocks of `LANES` that are at least an extent."""
    return -(-extent // LANES) * LANES


def lack_of_plain_form(op: OperatorOp, dtypes: Collection[str], groups: int = 1, *, any_pixels: bool = False) -> str:
    """The reason why a `nn.conv2d` or `nn.conv1d` has not the layouts NCHW and OIHW, or NCW and OIW, a number of
    groups, static extents but for the number of images, and equal dtypes among `dtypes`; "" if it has them. any_pixels:
    whether the numbers of rows and columns may be dynamic."""
    layout = [op.attribute_value(name) for name in ("data_layout", "kernel_layout", "out_layout")]
    pixels = "W" if op.operator.name == "nn.conv1d" else "HW"
    data, kernel = f"NC{pixels}", f"OI{pixels}"
    if layout not in ([data, kernel, ""], [data, kernel, data]):
        return f"layouts {', '.join(filter(None, layout))}, expected {data}, {kernel}"
    if op.attribute_value("groups") != groups:
        return f"{op.attribute_value('groups')} groups, expected {groups}"
    reason = lack_of_dtype(op, dtypes)
    if reason:
        return reason
    return "" if has_static_images(*op.args, any_pixels=any_pixels) else "a dynamic size"


def has_static_images(data: SSAValue, weight: SSAValue, *, any_pixels: bool = False) -> bool:
    """Whether all extents of a convolution are static, but for the number of images. any_pixels: as of
    `lack_of_plain_form`."""
    image = shape_of(data)[1:2] if any_pixels else shape_of(data)[1:]
    return all(isinstance(n, int) for n in (*image, *shape_of(weight)))


def result_extents(op: OperatorOp) -> list[int]:
    """The channels, rows and columns of the result of a convolution of static images."""
    extents = [n for n in shape_of(op.outputs[0])[1:] if isinstance(n, int)]
    assert len(extents) == 3
    return extents


def lack_of_dtype(op: OperatorOp, dtypes: Collection[str]) -> str:
    """The reason why the operands and the result of an operator are not of one dtype among `dtypes`, "" if they are."""
    types = {dtype_of_tensor(value) for value in (*op.args, op.outputs[0])}
    if len(types) == 1 and types <= set(dtypes):
        return ""
    return f"numbers of {', '.join(sorted(types))}, expected {' or '.join(dtypes)}"
