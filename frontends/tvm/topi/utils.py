"""Sizes of tensors as numbers of Python: `tvm.topi.utils`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....expressions import functions
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Select, Var, as_expr, const
from ....expressions.functions import floordiv, floormod
from ....expressions.tensor import Tensor, compute
from ....operators.extents import are_known
from ..absent import report_absent
from ..target.target import Target
from . import tag

__getattr__ = report_absent("tvm.topi.utils")


def get_const_int(expr: Any) -> int:
    """The value of a constant integer. TeError for other expressions."""
    value = as_expr(expr)
    if not isinstance(value, IntImm):
        raise TeError(f"{expr!r}, expected a constant integer")
    return value.value


def get_const_float(expr: Any) -> float:
    """The value of a constant float. TeError for other expressions."""
    value = getattr(as_expr(expr), "value", None)
    if not isinstance(value, float):
        raise TeError(f"{expr!r}, expected a constant float")
    return value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """The extents of a shape: integers, and the expressions of dynamic extents."""
    return tuple(value.value if isinstance(value := as_expr(each), IntImm) else value for each in in_tuple)


def get_pad_tuple_generic(padding: Any, kernel: Any) -> tuple[list[Any], list[Any]]:
    """The padding before each dimension of an image, and after each.

    padding: one number, one for each dimension, all before and then all after, "VALID" for none, or "SAME" for results
    of the size of the image at stride 1.  kernel: the size of a window in each dimension. TeError for others.
    """
    rank = len(kernel)
    if padding == "VALID":
        return [0] * rank, [0] * rank
    if padding == "SAME":
        spans = [size - 1 for size in get_const_tuple(kernel)]
        return [(span + 1) // 2 for span in spans], [span // 2 for span in spans]
    numbers = list(padding) if isinstance(padding, tuple | list) else [padding]
    if isinstance(padding, str) or len(numbers) not in (1, rank, 2 * rank):
        counts = ", ".join(map(str, sorted({1, rank})))
        raise TeError(f"padding {padding!r}, expected {counts} or {2 * rank} numbers, 'VALID' or 'SAME'")
    numbers = (numbers * (2 * rank))[: 2 * rank]
    return numbers[:rank], numbers[rank:]


def get_pad_tuple(padding: Any, kernel: Any) -> tuple[Any, Any, Any, Any]:
    """The padding of an image: top, left, bottom and right. The parameters, errors: as of `get_pad_tuple_generic`."""
    (top, left), (bottom, right) = get_pad_tuple_generic(padding, kernel)
    return top, left, bottom, right


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[Any, Any]:
    """The padding of a row: left and right. The parameters, errors: as of `get_pad_tuple_generic`; kernel may be a
    number."""
    (left,), (right,) = get_pad_tuple_generic(padding, kernel if isinstance(kernel, tuple | list) else [kernel])
    return left, right


def get_pad_tuple3d(padding: Any, kernel: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """The padding of a volume: front, top, left, back, bottom and right. The parameters, errors: as of
    `get_pad_tuple_generic`."""
    (front, top, left), (back, bottom, right) = get_pad_tuple_generic(padding, kernel)
    return front, top, left, back, bottom, right


def infer_pad3d(data: Any, data_pad: Any, layout: str) -> tuple[int, int, int]:
    """The elements that depth, height and width of a volume, NCDHW or NDHWC, are padded by, before and after together,
    to `data_pad`; None for none. TeError for another layout."""
    if layout not in ("NCDHW", "NDHWC"):
        raise TeError(f"infer_pad3d: layout {layout!r}, expected NCDHW or NDHWC")
    if data_pad is None:
        return 0, 0, 0
    first = layout.index("D")
    sizes = [get_const_tuple(each.shape)[first : first + 3] for each in (data, data_pad)]
    depth, height, width = (padded - size for size, padded in zip(*sizes, strict=True))
    return depth, height, width


def infer_pad(data: Any, data_pad: Any = None) -> tuple[int, int]:
    """The padding of height and width of an image NCHW, of which `data_pad` is padded. None for none."""
    if data_pad is None:
        return 0, 0
    sizes = zip(get_const_tuple(data.shape)[2:4], get_const_tuple(data_pad.shape)[2:4], strict=True)
    height, width = ((padded - size) // 2 for size, padded in sizes)
    return height, width


def infer_stride(data: Any, kernel: Any, out: Any) -> tuple[int, int]:
    """The strides of height and width of a convolution of padded images NCHW."""
    shapes = (get_const_tuple(each.shape)[2:4] for each in (data, kernel, out))
    down, right = ((size - taps) // max(count - 1, 1) for size, taps, count in zip(*shapes, strict=True))
    return down, right


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether an expression is a constant integer of a value."""
    constant = as_expr(expr)
    return isinstance(constant, IntImm) and constant.value == value


