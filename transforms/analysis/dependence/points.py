"""Single points of sets, for messages."""

from __future__ import annotations

import islpy as isl

from .affine import DIM, Point


def smallest(relation: isl.Map) -> tuple[Point, Point, Point]:
    """(parameters, from, to) of the lexicographically least pair of a relation that is not empty.

    Where there is no least one, any.
    """
    counts = [relation.dim(kind) for kind in (DIM.param, DIM.in_, DIM.out)]
    points = relation.reset_tuple_id(DIM.in_).reset_tuple_id(DIM.out).wrap().flatten()
    points = points.move_dims(DIM.set, 0, DIM.param, 0, counts[0])
    for n in range(counts[0]):
        bounded = points.lower_bound_val(DIM.set, n, 0)
        points = points if bounded.is_empty() else bounded
    try:
        point = points.lexmin().sample_point()
    except isl.Error:  # not bounded from below
        point = points.sample_point()
    numbers = [point.get_coordinate_val(DIM.set, n).to_python() for n in range(sum(counts))]
    first, second = counts[0], counts[0] + counts[1]
    return tuple(numbers[:first]), tuple(numbers[first:second]), tuple(numbers[second:])


def at_point(relation: isl.Map, parameters: Point, start: Point) -> isl.Map:
    """A relation at one value of its parameters and domain."""
    for n, number in enumerate(parameters):
        relation = relation.fix_val(DIM.param, n, number)
    for n, number in enumerate(start):
        relation = relation.fix_val(DIM.in_, n, number)
    return relation


def render(names: tuple[str, ...], point: Point) -> str:
    """`(vi=3, vj=5)`."""
    return f"({', '.join(f'{n}={k}' for n, k in zip(names, point, strict=True))})"
