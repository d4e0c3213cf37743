"""Layouts of tensors, and the maps between two: `tvm.tir.layout`, `tvm.tir.bijective_layout`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....core.dtypes import parse_dtype
from ....expressions.axes import IterVar, Range
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Var, as_expr
from ....operators.layouts import Layout as BlockedLayout
from ....operators.layouts import elements_of, indices_of

UNDEFINED = "__undef__"
"""The name of the layout of tensors without one."""


class Layout:
    """The order of the axes of a tensor: `NCHW16c` has the axes N, C, H, W, and 16 of each C. dtype: of indices.

    TeError for a text that is no layout, TypeError for a data type that is no integer.
    """

    def __init__(self, name: str, dtype: str = "int32"):
        if not isinstance(dtype, str) or not parse_dtype(dtype).is_int:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"layout {name!r} of type {dtype!r}, expected an integer")
        self.name = name
        self.dtype = dtype
        self.is_defined = name not in ("", UNDEFINED)
        self._layout = BlockedLayout.of(name if self.is_defined else "")

    @property
    def _letters(self) -> list[str]:
        return [letter if factor is None else letter.lower() for letter, factor in self._layout.axes]

    def __len__(self) -> int:
        return len(self._letters)

    def __contains__(self, axis: str) -> bool:
        return axis in self._letters

    def __getitem__(self, index: int) -> str:
        return self._letters[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def index_of(self, axis: str) -> int:
        """The position of an axis, -1 for one that the layout lacks."""
        return self._letters.index(axis) if axis in self else -1

    def factor_of(self, axis: str) -> int:
        """The number of elements of the block of an axis, -1 for an axis without blocks."""
        return self._layout.block(axis.upper()) if axis.lower() in self else -1

    @property
    def axes(self) -> list[IterVar]:
        """The axes; those without a number have variables as sizes."""
        zero = IntImm(self.dtype, 0)
        return [
            IterVar(
                Range(zero, Var(letter, self.dtype) if factor is None else IntImm(self.dtype, factor)),
                Var(letter if factor is None else letter.lower(), self.dtype),
                "spatial",
            )
            for letter, factor in self._layout.axes
        ]

    @property
    def blocked(self) -> BlockedLayout:
        """The layout with its blocks."""
        return self._layout

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Layout({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class BijectiveLayout:
    """The maps between two layouts of the same dimensions."""

    def __init__(self, src_layout: Layout, dst_layout: Layout):
        self.src_layout, self.dst_layout = src_layout, dst_layout

    def forward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """The indices in the second layout of an element with indices in the first one."""
        return _indices(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """The indices in the first layout of an element with indices in the second one."""
        return _indices(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape in the second layout of a tensor with a shape in the first one."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape in the first layout of a tensor with a shape in the second one."""
        return _shape(self.dst_layout, self.src_layout, shape)


def _indices(source: Layout, target: Layout, index: Sequence[Any]) -> list[PrimExpr]:
    if len(index) != len(source):
        raise TeError(f"layout {source}: {len(index)} indices, expected {len(source)}")
    elements = elements_of(source.blocked, [as_expr(each) for each in index])
    return indices_of(target.blocked, elements)


def _shape(source: Layout, target: Layout, shape: Sequence[Any]) -> list[PrimExpr]:
    known = [int(each) if isinstance(each, int | IntImm) else each for each in shape]
    return [as_expr(each) for each in target.blocked.shape(source.blocked.extents(known))]


def layout(layout_str: str, dtype: str = "int32") -> Layout:
    """The layout of a text, with indices of a type."""
    return Layout(layout_str, dtype)


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout | None:
    """The maps between two layouts, None for layouts of different dimensions."""
    source, target = (Layout(each) if isinstance(each, str) else each for each in (src_layout, dst_layout))
    if not source.is_defined or not target.is_defined:
        return None
    try:
        source.blocked.require_dimensions(target.blocked)
    except TeError:
        return None
    return BijectiveLayout(source, target)


__all__ = ["BijectiveLayout", "Layout", "bijective_layout", "layout"]
