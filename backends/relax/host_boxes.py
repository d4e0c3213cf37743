"""Packed functions of this package on boxes with scores, in numpy: `R.vision` of TVM."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.packed import register_func
from .host_functions import box_ratios, non_max_suppression, on_host

Array = np.ndarray[Any, Any]


def valid_boxes(description: str, data: Array) -> tuple[Array, Array, Array]:
    """The number of boxes with a higher score than a threshold; these boxes first, the others -1; their indices.

    data: [batch, n, elements].  description: as JSON, the threshold (`score_threshold`), the position of the score in a
    box (`score_index`), and that of its class, which is negative for no box, or -1 (`id_index`).
    """
    given = json.loads(description)
    counts, kept = np.zeros(len(data), np.int32), np.full_like(data, -1)
    indices = np.full(data.shape[:2], -1, np.int32)
    for n, boxes in enumerate(data):
        is_valid = boxes[:, given["score_index"]] > data.dtype.type(given["score_threshold"])
        if given["id_index"] >= 0:
            is_valid &= boxes[:, given["id_index"]] >= 0
        places = np.flatnonzero(is_valid)
        counts[n] = len(places)
        kept[n, : len(places)], indices[n, : len(places)] = boxes[places], places
    return counts, kept, indices


def suppress_boxes(description: str, data: Array, counts: Array, indices: Array) -> tuple[Array, Array, Array]:
    """The boxes by falling scores, of which those that a box of the same class covers too much are -1; the indices of
    the kept ones, -1 after them; and the number of these.

    data: [batch, n, elements], of which the first `counts` take part.  indices: the index of each of them.
    description: as JSON, the parameters of `R.vision.non_max_suppression`. If `soft_nms_sigma` is positive, covered
    boxes have lower scores, and the kept boxes are first.
    """
    given = json.loads(description)
    boxes, places = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    kept = np.zeros((len(data), 1), np.int32)
    suppress = _decay if given["soft_nms_sigma"] > 0 else _suppress
    for n, rows in enumerate(data):
        order = np.argsort(-rows[: counts[n], given["score_index"]], kind="stable")
        order = order[: given["top_k"]] if given["top_k"] > 0 else order
        chosen, own = suppress(rows[order], order, given)
        boxes[n, : len(chosen)] = chosen
        own = own[own >= 0]
        kept[n], places[n, : len(own)] = len(own), indices[n, own]
        if given["invalid_to_bottom"]:
            front = boxes[n][boxes[n, :, given["score_index"]] >= 0]
            boxes[n] = -1
            boxes[n, : len(front)] = front
    return boxes, places, kept


def _suppress(boxes: Array, order: Array, given: dict[str, Any]) -> tuple[Array, Array]:
    """The sorted boxes, and their indices; both are -1 for a suppressed box."""
    boxes, own, score, most, count = boxes.copy(), order.copy(), given["score_index"], given["max_output_size"], 0
    for j in range(len(boxes)):
        if not boxes[j, score] > 0 or 0 < most <= count:
            boxes[j], own[j] = -1, -1
            continue
        count += 1
        covered = _covered(boxes, j, given) & (boxes[:, score] > 0) & (np.arange(len(boxes)) > j)
        covered &= _ratios(boxes, j, given) >= boxes.dtype.type(given["iou_threshold"])
        boxes[covered, score], own[covered] = -1, -1
    return boxes, own


def _decay(boxes: Array, order: Array, given: dict[str, Any]) -> tuple[Array, Array]:
    """The kept boxes by falling scores, which each kept box has lowered for those that it covers; and their indices."""
    boxes, own, score, most = boxes.copy(), order.copy(), given["score_index"], given["max_output_size"]
    kind = boxes.dtype.type
    threshold, scale = kind(given["score_threshold"]), kind(-0.5 / given["soft_nms_sigma"])
    count = 0
    for _ in range(len(boxes)):
        open_boxes = (np.arange(len(boxes)) >= count) & (own >= 0) & (boxes[:, score] > threshold)
        if 0 < most <= count or not open_boxes.any():
            break
        best = int(np.argmax(np.where(open_boxes, boxes[:, score], -np.inf)))
        boxes[[count, best]], own[[count, best]] = boxes[[best, count]], own[[best, count]]
        ratios = _ratios(boxes, count, given)
        others = (np.arange(len(boxes)) > count) & (own >= 0) & (boxes[:, score] > threshold)
        others &= _covered(boxes, count, given)
        covered = others & (ratios >= kind(given["iou_threshold"]))
        own[covered] = -1
        others &= ~covered
        boxes[others, score] *= np.exp(scale * ratios[others] * ratios[others])
        own[others & (boxes[:, score] <= threshold)] = -1
        count += 1
    return boxes[:count], own[:count]


def _covered(boxes: Array, box: int, given: dict[str, Any]) -> Array:
    """Whether boxes are of the class of a box."""
    place = given["id_index"]
    is_any = given["force_suppress"] or place < 0
    return np.full(len(boxes), True) if is_any else boxes[:, place] == boxes[box, place]


def _ratios(boxes: Array, box: int, given: dict[str, Any]) -> Array:
    """The ratios of intersection and union of a box and all boxes."""
    start = given["coord_start"]
    pairs = boxes[:, start : start + 4].reshape(-1, 2, 2)
    corners = np.stack([pairs.min(1), pairs.max(1)], axis=1)
    return box_ratios(corners[box], corners)


def select_boxes_onnx(
    boxes: Array, scores: Array, most: Array, overlap: Array, threshold: Array
) -> tuple[Array, Array]:
    """The batch, class and box of the boxes that `non_max_suppression` selects: int64[count, 3]; and their number."""
    selected = non_max_suppression(boxes, scores, most, overlap, threshold, 0)
    return selected, np.array([len(selected)], np.int64)


def select_boxes_tensorflow(
    boxes: Array, scores: Array, most: Array, overlap: Array, threshold: Array
) -> tuple[Array, Array, Array]:
    """For each batch the class and box of the selected boxes, their scores, and their number; 0 after them."""
    selected = non_max_suppression(boxes, scores, most, overlap, threshold, 0)
    batch, rows = scores.shape[0], scores.shape[1] * scores.shape[2]
    indices, values = np.zeros((batch, rows, 2), np.int64), np.zeros((batch, rows), np.float32)
    counts = np.bincount(selected[:, 0], minlength=batch).astype(np.int64)
    for n, count in enumerate(counts):
        own = selected[selected[:, 0] == n]
        indices[n, :count], values[n, :count] = own[:, 1:], scores[n, own[:, 1], own[:, 2]]
    return indices, values, counts


BOX_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "select_boxes_onnx": select_boxes_onnx,
    "select_boxes_tensorflow": select_boxes_tensorflow,
    "suppress_boxes": suppress_boxes,
    "valid_boxes": valid_boxes,
}
"""The functions, which are registered with the prefix `stepwell.`."""

for _name, _function in BOX_FUNCTIONS.items():
    register_func(f"stepwell.{_name}", on_host(_function), override=True)
