"""Tensor expressions agree with numpy for random sizes and values: in native code, in the oracle, and as tensors before
any pass."""

from dataclasses import replace
from operator import add, mul, sub
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Module, build
from stepwell.backends.interpreter import interpret
from stepwell.core.dtypes import numpy_dtype
from stepwell.frontends import te
from stepwell.tools.testing.te import CASES, TensorCase

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


@st.composite
def sized_cases(draw: st.DrawFn) -> TensorCase:
    """A case of the corpus, with random sizes unless they are fixed."""
    case = draw(st.sampled_from(RUNNING))
    if case.fixed:
        return case
    sizes = {
        name: draw(st.integers(2, 9)) if isinstance(number, int) else number for name, number in case.sizes.items()
    }
    return replace(case, sizes=sizes)


TARGETS = ("llvm", "python", "interpreter")


def run(mod: Module, target: str, *arguments: Any) -> None:
    """Runs a module on tensors: built for a target, or interpreted without lowering."""
    if target == "interpreter":
        interpret(mod, "main", arguments)
    else:
        build(mod, target=target)["main"](*arguments)


@given(case=sized_cases(), seed=st.integers(0, 2**16), target=st.sampled_from(TARGETS))
@settings(max_examples=settings().max_examples * 5)
def test_expressions_compute_what_numpy_computes(case: TensorCase, seed: int, target: str) -> None:
    mod = te.create_te_func(case.build(te), case.index_dtype)
    inputs = case.inputs(te, seed)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    run(mod, target, *case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64")
REDUCTIONS = ("sum", "prod", "max", "min")


class Expressions:
    """Draws expressions of elements of two tensors, indexed by the axes of a third tensor."""

    def __init__(self, data: st.DataObject, tensors: list[Any], axes: list[Any]):
        self.draw = data.draw
        self.tensors = tensors
        self.axes = axes

    def element(self) -> Any:
        tensor = self.draw(st.sampled_from(self.tensors))
        fitting = [[axis.var for axis in self.axes if axis.extent <= int(size)] for size in tensor.shape]
        return tensor(*(self.draw(st.sampled_from(variables or [0])) for variables in fitting))

    def value(self, depth: int) -> Any:
        if depth == 0:
            return self.element()
        kind = self.draw(st.sampled_from(("element", "arithmetic", "arithmetic", "choice", "cast", "number", "index")))
        if kind == "element":
            return self.element()
        if kind == "number":
            return self.value(depth - 1) + self.draw(st.integers(-3, 3))
        if kind == "index":
            return te.const(1) * self.draw(st.sampled_from(self.axes)).var
        if kind == "cast":
            return self.value(depth - 1).astype(self.draw(st.sampled_from(("int32", "int64", "float32", "float64"))))
        a, b = self.value(depth - 1), self.value(depth - 1)
        if kind == "choice":
            condition = a < b if self.draw(st.booleans()) else te.all(a >= b, b.equal(b))
            choose = te.Select if self.draw(st.booleans()) else te.if_then_else
            return choose(condition, a, b)
        return self.draw(st.sampled_from((te.max, te.min, add, sub, mul)))(a, b)


def values(tensor: Any, choose: np.random.Generator) -> Any:
    """Small numbers for a tensor."""
    drawn = choose.integers(0, 2 if tensor.dtype == "bool" else 9, [int(n) for n in tensor.shape])
    return drawn.astype(numpy_dtype(tensor.data_type))


class Axis:
    """An axis of the result: its variable and its extent."""

    def __init__(self, var: Any, extent: int):
        self.var = var
        self.extent = extent


@given(data=st.data())
@settings(max_examples=settings().max_examples * 2)
def test_all_agree_on_expressions_of_any_types_and_shapes(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    sizes = st.lists(st.integers(3, 6), min_size=0, max_size=3)
    inputs = [
        te.placeholder(tuple(data.draw(sizes)), data.draw(st.sampled_from(DTYPES)), name=name) for name in ("A", "B")
    ]
    reduction = data.draw(st.sampled_from((None, *REDUCTIONS)))
    steps = data.draw(st.integers(1, 4))
    k = te.reduce_axis((0, steps), "k")

    def fcompute(*axes: Any) -> Any:
        known = [Axis(var, extent) for var, extent in zip(axes, shape, strict=True)]
        if reduction is None:
            return Expressions(data, inputs, known).value(2)
        value = Expressions(data, inputs, [*known, Axis(k.var, steps)]).value(1)
        value = value.astype("int32") if value.dtype == "bool" else value
        return getattr(te, reduction)(value, axis=k)

    result = te.compute(tuple(shape), fcompute, name="C", varargs_names=[f"i{n}" for n in range(len(shape))])
    mod = te.create_te_func([*inputs, result])
    choose = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    arrays = [values(tensor, choose) for tensor in inputs]
    outputs = [np.zeros(shape, numpy_dtype(result.data_type)) for _ in TARGETS]
    for target, output in zip(TARGETS, outputs, strict=True):
        run(mod, target, *arrays, output)
    for output in outputs[1:]:
        np.testing.assert_array_equal(outputs[0], output)
