"""The module `tvm.topi.vision`, as of v0.16."""

from __future__ import annotations

from collections.abc import Sequence

from ....core.errors import UnsupportedError
from ....expressions.tensor import Tensor
from ....operators import detection, vision
from ....operators.detection import yolo_reorg as reorg
from ....operators.windows import Window
from ..absent import report_absent

__getattr__ = report_absent("tvm.topi.vision")

__all__ = ["multibox_prior", "reorg", "roi_align_nchw", "roi_align_nhwc", "roi_pool_nchw"]


def multibox_prior(
    data: Tensor,
    sizes: Sequence[float] = (1,),
    ratios: Sequence[float] = (1,),
    steps: Sequence[float] = (-1, -1),
    offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Tensor:
    """The anchor boxes of the pixels of images: one for each size, and for each further ratio."""
    return detection.multibox_prior(data, sizes, ratios, steps, offsets, clip)


def _roi_align(
    layout: str, data: Tensor, rois: Tensor, pooled_size: Window, spatial_scale: float, mode: str, sample_ratio: int
) -> Tensor:
    if sample_ratio <= 0:
        raise UnsupportedError(
            f"roi_align: sample_ratio {sample_ratio}, expected a positive one: else the number of samples of a part "
            "depends on the elements of rois (relay.vision.roi_align)"
        )
    return vision.roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, layout, mode)


def roi_align_nchw(
    data: Tensor, rois: Tensor, pooled_size: Window, spatial_scale: float, mode: str | bytes, sample_ratio: int = -1
) -> Tensor:
    """The parts of regions of images in the layout NCHW, averages (`avg`) or maxima (`max`) of samples.
    UnsupportedError unless the number of samples is given."""
    return _roi_align("NCHW", data, rois, pooled_size, spatial_scale, _text(mode), sample_ratio)


def roi_align_nhwc(
    data: Tensor, rois: Tensor, pooled_size: Window, spatial_scale: float, mode: str | bytes, sample_ratio: int = -1
) -> Tensor:
    """The same in the layout NHWC."""
    return _roi_align("NHWC", data, rois, pooled_size, spatial_scale, _text(mode), sample_ratio)


def _text(mode: str | bytes) -> str:
    return mode.decode() if isinstance(mode, bytes) else mode


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Window, spatial_scale: float) -> Tensor:
    """The maxima of the parts of regions of images in the layout NCHW."""
    return vision.roi_pool(data, rois, pooled_size, spatial_scale)
