"""Packed functions for the operators of programs that have no tensor expression, in numpy: `stepwell.relay.argwhere`
and others. Each receives the attributes of a call as JSON, and its operands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....backends.relax.host_boxes import select_boxes_onnx, select_boxes_tensorflow, suppress_boxes, valid_boxes
from ....backends.relax.host_functions import on_host
from ....backends.relax.host_functions import unique as distinct
from ....backends.runtime.packed import register_func
from ....operators.vision import roi_align_reference
from ...relay.host import HOST_OPERATORS

Array = np.ndarray[Any, Any]


def argwhere(_: str, condition: Array) -> Array:
    """The indices of the elements that are not zero, a row for each: int32[count, rank]."""
    return np.argwhere(condition).reshape(-1, condition.ndim).astype(np.int32)


def unique(description: str, data: Array) -> tuple[Array, ...]:
    """The distinct elements; for each its first index; for each element of `data` the index of its equal; the number of
    distinct elements; the numbers of equals. All but the number are as long as `data`, with 0 at the end."""
    given = json.loads(description)
    values, first, inverse, counts = distinct(data, 0, int(given["sorted"]))
    rest = [_filled(each.astype(np.int32), len(data)) for each in (first, inverse)]
    results = [_filled(values, len(data)), *rest, np.array([len(values)], np.int32)]
    return (*results, _filled(counts.astype(np.int32), len(data))) if given["return_counts"] else tuple(results)


def _filled(data: Array, count: int) -> Array:
    """The elements, and 0 after them, up to a number of rows."""
    result = np.zeros((count, *data.shape[1:]), data.dtype)
    result[: len(data)] = data
    return result


def sparse_fill_empty_rows(_: str, indices: Array, values: Array, shape: Array, default_value: Array) -> Any:
    """See `relay.sparse_fill_empty_rows`."""
    rows = np.arange(int(shape[0]), dtype=np.int64)
    is_empty = ~np.isin(rows, indices[:, 0])
    new = np.zeros((int(is_empty.sum()), indices.shape[1]), np.int64)
    new[:, 0] = rows[is_empty]
    places = np.concatenate([indices.astype(np.int64), new])
    order = np.argsort(places[:, 0], kind="stable")
    added = np.full(len(new), default_value.reshape(()), values.dtype)
    return places[order], np.concatenate([values, added])[order], is_empty.astype(np.int64)


# Boxes


def get_valid_counts(description: str, data: Array, threshold: Array) -> tuple[Array, ...]:
    """See `relay.vision.get_valid_counts`."""
    return valid_boxes(json.dumps({**json.loads(description), "score_threshold": float(threshold.reshape(()))}), data)


def non_max_suppression(
    description: str, data: Array, counts: Array, indices: Array, most: Array, overlap: Array
) -> Any:
    """See `relay.vision.non_max_suppression`."""
    given = json.loads(description)
    limits = {"max_output_size": int(most.reshape(())), "iou_threshold": float(overlap.reshape(()))}
    soft = {"soft_nms_sigma": 0.0, "score_threshold": 0.0}
    if not given["return_indices"]:  # programs pass any tensor then
        indices = np.zeros(data.shape[:2], np.int32)
    boxes, places, kept = suppress_boxes(json.dumps({**given, **limits, **soft}), data, counts, indices)
    return (places, kept) if given["return_indices"] else boxes


def all_class_non_max_suppression(
    description: str, boxes: Array, scores: Array, most: Array, overlap: Array, threshold: Array
) -> tuple[Array, ...]:
    """See `relay.vision.all_class_non_max_suppression`."""
    operands = boxes, scores, most, overlap, threshold
    if json.loads(description)["output_format"] == "tensorflow":
        return select_boxes_tensorflow(*operands)
    selected, count = select_boxes_onnx(*operands)
    return _filled(selected, math.prod(scores.shape)), count


def multibox_transform_loc(description: str, probabilities: Array, moves: Array, anchors: Array) -> tuple[Array, Array]:
    """See `relay.vision.multibox_transform_loc`."""
    given = json.loads(description)
    first = 0 if given["keep_background"] else 1
    classes = probabilities[:, first:].argmax(1) + first
    scores = probabilities[:, first:].max(1)
    classes[scores < given["threshold"]] = 0
    corners = _moved(anchors[0], moves.reshape(len(moves), -1, 4), np.asarray(given["variances"], moves.dtype))
    corners = corners.clip(0, 1) if given["clip"] else corners
    rows = np.concatenate([(classes - first)[..., None], scores[..., None], corners], -1).astype(moves.dtype)
    boxes, counts = np.full_like(rows, -1), np.zeros(len(rows), np.int32)
    for n, own in enumerate(rows):
        kept = own if given["keep_background"] else own[classes[n] > 0]
        boxes[n, : len(kept)], counts[n] = kept, len(kept)
    return boxes, counts


def _moved(anchors: Array, moves: Array, variances: Array) -> Array:
    """The corners of boxes [batch, n, 4] at some distance of anchors [n, 4]."""
    size, center = anchors[:, 2:] - anchors[:, :2], (anchors[:, :2] + anchors[:, 2:]) / 2
    middle = moves[..., :2] * variances[:2] * size + center
    reach = np.exp(moves[..., 2:] * variances[2:]) * size / 2
    return np.concatenate([middle - reach, middle + reach], -1)


def roi_align(description: str, images: Array, regions: Array) -> Array:
    """See `relay.vision.roi_align`."""
    given: dict[str, Any] = json.loads(description)
    given["sample_ratio"] = 0
    return roi_align_reference(images, regions, **given)


def proposal(description: str, probabilities: Array, moves: Array, images: Array) -> Array:
    """See `relay.vision.proposal`."""
    given = json.loads(description)
    count = given["rpn_post_nms_top_n"]
    rows = np.zeros((len(probabilities), count, 5), probabilities.dtype)
    for n, image in enumerate(images):
        boxes, scores = _regions(given, probabilities[n], moves[n], image)
        order = np.argsort(-scores, kind="stable")
        order = order[: given["rpn_pre_nms_top_n"]] if given["rpn_pre_nms_top_n"] > 0 else order
        kept = _separate(boxes[order], given["threshold"])
        rows[n, :, 0] = n
        if len(kept):
            rows[n, :, 1:] = kept[np.arange(count) % len(kept)]
    return rows.reshape(-1, 5)


def _regions(given: dict[str, Any], probabilities: Array, moves: Array, image: Array) -> tuple[Array, Array]:
    """The corners and the scores of the regions of an image, by rows, columns and anchors."""
    step, (height, width) = given["feature_stride"], probabilities.shape[1:]
    anchors = np.array([_anchor(ratio, scale, step) for ratio in given["ratios"] for scale in given["scales"]])
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    origins = np.stack([columns, rows, columns, rows], -1)[:, :, None] * step
    boxes = (anchors + origins).astype(moves.dtype)
    deltas = moves.reshape(len(anchors), 4, height, width).transpose(2, 3, 0, 1)
    boxes = boxes + deltas if given["iou_loss"] else _shifted(boxes, deltas)
    limits = np.array([image[1], image[0], image[1], image[0]], moves.dtype) - 1
    boxes = np.maximum(np.minimum(boxes, limits), 0)
    scores = probabilities[len(anchors) :].transpose(1, 2, 0).copy()
    scores[(rows >= int(image[0] / step)) | (columns >= int(image[1] / step))] = -1
    least = image[2] * given["rpn_min_size"]
    is_small = ((boxes[..., 2:] - boxes[..., :2] + 1) < least).any(-1)
    boxes[is_small] += np.array([-1, -1, 1, 1], moves.dtype) * (least / 2)
    scores[is_small] = -1
    return boxes.reshape(-1, 4), scores.reshape(-1)


def _anchor(ratio: float, scale: float, size: float) -> tuple[float, ...]:
    """The corners of an anchor at the first element of a feature."""
    center = 0.5 * (size - 1)
    base = math.floor(math.sqrt(math.floor(size * size / ratio)) + 0.5)
    width, height = base * scale, math.floor(base * ratio + 0.5) * scale
    half = 0.5 * (width - 1), 0.5 * (height - 1)
    return center - half[0], center - half[1], center + half[0], center + half[1]


def _shifted(boxes: Array, deltas: Array) -> Array:
    """Boxes whose centers move by parts of their sizes, and whose sizes grow by powers of e."""
    size = boxes[..., 2:] - boxes[..., :2] + 1
    center = deltas[..., :2] * size + (boxes[..., :2] + 0.5 * (size - 1))
    half = 0.5 * (np.exp(deltas[..., 2:]) * size - 1)
    return np.concatenate([center - half, center + half], -1)


def _separate(boxes: Array, threshold: float) -> Array:
    """The boxes of which no earlier one covers too much. Sizes count the last pixel."""
    rest, kept = boxes, list[Array]()
    while len(rest):
        first = rest[0]
        kept.append(first)
        sides = np.minimum(first[2:], rest[:, 2:]) - np.maximum(first[:2], rest[:, :2]) + 1
        common = np.maximum(sides, 0).prod(-1)
        areas = (rest[:, 2:] - rest[:, :2] + 1).prod(-1)
        ratios = common / (areas[0] + areas - common)
        rest = rest[1:][ratios[1:] <= threshold]
    return np.array(kept, boxes.dtype).reshape(-1, 4)


HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "argwhere": argwhere,
    "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "unique": unique,
    "vision.all_class_non_max_suppression": all_class_non_max_suppression,
    "vision.get_valid_counts": get_valid_counts,
    "vision.multibox_transform_loc": multibox_transform_loc,
    "vision.non_max_suppression": non_max_suppression,
    "vision.proposal": proposal,
    "vision.roi_align": roi_align,
}
"""The functions, by the names of the operators."""


def _compact(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results in row-major order."""

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        return tuple(map(np.ascontiguousarray, result)) if isinstance(result, tuple) else np.ascontiguousarray(result)

    return call


for _name, _function in HOST_FUNCTIONS.items():
    register_func(HOST_OPERATORS[_name].function, on_host(_compact(_function)), override=True)
