"""Index maps: from Python functions to affine maps, to text and back, to sums."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineMap

from stepwell.analysis.index import Analyzer, Lin
from stepwell.core.errors import ScheduleError
from stepwell.dialects.schedule import BoundMap
from stepwell.schedule.rewriting.index_maps import (
    AXIS_SEPARATOR,
    apply_map,
    bound_index_map,
    index_map_text,
    map_bounds,
    padding_value,
    separated_index_map,
)

MAPS: list[tuple[Callable[..., Any], int, str]] = [
    (lambda i, j: (i, j // 4, j % 4), 2, "lambda i0, i1: (i0, i1 // 4, i1 % 4,)"),
    (lambda i, j: i * 6 + j, 2, "lambda i0, i1: (i0 * 6 + i1,)"),
    (lambda *indices: indices[::-1], 3, "lambda i0, i1, i2: (i2, i1, i0,)"),
    (lambda n, *rest, c: (c, [*rest, n]), 4, "lambda i0, i1, i2, i3: (i3, i1, i2, i0,)"),
    (lambda i: (7 - i, 2 * (i + 1), 3), 1, "lambda i0: (i0 * (-1) + 7, i0 * 2 + 2, 3,)"),
    (lambda i: ((i - 1) // 2 * 3, -i), 1, "lambda i0: ((i0 - 1) // 2 * 3, i0 * (-1),)"),
    (lambda: (), 0, "lambda: ()"),
]


@pytest.mark.parametrize(("function", "rank", "text"), MAPS)
def test_the_text_of_a_map_is_a_function_that_gives_the_map(function: Any, rank: int, text: str) -> None:
    bound = bound_index_map(function, rank)
    assert index_map_text(bound.map) == text
    assert bound_index_map(eval(text), rank) == bound


@given(st.data())
def test_the_map_and_its_text_compute_what_the_function_does(data: st.DataObject) -> None:
    function, rank, _ = data.draw(st.sampled_from(MAPS))
    indices = data.draw(st.tuples(*(st.integers(0, 50) for _ in range(rank))))
    bound = bound_index_map(function, rank)
    expected = flattened(function(*indices)) if rank != 4 else flattened(function(*indices[:3], c=indices[3]))
    lins = apply_map(Analyzer(), bound, [Lin(index) for index in indices])
    assert [lin.const for lin in lins] == expected
    assert list(eval(index_map_text(bound.map))(*indices)) == expected
    assert list(bound.map.eval(indices, [])) == expected


@given(st.data())
def test_bounds_of_a_map_hold(data: st.DataObject) -> None:
    function, rank, _ = data.draw(st.sampled_from(MAPS))
    shape = data.draw(st.tuples(*(st.integers(1, 20) for _ in range(rank))))
    indices = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    bound = bound_index_map(function, rank)
    for result, value in zip(bound.map.results, bound.map.eval(indices, []), strict=True):
        bounds = map_bounds(Analyzer(), result, [Lin(extent) for extent in shape], [])
        assert bounds is not None
        low, high = bounds
        assert low.const <= value <= high.const


def flattened(result: Any) -> list[int]:
    return [n for item in result for n in flattened(item)] if isinstance(result, tuple | list) else [result]


def test_axis_separators_are_positions_among_the_results() -> None:
    bound, separators = separated_index_map(lambda i, j: (AXIS_SEPARATOR, i, [j, AXIS_SEPARATOR], 0), 2)
    assert (len(bound.map.results), separators) == (3, [0, 2])
    assert separated_index_map(bound.map, 2) == (bound, [])


def test_affine_maps_are_taken_as_they_are() -> None:
    bound = BoundMap(AffineMap.identity(2))
    assert bound_index_map(AffineMapAttr(bound.map), 2) == bound
    assert bound_index_map(bound.map, 2) == bound


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda i, j: i, "an index map of 2 indices, expected one of 1 index"),
        (lambda i: i * i, "a product of two indices"),
        (lambda i: i // 0, "0 behind //, expected a positive integer"),
        (lambda i: i % i, "an index behind %"),
        (lambda i: i + 0.5, "0.5 beside +, expected an index or an integer"),
        (lambda i: i / 2, "got something else"),
        (lambda i: 0 if i < 3 else i, "got something else"),
        (lambda i: None, "it gives None"),
        (lambda i: (i, "axis_separator"), "an axis separator, expected indices alone"),
        (lambda **k: 0, "parameters **"),
        (7, "index map 7, expected a function of indices or an affine map"),
        (AffineMap.from_callable(lambda i, s: (i + s,), dim_symbol_split=(1, 1)), "has symbols"),
        (AffineMap.from_callable(lambda i: (i // -2,)), "expected a division by a positive number"),
    ],
)
def test_what_is_no_index_map_is_refused(function: Any, message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        bound_index_map(function, 1)
    assert message in str(error.value)


def test_padding_is_a_number_or_a_function_that_gives_one() -> None:
    assert padding_value(None, 2) is None
    assert padding_value(1, 2) == 1
    assert padding_value(eval("lambda i, j: (T.float32(1.5),)"), 2) == 1.5
    assert padding_value(lambda *indices: 2, 2) == 2
    padding = padding_value(lambda i, j: i + j * 2, 2)
    assert isinstance(padding, BoundMap)
    assert str(padding.map) == "(d0, d1) -> ((d0 + (d1 * 2)))"


@pytest.mark.parametrize(
    ("value", "message"),
    [(lambda i, j: i, "a function of 2 indices, expected one of 1 index"), ("x", "expected a number")],
)
def test_padding_that_is_no_number_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        padding_value(value, 1)
    assert message in str(error.value)