def simplify(expr: Any) -> Any:
    """An expression simplified, a constant integer as an integer of Python."""
    # lazy: the analyzer is needed for expressions that are no constants only
    from ..arith import Analyzer

    value = as_expr(expr)
    return value.value if isinstance(value, IntImm) else Analyzer().simplify(value)


def traverse_inline(s: Any, final_op: Any, callback: Any) -> None:
    """Inlines all elementwise and broadcast operations but the last into their readers, and calls a function on each
    operation, producers first.
    """
    visited: set[Any] = set()

    def visit(op: Any) -> None:
        if op in visited:
            return
        visited.add(op)
        if op.num_outputs == 1 and getattr(op, "tag", "") in ("elemwise", "broadcast", "injective"):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if tensor.op.input_tensors:
                    visit(tensor.op)
        callback(op)

    visit(final_op)


def ceil_div(a: Any, b: Any) -> Any:
    """The quotient of integers, rounded up."""
    return floordiv(as_expr(a) + as_expr(b) - 1, b)


def get_shape(src_shape: Sequence[Any], src_layout: Any, dst_layout: Any) -> tuple[Any, ...]:
    """The shape of a tensor in another order of its axes, as of `get_const_tuple`. src_layout, dst_layout: its layout,
    and the other one. TeError for layouts of other axes."""
    source, target = (re.findall("[A-Za-z]", str(each)) for each in (src_layout, dst_layout))
    if len(source) != len(src_shape) or sorted(source) != sorted(target) or len(set(source)) < len(source):
        given = f"layout {src_layout} of {len(src_shape)} axes and {dst_layout}"
        raise TeError(f"get_shape: {given}, expected each axis once in both")
    return get_const_tuple([src_shape[source.index(letter)] for letter in target])


def ncw_pack_layout(layout_info: str) -> bool:
    """Whether a layout is NCW with blocks of channels and of images: `NCW1n16c`."""
    return layout_info.startswith("NCW") and {"c", "n"} <= set(layout_info)


def ncw_xc_layout(layout_info: str) -> bool:
    """Whether a layout is NCW with blocks of channels alone: `NCW16c`."""
    return re.fullmatch("NCW[0-9]+c", layout_info) is not None


def nchw_pack_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with blocks of channels and of images: `NCHW1n16c`."""
    return layout_info.startswith("NCHW") and {"c", "n"} <= set(layout_info)


def nchw_xc_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with blocks of channels alone: `NCHW16c`."""
    return re.fullmatch("NCHW[0-9]+c", layout_info) is not None


def is_target(names: str | Sequence[str]) -> bool:
    """Whether a word is among the keys of the current target. names: the word, or several. OptionError if no target is
    entered."""
    current = Target.current(allow_none=False)
    assert current is not None
    return any(name in current.keys for name in ([names] if isinstance(names, str) else names))


def is_dynamic_shape(shape: Sequence[Any]) -> bool:
    """Whether a size of a shape is no constant."""
    return not are_known(shape)


class InvalidShapeError(ValueError):
    """The error of schedules of users for shapes that they do not support."""


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """Constant floats as floats of Python. TeError for other expressions."""
    return tuple(get_const_float(each) for each in in_tuple)


