"""The importers of ONNX's operators, by family. Importing this package registers all of them."""

from . import (
    control,
    data_sizes,
    elementwise,
    fused_runtime,
    images,
    nn,
    places,
    quantization,
    quantized_runtime,
    recurrent,
    reductions,
    resizing,
    sequences,
    shapes,
    signals,
)

__all__ = [
    "control",
    "data_sizes",
    "elementwise",
    "fused_runtime",
    "images",
    "nn",
    "places",
    "quantization",
    "quantized_runtime",
    "recurrent",
    "reductions",
    "resizing",
    "sequences",
    "shapes",
    "signals",
]
