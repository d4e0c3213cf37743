"""The importers of operators of ATen, one module per family."""

from . import attention, creation, elementwise, images, indexing, norms, products, reductions, shapes, sizes, updates

__all__ = [
    "attention",
    "creation",
    "elementwise",
    "images",
    "indexing",
    "norms",
    "products",
    "reductions",
    "shapes",
    "sizes",
    "updates",
]
