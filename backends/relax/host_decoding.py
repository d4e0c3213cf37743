"""The packed function of this package that decodes images, by Pillow."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from ...core.errors import ArgumentError, UnsupportedError
from ..runtime.packed import register_func
from .host_functions import on_host

Array = np.ndarray[Any, Any]


def decode_image(pixel_format: str, data: Array) -> Array:
    """The pixels of an encoded image: uint8[height, width, channels]. pixel_format: `RGB`, `BGR` or `Grayscale`.
    Raises UnsupportedError without Pillow, ArgumentError for data that it does not decode."""
    try:
        # lazy: an optional dependency
        from PIL import Image
    except ImportError:
        raise UnsupportedError("images are decoded by Pillow: pip install 'stepwell[images]'") from None
    try:
        image = Image.open(BytesIO(data.tobytes()))
        pixels = np.asarray(image.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise ArgumentError(f"an image of {data.size} bytes: {error}") from None
    channels = pixels.reshape(*pixels.shape[:2], -1)
    return np.ascontiguousarray(channels[..., ::-1] if pixel_format == "BGR" else channels)


register_func("stepwell.decode_image", on_host(decode_image), override=True)
