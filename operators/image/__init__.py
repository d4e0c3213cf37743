"""Operators on images: resizing by interpolation, of parts too, upsampling by factors, and blocks of elements."""

from .blocks import depth_to_space, space_to_depth
from .crops import crop_and_resize
from .dilation import dilation2d
from .resize import resize1d, resize2d, resize3d
from .upsampling import upsampling, upsampling3d

__all__ = [
    "crop_and_resize",
    "depth_to_space",
    "dilation2d",
    "resize1d",
    "resize2d",
    "resize3d",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