def const_vector(vector: Any, name: str = "const_vector") -> Tensor:
    """A tensor of the numbers of an array of one dimension."""
    return _constant(np.asarray(vector), name)


def const_matrix(matrix: Any, name: str = "const_matrix", attrs: Mapping[str, Any] | None = None) -> Tensor:
    """A tensor of the numbers of an array of two dimensions. attrs: of the computation, by default those that leave it
    to the schedules of its readers."""
    return _constant(np.asarray(matrix), name, attrs or {"const_matrix": True, "schedule_rule": "None"})


def _constant(array: np.ndarray[Any, Any], name: str, attrs: Mapping[str, Any] | None = None) -> Tensor:
    dtype = array.dtype.name

    def element(*axes: PrimExpr) -> PrimExpr:
        value: PrimExpr = const(0, dtype)
        for place in np.ndindex(array.shape):
            at = functions.all(*(axis.equal(n) for axis, n in zip(axes, place, strict=True)))
            value = Select(at, const(array[place].item(), dtype), value)
        return value

    return compute(array.shape, element, name, attrs=None if attrs is None else dict(attrs))


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The greatest power of two that divides a number. max_value: its upper bound."""
    factor = 1
    while n % (2 * factor) == 0 and (max_value is None or 2 * factor <= max_value):
        factor *= 2
    return factor


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """Whether a size of a shape is 0."""
    return any(equal_const_int(each, 0) for each in shape)


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """A sequence with an element and the last one exchanged."""
    result = list(arr)
    result[axis], result[-1] = result[-1], result[axis]
    return result


def prod(x: Sequence[Any]) -> Any:
    """The product of extents; 1 for none."""
    result = as_expr(1)
    for extent in x:
        result = result * extent
    return result


def _is_between(begin: PrimExpr, end: PrimExpr, step: PrimExpr, index: PrimExpr) -> PrimExpr:
    backward, forward = functions.all(index <= begin, index > end), functions.all(index >= begin, index < end)
    return Select(step < 0, backward, forward)


def within_index(b: Any, e: Any, s: Any, i: Any) -> PrimExpr:
    """Whether an index is one of `b, b + s, ...` before `e`, or after `e` for a negative `s`."""
    begin, step, index = map(as_expr, (b, s, i))
    return functions.all(_is_between(begin, as_expr(e), step, index), floormod(index - begin, step).equal(0))


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> PrimExpr:
    """The number of an index among `b, b + s, ...`, as of `within_index`; 0 for an index out of their range.

    z: the size of the axis, whose last index is the greatest `b`.
    """
    begin, step, index = map(as_expr, (b, s, i))
    first = functions.min(begin, as_expr(z) - 1)
    return functions.if_then_else(_is_between(begin, as_expr(e), step, index), floordiv(index - first, step), 0)


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position of an element in row-major order."""
    position: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + index
    return position


def unravel_index(idx: PrimExpr | Var, shape: Sequence[Any]) -> list[PrimExpr]:
    """The indices of the element at a position in row-major order."""
    indices: list[PrimExpr] = []
    for extent in reversed(shape):
        indices.insert(0, floormod(idx, extent))
        idx = floordiv(idx, extent)
    return indices


__all__ = [
    "InvalidShapeError", "ceil_div", "const_matrix", "const_vector", "equal_const_int", "get_const_float",
    "get_const_int", "get_const_tuple", "get_float_tuple", "get_max_power2_factor", "get_pad_tuple",
    "get_pad_tuple1d", "get_pad_tuple3d", "get_pad_tuple_generic", "get_shape", "infer_pad", "infer_pad3d",
    "infer_stride", "is_dynamic_shape", "is_empty_shape", "is_target", "make_idx", "nchw_pack_layout",
    "nchw_xc_layout", "ncw_pack_layout", "ncw_xc_layout", "prod", "ravel_index", "simplify", "swap", "tag",
    "traverse_inline", "unravel_index", "within_index",
]  # fmt: skip
