"""Arrays of users as arrays of numpy."""

import numpy as np
import pytest

import stepwell
from stepwell import ArgumentError
from stepwell.core.arrays import plain_array
from stepwell.frontends import relay


class Broken:
    def __array__(self, *_: object, **__: object) -> object:
        raise KeyError("x")


def test_arrays_are_not_copied() -> None:
    array = np.zeros(3)
    assert plain_array(array) is array
    assert plain_array([1, 2]).tolist() == [1, 2]


def test_values_that_are_no_arrays_are_refused() -> None:
    with pytest.raises(ArgumentError, match="expected an array, got Broken: KeyError: 'x'"):
        plain_array(Broken())
    with pytest.raises(ArgumentError, match="expected an array, got list: ValueError: "):
        plain_array([[1], [1, 2]])


def test_masks_are_refused_wherever_arrays_are_taken() -> None:
    masked = np.ma.masked_array(np.zeros(3, np.float32), [False, True, False])
    message = "expected an array without a mask, got a masked array"
    with pytest.raises(ArgumentError, match=message):
        stepwell.nd.array(masked)
    with pytest.raises(ArgumentError, match=message):
        relay.const(masked)
    mod = stepwell.parse_mlir(
        'relay.func @main("x" %x: tensor<3xf32>) {\n  %w = relay.constant "w" : tensor<3xf32>\n'
        "  %y = relay.add(%x, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
        "  relay.return %y : tensor<3xf32>\n}"
    )
    mod.constants["w"] = masked
    with pytest.raises(ArgumentError, match=message):
        stepwell.build_graph(mod)
    mod.constants["w"] = masked.filled(0)
    with pytest.raises(ArgumentError, match=message):
        stepwell.GraphExecutor(stepwell.build_graph(mod)).run(x=masked)
