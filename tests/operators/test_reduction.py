"""Reductions of NaN, of which the index of the first counts in any order, and of bool."""

from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.frontends import te
from stepwell.operators import OPERATORS
from stepwell.schedule import Schedule

NAN, INF = np.nan, np.inf
ROWS = np.array(
    [
        [1, NAN, 3, 2, NAN, 0],
        [NAN, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, NAN],
        [NAN, INF, -INF, NAN, INF, NAN],
        [-INF, -INF, -INF, -INF, -INF, NAN],
        [NAN] * 6,
        [INF, -INF, 0, INF, -INF, 0],
    ]
)


def program_of(name: str, dtype: str, **attributes: Any) -> Any:
    a = te.placeholder(ROWS.shape, dtype, "A")
    return te.create_prim_func([a, OPERATORS[name].formula(a, axis=1, **attributes)])


def indices(module: Any, dtype: str) -> np.ndarray:
    got = np.zeros(len(ROWS), "int32")
    build(module)["main"](ROWS.astype(dtype), got)
    return got


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_index_of_nan_is_that_of_the_reference(name: str, last: bool, dtype: str) -> None:
    expected = OPERATORS[name].reference(ROWS.astype(dtype), axis=1, select_last_index=last)
    np.testing.assert_array_equal(indices(program_of(name, dtype, select_last_index=last), dtype), expected)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_index_of_nan_is_the_same_for_a_factored_reduction(name: str, which: int) -> None:
    schedule = Schedule(program_of(name, "float32"))
    loops = schedule.get_loops(schedule.get_block(f"{name}_red_temp"))
    schedule.rfactor(schedule.split(loops[1], [2, 3])[which], 0)
    expected = OPERATORS[name].reference(ROWS.astype("float32"), axis=1)
    np.testing.assert_array_equal(indices(schedule.mod, "float32"), expected)


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_greatest_and_the_least_of_bool_are_those_of_the_reference(name: str) -> None:
    data = np.array(list(np.ndindex(2, 2, 2)), bool)
    a = te.placeholder(data.shape, "bool", "A")
    got = np.zeros(len(data), bool)
    build(te.create_prim_func([a, OPERATORS[name].formula(a, axis=1)]))["main"](data, got)
    np.testing.assert_array_equal(got, OPERATORS[name].reference(data, axis=1))
