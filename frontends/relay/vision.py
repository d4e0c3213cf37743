"""Operators on regions of images and on boxes: `relay.vision`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...expressions.errors import TeError
from ...operators.windows import each_dimension
from .expr import Expr, TupleWrapper, as_expr, call, const
from .host import host_call, host_operator, require_ranks
from .operators import operator_function, relay_function
from .types import Any_, TensorType, TupleType, Type

deformable_patches = operator_function("vision.deformable_patches")
multibox_prior = operator_function("vision.multibox_prior")
roi_pool = operator_function("vision.roi_pool")
yolo_reorg = operator_function("vision.yolo_reorg")


# Regions


@host_operator(
    "vision.roi_align",
    "data rois",
    {
        "pooled_size": (1, 1),
        "spatial_scale": float,
        "sample_ratio": -1,
        "layout": "NCHW",
        "mode": "avg",
        "aligned": False,
    },
)
def _aligned_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.roi_align", types, 4, 2)
    rows, columns = (int(each) for each in attributes["pooled_size"])
    images, count = types[0].shape, types[1].shape[0]
    shape = [count, images[1], rows, columns] if attributes["layout"] == "NCHW" else [count, rows, columns, images[3]]
    return TensorType(shape, types[0].dtype)


@relay_function("vision.roi_align")
def roi_align(
    data: Expr,
    rois: Expr,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int = -1,
    layout: str = "NCHW",
    mode: str = "avg",
    aligned: bool = False,
) -> Expr:
    """Samples regions of images, in a number of parts along each dimension. sample_ratio: the number of samples of a
    part along each dimension, as many as it has elements if that is not positive. Else as the operator."""
    attributes = {"spatial_scale": spatial_scale, "layout": layout, "mode": mode, "aligned": aligned}
    if sample_ratio > 0:
        return call("vision.roi_align", data, rois, pooled_size=pooled_size, sample_ratio=sample_ratio, **attributes)
    if layout not in ("NCHW", "NHWC"):
        raise TeError(f"vision.roi_align: layout {layout!r}, expected 'NCHW' or 'NHWC'")
    sizes = each_dimension(pooled_size, 2, "vision.roi_align: pooled_size")
    return host_call("vision.roi_align", [data, rois], pooled_size=sizes, sample_ratio=sample_ratio, **attributes)


# Boxes


@host_operator("vision.get_valid_counts", "data score_threshold", {"id_index": 0, "score_index": 1})
def _counts_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.get_valid_counts", types, 3, -1)
    data = types[0]
    return TupleType(
        [TensorType(data.shape[:1], "int32"), TensorType(data.shape, data.dtype), TensorType(data.shape[:2], "int32")]
    )


@relay_function("vision.get_valid_counts", "score_threshold")
def get_valid_counts(data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """The number of boxes of each image with a higher score and a class, these boxes first, and their indices; -1 after
    them.

    data: boxes [batch, n, elements].  id_index: of the class in a box, which is negative for no box; -1 without.
    """
    operands = [data, _number(score_threshold, "float32")]
    return TupleWrapper(host_call("vision.get_valid_counts", operands, id_index=id_index, score_index=score_index), 3)


@host_operator(
    "vision.non_max_suppression",
    "data valid_count indices max_output_size iou_threshold",
    {
        "force_suppress": False,
        "top_k": -1,
        "coord_start": 2,
        "score_index": 1,
        "id_index": 0,
        "return_indices": True,
        "invalid_to_bottom": False,
    },
)
def _suppressed_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.non_max_suppression", types, 3, 1)
    data = types[0]
    if not attributes["return_indices"]:
        return TensorType(data.shape, data.dtype)
    return TupleType([TensorType(data.shape[:2], "int32"), TensorType([data.shape[0], 1], "int32")])


@relay_function("vision.non_max_suppression", "max_output_size", "iou_threshold")
def non_max_suppression(
    data: Expr,
    valid_count: Expr,
    indices: Expr,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:
    """The boxes of each image of which no box of the class with a higher score covers too much: their indices, -1 after
    them, and their number; or the boxes by falling scores, -1 in place of others.

    data: [batch, n, elements], of which the first `valid_count` take part.  indices: the index of each of them.
    max_output_size: the greatest number of boxes, -1 for all.  iou_threshold: the ratio of intersection and union from
    which a box covers too much.  force_suppress: whether boxes of other classes cover as well.  top_k: the number of
    boxes that take part, -1 for all.  coord_start, score_index, id_index: positions in a box.  return_indices: whether
    the result is indices.  invalid_to_bottom: whether the boxes are first.
    """
    limits = [_number(max_output_size, "int32"), _number(iou_threshold, "float32")]
    call = host_call(
        "vision.non_max_suppression",
        [data, valid_count, indices, *limits],
        force_suppress=bool(force_suppress),
        top_k=top_k,
        coord_start=coord_start,
        score_index=score_index,
        id_index=id_index,
        return_indices=bool(return_indices),
        invalid_to_bottom=bool(invalid_to_bottom),
    )
    return TupleWrapper(call, 2) if return_indices else call


@host_operator(
    "vision.all_class_non_max_suppression",
    "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
    {"output_format": "onnx"},
)
def _selected_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.all_class_non_max_suppression", types, 3, 3)
    batch, classes, count = types[0].shape[0], types[1].shape[1], types[0].shape[1]
    rows = classes * count if isinstance(classes, int) and isinstance(count, int) else Any_()
    if attributes["output_format"] == "onnx":
        all_rows = batch * rows if isinstance(batch, int) and isinstance(rows, int) else Any_()
        return TupleType([TensorType([all_rows, 3], "int64"), TensorType([1], "int64")])
    shapes = ([batch, rows, 2], "int64"), ([batch, rows], "float32"), ([batch], "int64")
    return TupleType([TensorType(*each) for each in shapes])


@relay_function(
    "vision.all_class_non_max_suppression", "max_output_boxes_per_class", "iou_threshold", "score_threshold"
)
def all_class_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """The boxes of each class of which no box with a higher score covers too much, and their number; 0 after them.

    boxes: two corners, [batch, n, 4].  scores: [batch, classes, n].  output_format: "onnx" for rows of batch, class and
    box; "tensorflow" for rows of class and box for each batch, and their scores. TeError for another format.
    """
    if output_format not in ("onnx", "tensorflow"):
        raise TeError(f"all_class_non_max_suppression: format {output_format!r}, expected 'onnx' or 'tensorflow'")
    limits = [
        _number(max_output_boxes_per_class, "int32"),
        _number(iou_threshold, "float32"),
        _number(score_threshold, "float32"),
    ]
    call = host_call("vision.all_class_non_max_suppression", [boxes, scores, *limits], output_format=output_format)
    return TupleWrapper(call, 2 if output_format == "onnx" else 3)


@host_operator(
    "vision.multibox_transform_loc",
    "cls_prob loc_pred anchor",
    {"clip": True, "threshold": 0.01, "variances": (0.1, 0.1, 0.2, 0.2), "keep_background": False},
)
def _located_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.multibox_transform_loc", types, 3, 2, 3)
    batch, _, count = types[0].shape
    return TupleType([TensorType([batch, count, 6], types[1].dtype), TensorType([batch], "int32")])


@relay_function("vision.multibox_transform_loc")
def multibox_transform_loc(
    cls_prob: Expr,
    loc_pred: Expr,
    anchor: Expr,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> TupleWrapper:
    """The boxes [batch, n, 6] of the anchors with a class (class, score, corners), first, and their number.

    cls_prob: probabilities [batch, classes, n], of which class 0 is the background.  loc_pred: for each anchor the
    distance of the centers and the logarithms of the ratios of the sizes, divided by `variances`: [batch, 4 * n].
    anchor: corners [1, n, 4].  clip: whether corners are moved into [0, 1].  threshold: of the probability of a class.
    keep_background: whether anchors of the background are boxes, too.
    """
    call = host_call(
        "vision.multibox_transform_loc",
        [cls_prob, loc_pred, anchor],
        clip=bool(clip),
        threshold=threshold,
        variances=variances,
        keep_background=bool(keep_background),
    )
    return TupleWrapper(call, 2)


@host_operator(
    "vision.proposal",
    "cls_prob bbox_pred im_info",
    {
        "scales": (4.0, 8.0, 16.0, 32.0),
        "ratios": (0.5, 1.0, 2.0),
        "feature_stride": 16,
        "threshold": 0.7,
        "rpn_pre_nms_top_n": 6000,
        "rpn_post_nms_top_n": 300,
        "rpn_min_size": 16,
        "iou_loss": False,
    },
)
def _proposal_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("vision.proposal", types, 4, 4, 2)
    batch = types[0].shape[0]
    return TensorType(
        [batch * attributes["rpn_post_nms_top_n"] if isinstance(batch, int) else Any_(), 5], types[0].dtype
    )


@relay_function("vision.proposal")
def proposal(
    cls_prob: Expr,
    bbox_pred: Expr,
    im_info: Expr,
    scales: Sequence[float],
    ratios: Sequence[float],
    feature_stride: int,
    threshold: float,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    rpn_min_size: int,
    iou_loss: bool,
) -> Expr:
    """The regions of images that a region proposal network prefers, rows of batch and corners:
    [batch * rpn_post_nms_top_n, 5].

    cls_prob: [batch, 2 * anchors, height, width], first of the background.  bbox_pred: [batch, 4 * anchors, height,
    width].  im_info: for each image height, width and scale.  scales, ratios: of the anchors.  feature_stride: pixels
    for an element of a feature.  threshold: the ratio of intersection and union above which a region is left out.
    rpn_pre_nms_top_n, rpn_post_nms_top_n: the numbers of regions before and after that.  rpn_min_size: the least height
    and width.  iou_loss: whether `bbox_pred` holds distances of corners.
    """
    return host_call(
        "vision.proposal",
        [cls_prob, bbox_pred, im_info],
        scales=scales,
        ratios=ratios,
        feature_stride=feature_stride,
        threshold=threshold,
        rpn_pre_nms_top_n=rpn_pre_nms_top_n,
        rpn_post_nms_top_n=rpn_post_nms_top_n,
        rpn_min_size=rpn_min_size,
        iou_loss=bool(iou_loss),
    )


def _number(value: Any, dtype: str) -> Expr:
    """A number as a constant; expressions are themselves."""
    return as_expr(value) if isinstance(value, Expr) else const(value, dtype)
