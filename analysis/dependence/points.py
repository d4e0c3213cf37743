"""Sample points of sets, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import isl
from .affine import Point


def lexicographic_minimum(relation: isl.Map) -> tuple[dict[str, int], Point, Point]:
    """(parameters by name, from, to) of the lexicographic minimum of a relation that is not empty.

    Any pair if the relation has no minimum.
    """
    counts = [relation.dim(kind) for kind in (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out)]
    points = relation.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out).wrap().flatten()
    points = points.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, counts[0])
    for n in range(counts[0]):
        bounded = points.lower_bound_val(isl.dim_type.set, n, 0)
        points = points if bounded.is_empty() else bounded
    try:
        point = points.lexmin().sample_point()
    except isl.Error:  # not bounded from below
        point = points.sample_point()
    numbers = [point.get_coordinate_val(isl.dim_type.set, n).to_python() for n in range(sum(counts))]
    first, second = counts[0], counts[0] + counts[1]
    names = [relation.get_dim_name(isl.dim_type.param, n) or "" for n in range(first)]
    return dict(zip(names, numbers, strict=False)), tuple(numbers[first:second]), tuple(numbers[second:])


def at_point(relation: isl.Map, parameters: Mapping[str, int], start: Point) -> isl.Map:
    """A relation restricted to fixed parameters and a point of its domain."""
    for name, number in parameters.items():
        position = relation.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            relation = relation.fix_val(isl.dim_type.param, position, number)
    for n, number in enumerate(start):
        relation = relation.fix_val(isl.dim_type.in_, n, number)
    return relation


def render_point(names: tuple[str, ...], point: Point) -> str:
    """The text of a point: `(vi=3, vj=5)`."""
    return f"({', '.join(f'{n}={k}' for n, k in zip(names, point, strict=True))})"


def render_parameters(parameters: Mapping[str, int], label: Callable[[str], str]) -> str:
    """The text of parameters: `, for n = 1`; the empty string without parameters."""
    texts = [f"{label(name)} = {number}" for name, number in parameters.items()]
    return f", for {', '.join(texts)}" if texts else ""
