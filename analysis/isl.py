"""The names of islpy that analyses use. islpy is imported on the first use of a name: programs whose analyses need no
isl start faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from islpy import (
        DEFAULT_CONTEXT,
        Aff,
        AffList,
        Error,
        LocalSpace,
        Map,
        MultiAff,
        Point,
        PwAff,
        Set,
        Space,
        UnionAccessInfo,
        UnionMap,
        Val,
        dim_type,
    )

__all__ = [
    "DEFAULT_CONTEXT",
    "Aff",
    "AffList",
    "Error",
    "LocalSpace",
    "Map",
    "MultiAff",
    "Point",
    "PwAff",
    "Set",
    "Space",
    "UnionAccessInfo",
    "UnionMap",
    "Val",
    "dim_type",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # lazy: the import takes 0.03 s, and most programs of simple loops need no isl
    import islpy

    value = globals()[name] = getattr(islpy, name)
    return value
