"""Random tensor expressions of any types and shapes, with inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, mul, sub
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...backends.build import build
from ...backends.interpreter import interpret
from ...core.dtypes import numpy_dtype
from ...frontends import te
from ...module import Module

Draw = Callable[[st.SearchStrategy[Any]], Any]

TARGETS = ("llvm", "python", "interpreter")
_INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_DTYPES = ("bool", *_INTEGERS, "float16", "float32", "float64")
_REDUCTIONS = ("sum", "prod", "max", "min")


def run_tensors(mod: Module, target: str, *arguments: Any) -> None:
    """Runs a module on tensors: built for a target, or interpreted without lowering."""
    if target == "interpreter":
        interpret(mod, "main", arguments)
    else:
        build(mod, target=target)["main"](*arguments)


@dataclass(frozen=True)
class RandomTensors:
    """A function of two tensors and an output. output: its shape and data type."""

    module: Module
    inputs: list[Any]
    shape: tuple[int, ...]
    dtype: Any

    def run(self, target: str) -> Any:
        """The output on a target of `TARGETS`."""
        output = np.zeros(self.shape, self.dtype)
        run_tensors(self.module, target, *self.inputs, output)
        return output


@dataclass(frozen=True)
class _Axis:
    """An axis of the result: its variable and its extent."""

    var: Any
    extent: int


class _Expressions:
    """Draws expressions of elements of two tensors, indexed by the axes of a third tensor."""

    def __init__(self, draw: Draw, tensors: list[Any], axes: list[_Axis]):
        self.draw = draw
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


def _values(tensor: Any, choose: np.random.Generator) -> Any:
    """Small numbers for a tensor."""
    drawn = choose.integers(0, 2 if tensor.dtype == "bool" else 9, [int(n) for n in tensor.shape])
    return drawn.astype(numpy_dtype(tensor.data_type))


@st.composite
def random_tensors(draw: Draw) -> RandomTensors:
    """A tensor of an expression or a reduction of elements of two tensors."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    sizes = st.lists(st.integers(3, 6), min_size=0, max_size=3)
    inputs = [te.placeholder(tuple(draw(sizes)), draw(st.sampled_from(_DTYPES)), name=name) for name in ("A", "B")]
    reduction = draw(st.sampled_from((None, *_REDUCTIONS)))
    steps = draw(st.integers(1, 4))
    k = te.reduce_axis((0, steps), "k")

    def fcompute(*axes: Any) -> Any:
        known = [_Axis(var, extent) for var, extent in zip(axes, shape, strict=True)]
        if reduction is None:
            return _Expressions(draw, inputs, known).value(2)
        value = _Expressions(draw, inputs, [*known, _Axis(k.var, steps)]).value(1)
        value = value.astype("int32") if value.dtype == "bool" else value
        return getattr(te, reduction)(value, axis=k)

    result = te.compute(shape, fcompute, name="C", varargs_names=[f"i{n}" for n in range(len(shape))])
    choose = np.random.default_rng(draw(st.integers(0, 2**16)))
    arrays = [_values(tensor, choose) for tensor in inputs]
    return RandomTensors(te.create_te_func([*inputs, result]), arrays, shape, numpy_dtype(result.data_type))
