"""Random tensors of programs, and arrays filled at random: `tvm.contrib.random`."""

from typing import Any

import numpy as np
import pytest

from stepwell import ArgumentError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.contrib import random


def call(name: str, argument: Any) -> None:
    function = tvm.get_global_func(f"tvm.contrib.random.{name}")
    assert function is not None
    function(argument)


def test_random_tensors() -> None:
    draws = (random.randint(3, 9, (50, 20)), random.uniform(-2, 5, (50, 20)), random.normal(4, 2, (50, 20)))
    for drawn, least, most, mean in zip(draws, (3, -2, -20), (8, 5, 30), (5.5, 1.5, 4), strict=True):
        out = tvm.nd.array(np.zeros((50, 20), drawn.dtype))
        main = tvm.build(te.create_schedule(drawn.op), [drawn])
        call("seed", 7)
        main(out)
        values = out.numpy()
        assert least <= values.min() < values.max() <= most
        assert abs(values.mean() - mean) < 0.5
        call("seed", 7)
        main(out)
        np.testing.assert_array_equal(out.numpy(), values)
    filled = tvm.nd.array(np.zeros((4, 4), "int8"))
    call("random_fill", filled)
    assert set(filled.numpy().reshape(-1)) <= set(range(10))
    with pytest.raises(ArgumentError, match="randint: data type float32, expected integers"):
        random.randint(0, 2, (3,), "float32")
