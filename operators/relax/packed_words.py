"""Words of `R` that are calls of packed functions: results whose sizes only data determines, and selected boxes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue

from ...core.dtypes import numpy_dtype
from ...core.identifiers import fresh_name
from ...expressions.errors import TeError
from ..relay import RelayBuilder, Size, dtype_of_tensor, shape_of
from .calls import CallPurePackedOp
from .types import is_tensor, known_dtype, known_rank, names_in, prim, tensor, tuple_type
from .types import shape as shape_type
from .values import MatchCastOp, PrimValueOp, ShapeOp, StringOp, TupleGetOp

Values: TypeAlias = Sequence[SSAValue]
Result: TypeAlias = "tuple[str, Sequence[Size]]"
"""The data type and the shape of a result."""


def call_pure(
    builder: RelayBuilder, name: str, args: Sequence[SSAValue | int | str], results: Sequence[Result]
) -> Values:
    """The results of a packed function without side effects. Sizes of `new_size` are known once it has returned."""
    types = [tensor(sizes, dtype) for dtype, sizes in results]
    partial = [_without_names(type) for type in types]
    operands = [_operand(builder, arg) for arg in args]
    count, is_exact = len(types), types == partial
    value = builder.insert(CallPurePackedOp(name, operands, partial[0] if count == 1 else tuple_type(partial))).output
    if not is_exact:
        value = builder.insert(MatchCastOp(value, types[0] if count == 1 else tuple_type(types))).output
    return [value] if count == 1 else [builder.insert(TupleGetOp(value, n)).output for n in range(count)]


def _without_names(type: Attribute) -> Attribute:
    """The type of a tensor, without sizes if some are names."""
    known = isinstance(type, TensorType) and not names_in(type)
    return type if known else tensor(None, dtype_of_tensor(type), len(shape_of(type)))


def _operand(builder: RelayBuilder, arg: SSAValue | int | str) -> SSAValue:
    if isinstance(arg, SSAValue):
        return arg
    return builder.insert(StringOp(arg) if isinstance(arg, str) else PrimValueOp(prim(arg))).output


def new_sizes(builder: RelayBuilder, name: str, count: int = 1) -> list[Size]:
    """Names for sizes that the function at the insertion point does not use."""
    block: Block | None = builder.point.block
    while block is not None:
        builder.size_names.update(_names_of_sizes(block))
        block = block.parent_block()
    return [fresh_name(name, builder.size_names) for _ in range(count)]


def known_tensor(builder: RelayBuilder, value: SSAValue) -> SSAValue | None:
    """A tensor of known rank and data type with names for its sizes, by a cast; None for other values."""
    if isinstance(value.type, TensorType):
        return value
    rank, dtype, block = known_rank(value.type), known_dtype(value.type), builder.point.block
    if not is_tensor(value.type) or rank is None or dtype is None:
        return None
    casts = (op for use in value.uses if isinstance(op := use.operation, MatchCastOp) and op.parent_block() is block)
    for cast in casts:
        if isinstance(cast.output.type, TensorType):
            return cast.output
    return builder.insert(MatchCastOp(value, tensor(new_sizes(builder, "extent", rank), dtype))).output


def _names_of_sizes(block: Block) -> Iterator[str]:
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        yield from names_in(value.type)


# Sizes that only data determines


def nonzero(builder: RelayBuilder, x: SSAValue) -> Values:
    """The indices of the elements that are not zero, a row for each dimension."""
    rows = max(len(shape_of(x)), 1)
    return call_pure(builder, "relax.run.nonzero", [x], [("int64", [rows, *new_sizes(builder, "nonzero_count")])])


def unique(
    builder: RelayBuilder,
    x: SSAValue,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Values:
    """The distinct slices along an axis, of all elements without an axis; the index of the first of each, for each
    slice the index of its equal, and the number of equals of each."""
    extents, [count] = shape_of(x), new_sizes(builder, "unique_count")
    if axis is not None and not -len(extents) <= axis < len(extents):
        raise TeError(f"unique: axis {axis} of {len(extents)} dimensions")
    along = None if axis is None else axis % len(extents)
    inverse = _element_count(extents) if along is None else extents[along]
    kept = [count] if along is None else [count if d == along else extent for d, extent in enumerate(extents)]
    optional: list[tuple[bool, Size]] = [(return_index, count), (return_inverse, inverse), (return_counts, count)]
    results: list[Result] = [
        (dtype_of_tensor(x), kept),
        *(("int64", [extent]) for wanted, extent in optional if wanted),
    ]
    flags = [int(flag) for flag in (sorted, return_index, return_inverse, return_counts)]
    return call_pure(builder, "relax.run.unique", [x, *flags, *([] if along is None else [along])], results)


def _element_count(extents: Sequence[Size]) -> Size:
    texts = [str(extent) if isinstance(extent, int) else f"({extent})" for extent in extents]
    return " * ".join(texts) if texts else 1


def tensor_to_shape(builder: RelayBuilder, expr: SSAValue) -> Values:
    """The elements of a tensor of one dimension, as sizes with names."""
    extents = shape_of(expr)
    if len(extents) != 1 or not isinstance(extents[0], int) or dtype_of_tensor(expr) != "int64":
        raise TeError(
            f"tensor_to_shape: {dtype_of_tensor(expr)}{list(extents)}, expected int64 elements of a known number"
        )
    call = CallPurePackedOp("vm.builtin.tensor_to_shape", [expr], shape_type(None, extents[0]))
    sizes = shape_type(new_sizes(builder, "size", extents[0]))
    return [builder.insert(MatchCastOp(builder.insert(call).output, sizes)).output]


def reshape_to(builder: RelayBuilder, x: SSAValue, sizes: Sequence[Size]) -> Values:
    """A tensor in a shape of several sizes that the tensor does not have."""
    target = builder.insert(ShapeOp(shape_type(sizes))).output
    return call_pure(builder, "vm.builtin.reshape", [x, target], [(dtype_of_tensor(x), sizes)])


def dynamic_strided_slice(
    builder: RelayBuilder, x: SSAValue, begin: SSAValue, end: SSAValue, strides: SSAValue
) -> Values:
    """The elements in ranges of indices, which tensors state for each axis."""
    rank = len(shape_of(x))
    for each in (begin, end, strides):
        if list(shape_of(each)) != [rank]:
            raise TeError(f"dynamic_strided_slice: bounds of shape {list(shape_of(each))}, expected [{rank}]")
    results = [(dtype_of_tensor(x), new_sizes(builder, "extent", rank))]
    return call_pure(builder, "stepwell.dynamic_strided_slice", [x, begin, end, strides], results)


# Memory


def view(
    builder: RelayBuilder, data: SSAValue, shape: Any = None, dtype: str | None = None, relative_byte_offset: int = 0
) -> Values:
    """The memory of a tensor from an offset on as a tensor of another shape and data type."""
    kind, sizes = dtype or dtype_of_tensor(data), shape_of(data) if shape is None else list(shape)
    target = builder.insert(ShapeOp(shape_type(sizes))).output
    return call_pure(builder, "relax.run.view", [data, target, kind, relative_byte_offset], [(kind, sizes)])


# Samples


def multinomial_from_uniform(
    builder: RelayBuilder, prob: SSAValue, uniform_sample: SSAValue, sample_indices: SSAValue, dtype: str = "int64"
) -> Values:
    """The class of each sample: the first one whose cumulative probability exceeds a uniform number.

    prob: [batch, classes].  uniform_sample: [n, 1].  sample_indices: [n, 1], the row of the probabilities.
    """
    shapes = [shape_of(each) for each in (prob, uniform_sample, sample_indices)]
    if any(len(each) != 2 for each in shapes) or shapes[1][1] != 1 or shapes[2] != shapes[1]:
        texts = [list(each) for each in shapes]
        raise TeError(f"multinomial_from_uniform: shapes {texts}, expected [batch, classes], [n, 1] and [n, 1]")
    rows = builder.operator("take", prob, builder.operator("squeeze", sample_indices, axis=[1]), axis=0, mode="clip")
    less = builder.operator("less_equal", builder.operator("cumsum", rows, axis=1), uniform_sample)
    index = builder.operator("sum", builder.cast(less, dtype), axis=1, keepdims=True)
    classes = builder.operator("sum", builder.operator("ones_like", builder.cast(rows, dtype)), axis=1, keepdims=True)
    last = builder.operator("subtract", classes, builder.number(1, dtype))
    return builder.operators("minimum", index, last)


# Attention


def attention_var_len(
    builder: RelayBuilder,
    queries: SSAValue,
    keys: SSAValue,
    values: SSAValue,
    seqstart_q: SSAValue,
    seqstart_k: SSAValue | None = None,
    max_seqlen_q: SSAValue | None = None,
    max_seqlen_k: SSAValue | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Values:
    """The attention of each of several sequences, which follow each other in the second dimension."""
    shapes = [shape_of(each) for each in (queries, keys, values)]
    if any(len(each) != 4 or each[0] != 1 for each in shapes) or not isinstance(shapes[0][-1], int):
        texts = [list(each) for each in shapes]
        raise TeError(f"nn.attention_var_len: shapes {texts}, expected [1, length, heads, size] with a number as size")
    if causal_mask not in (None, "TopLeft", "BottomRight"):
        raise TeError(f"nn.attention_var_len: causal_mask {causal_mask!r}, expected 'TopLeft' or 'BottomRight'")
    for each in (seqstart_q, seqstart_k, max_seqlen_q, max_seqlen_k):
        if each is not None and dtype_of_tensor(each) != "int32":
            raise TeError(f"nn.attention_var_len: lengths and positions of {dtype_of_tensor(each)}, expected int32")
    factor = builder.insert(PrimValueOp(prim(shapes[0][-1] ** -0.5 if scale is None else float(scale)))).output
    starts = [seqstart_q, seqstart_q if seqstart_k is None else seqstart_k]
    operands = [queries, keys, values, *starts, factor, causal_mask or "", window_size or 0]
    results = [(dtype_of_tensor(queries), [*shapes[0][:3], shapes[2][3]])]
    return call_pure(builder, "relax.run.attention_var_len", operands, results)


# Boxes


def get_valid_counts(
    builder: RelayBuilder, data: SSAValue, score_threshold: float = 0, id_index: int = 0, score_index: int = 1
) -> Values:
    """The number of boxes with a higher score and a class, these boxes first, and their indices."""
    batch, count, length = _boxes("vision.get_valid_counts", data)
    given = {"score_threshold": score_threshold, "id_index": id_index, "score_index": score_index}
    results = [("int32", [batch]), (dtype_of_tensor(data), [batch, count, length]), ("int32", [batch, count])]
    return call_pure(builder, "stepwell.valid_boxes", [json.dumps(given), data], results)


def non_max_suppression(
    builder: RelayBuilder,
    data: SSAValue,
    valid_count: SSAValue,
    indices: SSAValue,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> Values:
    """The boxes of which no box of the class with a higher score covers too much."""
    name = "vision.non_max_suppression"
    batch, count, length = _boxes(name, data)
    if list(shape_of(valid_count)) != [batch] or list(shape_of(indices)) != [batch, count]:
        shapes = [list(shape_of(each)) for each in (valid_count, indices)]
        raise TeError(f"{name}: counts and indices of shapes {shapes}, expected {[[batch], [batch, count]]}")
    given = {
        "max_output_size": max_output_size,
        "iou_threshold": iou_threshold,
        "force_suppress": bool(force_suppress),
        "top_k": top_k,
        "coord_start": coord_start,
        "score_index": score_index,
        "id_index": id_index,
        "invalid_to_bottom": bool(invalid_to_bottom),
        "soft_nms_sigma": soft_nms_sigma,
        "score_threshold": score_threshold,
    }
    kept: Result = (dtype_of_tensor(data), [batch, count, length])
    results: list[Result] = [kept, ("int32", [batch, count]), ("int32", [batch, 1])]
    values = call_pure(builder, "stepwell.suppress_boxes", [json.dumps(given), data, valid_count, indices], results)
    if not return_indices:
        return values[:1]
    return values if soft_nms_sigma > 0 else values[1:]


def all_class_non_max_suppression(
    builder: RelayBuilder,
    boxes: SSAValue,
    scores: SSAValue,
    max_output_boxes_per_class: SSAValue,
    iou_threshold: SSAValue,
    score_threshold: SSAValue,
    output_format: str = "onnx",
) -> Values:
    """The boxes of each class of which no box with a higher score covers too much, and their number."""
    name = "vision.all_class_non_max_suppression"
    batch, count, _ = _boxes(name, boxes)
    shape = shape_of(scores)
    if len(shape) != 3 or (shape[0], shape[2]) != (batch, count):
        raise TeError(f"{name}: scores of shape {list(shape)}, expected {[batch, 'classes', count]}")
    limits = [max_output_boxes_per_class, iou_threshold, score_threshold]
    if output_format == "onnx":
        results: list[Result] = [("int64", [*new_sizes(builder, "box_count"), 3]), ("int64", [1])]
    elif output_format == "tensorflow":
        if not isinstance(shape[1], int) or not isinstance(count, int):
            raise TeError(f"{name}: scores of shape {list(shape)}, expected numbers")
        rows = shape[1] * count
        results = [("int64", [batch, rows, 2]), ("float32", [batch, rows]), ("int64", [batch])]
    else:
        raise TeError(f"{name}: output_format {output_format!r}, expected 'onnx' or 'tensorflow'")
    return call_pure(builder, f"stepwell.select_boxes_{output_format}", [boxes, scores, *limits], results)


def _boxes(name: str, data: SSAValue) -> tuple[Size, Size, Size]:
    extents = shape_of(data)
    if len(extents) != 3:
        raise TeError(f"{name}: boxes of shape {list(extents)}, expected 3 dimensions")
    return extents[0], extents[1], extents[2]


def multibox_transform_loc(
    builder: RelayBuilder,
    cls_pred: SSAValue,
    loc_pred: SSAValue,
    anchor: SSAValue,
    clip: bool = False,
    threshold: float = 0.0,
    variances: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    keep_background: bool = True,
    apply_softmax: bool = True,
) -> Values:
    """Boxes [batch, n, 4] of the corners (y, x), of distances to anchors, and scores of classes.

    cls_pred: scores [batch, classes, n].  loc_pred: for each anchor the distance of the centers in sizes of the anchor,
    x and y, and the logarithms of the ratios of the sizes, each divided by its factor in `variances`: [batch, 4 * n].
    anchor: the corners (x, y): [1, n, 4].  clip: whether corners are moved into [0, 1].  threshold: less scores become
    0.  keep_background: False for scores 0 of the first class.
    """
    name, op = "vision.multibox_transform_loc", builder.operator
    (_, classes, count), dtype = _boxes(name, cls_pred), dtype_of_tensor(cls_pred)
    if list(shape_of(anchor)) != [1, count, 4] or len(variances) != 4 or not isinstance(count, int):
        shapes = [list(shape_of(each)) for each in (cls_pred, loc_pred, anchor)]
        raise TeError(f"{name}: shapes {shapes} and {len(variances)} variances, expected anchors [1, n, 4] and 4")
    moves = builder.operators("split", op("reshape", loc_pred, newshape=[0, count, 4]), indices_or_sections=2, axis=2)
    corners = builder.operators("split", anchor, indices_or_sections=2, axis=2)
    kind = numpy_dtype(dtype)
    scales = [builder.constant(np.array(part, kind), "variances") for part in (variances[:2], variances[2:])]
    half = builder.number(0.5, dtype)
    center = op("multiply", op("add", *corners), half)
    size = op("subtract", corners[1], corners[0])
    middle = op("add", op("multiply", op("multiply", moves[0], scales[0]), size), center)
    reach = op("multiply", op("multiply", half, op("exp", op("multiply", moves[1], scales[1]))), size)
    ends = [op("reverse", op(each, middle, reach), axis=2) for each in ("subtract", "add")]
    boxes = op("concatenate", *ends, axis=2)
    if clip:
        boxes = op("clip", boxes, a_min=0.0, a_max=1.0)
    scores = op("nn.softmax", cls_pred, axis=1) if apply_softmax else cls_pred
    kept = op("greater_equal", scores, builder.number(threshold, dtype))
    scores = op("multiply", scores, op("cast", kept, dtype=dtype))
    if not keep_background:
        if not isinstance(classes, int):
            raise TeError(f"{name}: {classes} classes, expected a number")
        mask = builder.constant((np.arange(classes) == 0).reshape(-1, 1), "background")
        scores = op("where", mask, builder.number(0.0, dtype), scores)
    return [boxes, scores]
