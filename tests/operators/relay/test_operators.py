"""Every operator is an operation: it round-trips through text, and its results have the types of numpy's results."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from stepwell import Module
from stepwell.backends.interpreter import interpret
from stepwell.core.dtypes import dtype_of_numpy
from stepwell.expressions.errors import TeError
from stepwell.frontends.mlir import parse_mlir
from stepwell.operators import OPERATORS
from stepwell.operators.attributes import _ALIASES, _CONVERSIONS  # pyright: ignore[reportPrivateUsage]
from stepwell.operators.relay import (
    OPERATIONS,
    ConstantOp,
    FuncOp,
    RelayBuilder,
    ReturnOp,
    dtype_of_tensor,
    shape_of,
    tensor_type,
)
from stepwell.tools.testing.operators import SAMPLES, Sample


def function_of(name: str, sample: Sample) -> Module:
    """A function that applies an operator to its parameters."""
    types = [tensor_type(array.shape, dtype_of_numpy(array.dtype)) for array in sample.operands]
    func = FuncOp("main", [(f"x{n}", type) for n, type in enumerate(types)])
    builder = RelayBuilder(func.body.block)
    builder.insert(ReturnOp(builder.operators(name, *(value for _, value in func.params), **sample.attributes)))
    return Module(ModuleOp([func]))


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
@settings(max_examples=max(1, settings().max_examples // 10))
def test_an_operation_is_read_as_it_is_printed(name: str, data: st.DataObject) -> None:
    sample = data.draw(SAMPLES[name])
    module = function_of(name, sample)
    module.verify()
    text = str(module)
    read = parse_mlir(text)
    read.verify()
    assert str(read) == text
    assert read.op.is_structurally_equivalent(module.op)


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
@settings(max_examples=max(1, settings().max_examples // 10))
def test_results_have_the_types_that_the_interpreter_gives(name: str, data: st.DataObject) -> None:
    sample = data.draw(SAMPLES[name])
    module = function_of(name, sample)
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    got: Any = interpret(module, "main", sample.operands)
    arrays = got if isinstance(got, tuple) else (got,)
    for value, array in zip(func.return_values, arrays, strict=True):
        assert (shape_of(value), dtype_of_tensor(value)) == (array.shape, dtype_of_numpy(array.dtype).name)


def test_every_type_of_an_attribute_is_known() -> None:
    types = {attribute.type for operator in OPERATORS.values() for attribute in operator.attributes}
    assert {each for type in types for each in _ALIASES.get(type, type).split(" | ")} <= set(_CONVERSIONS)


def test_attributes_that_are_as_by_default_are_not_there() -> None:
    func = FuncOp("main", [("x", tensor_type((2, 3), "float32"))])
    builder = RelayBuilder(func.body.block)
    builder.operator("sum", func.params[0][1], keepdims=False, axis=[1])
    (op,) = func.body.block.ops
    assert list(op.properties) == ["axis"]
    assert isinstance(op, OPERATIONS["sum"])
    assert (op.attribute_value("keepdims"), op.attribute_value("axis"), op.explicit_attributes) == (
        False,
        (1,),
        {"axis": (1,)},
    )


def test_operands_that_do_not_go_together_are_refused() -> None:
    func = FuncOp("main", [("x", tensor_type((2, 3), "float32")), ("y", tensor_type(("n",), "float32"))])
    builder = RelayBuilder(func.body.block)
    (_, x), (_, y) = func.params
    with pytest.raises(TeError, match=r"add: 1 operands, expected 2"):
        builder.operator("add", x)
    with pytest.raises(TeError, match=r"concatenate: 0 operands, expected at least 1"):
        builder.operator("concatenate")
    with pytest.raises(TeError, match="do not go together"):
        builder.operator("concatenate", x, y)


@pytest.mark.parametrize(
    ("value", "dtype", "number"),
    [(2**64 - 1, "uint64", 2**64 - 1), (-1, "int8", -1), (True, "bool", True), (1, "float16", 1.0)],
)
def test_a_number_is_an_element_of_its_type(value: float, dtype: str, number: float) -> None:
    op = ConstantOp(value, tensor_type((2,), dtype))
    assert op.number == number
    assert type(op.number) is type(number)


def test_an_array_has_a_name_of_its_own() -> None:
    func, kept = FuncOp("main", []), dict[str, Any]()
    builder = RelayBuilder(func.body.block, kept)
    first, second = np.zeros(3), np.ones(3)
    for array in (first, second, first):
        builder.constant(array, "w")
    assert {name: array is first for name, array in kept.items()} == {"w": True, "w_1": False}
