"""Shapes of tensors, which lists extend."""

from operator import add
from typing import Any

import pytest

from stepwell.core.sizes import Extents
from stepwell.frontends.tvm import relax, relay, te, tir


def test_lists_and_tuples_extend_shapes() -> None:
    shape: Any = Extents([2, 3])
    assert shape == (2, 3)
    assert add(shape[:-1], [4]) == (2, 4)
    assert add([4], shape[1:]) == (4, 3)
    assert add(add((4,), shape), (5,)) == (4, 2, 3, 5)
    assert isinstance(add(shape, [4])[1:], Extents)
    assert isinstance(shape[0], int)
    with pytest.raises(TypeError):
        add(shape, 4)


def test_the_shapes_of_tensors_are_extended() -> None:
    x: Any = relay.var("x", shape=(2, 3))
    value = relax.Var("v", relax.TensorStructInfo((2, 3), "float32"))
    tensor = te.placeholder((2, 3))
    shapes: list[Any] = [tensor.shape, tir.decl_buffer((2, 3)).shape, x.type_annotation.shape, value.struct_info.shape]
    for shape in shapes:
        assert add(shape[:1], [4]) == (2, 4)
    assert te.compute(add(tensor.shape[:1], [2]), lambda i, j: tensor[i, j]).shape == (2, 2)
