"""Checks of derivatives and of expressions: `tvm.testing.check_numerical_grads`, `assert_prim_expr_equal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....expressions.axes import Range
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, Not, Or, Var, as_condition
from ....expressions.functions import if_then_else
from ....expressions.tensor import compute
from ... import te
from ..arith import Analyzer
from ..driver.build_module import build
from ..nodes.functor import substitute

_STEPS = (1.0, 0.5, 0.25)
"""The steps of differences, relative to the given one: a smaller step follows where derivatives differ."""


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Mapping[str, Any] | Sequence[Any],
    grad_values: Mapping[str, Any] | Sequence[Any],
    function_value: float | None = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Raises AssertionError unless derivatives are those that differences of a function approximate.

    function: returns a number, for arrays by position or name.  input_values: the arrays.  grad_values: the derivatives
    by them.  function_value: ignored, differences are central.  delta: the step of a difference.  atol: the greatest
    distance, for each element.  rtol: the greatest distance relative to the norm of the approximation.
    """
    named = isinstance(input_values, Mapping)
    keys = list(input_values) if isinstance(input_values, Mapping) else list(range(len(input_values)))
    inputs: dict[Any, Any] = {key: np.asarray(input_values[key]) for key in keys}  # pyright: ignore[reportCallIssue, reportArgumentType]
    grad_keys = list(grad_values) if isinstance(grad_values, Mapping) else keys
    for key in grad_keys:
        grad = np.asarray(grad_values[key])  # pyright: ignore[reportCallIssue, reportArgumentType]
        if grad.shape != inputs[key].shape:
            raise AssertionError(f"derivative by {key} of shape {grad.shape}, expected {inputs[key].shape}")

        def value(change: Any, key: Any = key) -> float:
            changed = {**inputs, key: change}
            return float(np.asarray(function(**changed) if named else function(*changed.values())))

        found = np.zeros(grad.shape, "float64")
        for place in np.ndindex(grad.shape):
            for step in _STEPS:
                found[place] = _difference(value, inputs[key], place, delta * step)
                if abs(found[place] - grad[place]) < atol + rtol * abs(found[place]):
                    break
        distance, norm = np.linalg.norm(found - grad), np.linalg.norm(found)
        if not np.isfinite(distance):
            raise ValueError(f"derivative by {key}: not a number, got {grad}, differences {found}")
        if distance > atol * np.sqrt(grad.size) + rtol * norm:
            raise AssertionError(f"derivative by {key}: {grad}, expected {found}")


def _difference(value: Callable[[Any], float], array: Any, place: tuple[int, ...], step: float) -> float:
    """The central difference of a function by an element, divided by the distance of the two elements."""
    above, below = array.copy(), array.copy()
    above[place] += step
    below[place] -= step
    return (value(above) - value(below)) / float(above[place] - below[place])


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raises ValueError unless two integer expressions are provably equal."""
    if not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not provably equal")


def check_bool_expr_is_true(bool_expr: Any, vranges: Mapping[Var, Range], cond: Any = None) -> None:
    """Raises AssertionError unless a condition holds for all values of its variables for which `cond` holds.

    vranges: the values of each variable. TeError for a range whose size is no number.
    """
    holds = as_condition(bool_expr) if cond is None else Or(Not(cond), bool_expr)
    sizes = [interval.extent for interval in vranges.values()]
    if not all(isinstance(size, IntImm) for size in sizes):
        raise TeError(f"check_bool_expr_is_true: sizes {sizes}, expected numbers")

    def element(*indices: Any) -> Any:
        values = {var: interval.min + index for (var, interval), index in zip(vranges.items(), indices, strict=True)}
        return if_then_else(substitute(holds, values), 1, 0)

    result = compute(tuple(sizes), element, "result")
    numbers = np.zeros([int(size) for size in sizes], "int32")  # pyright: ignore[reportArgumentType]
    build(te.create_prim_func([result]), target="llvm")(numbers)
    if not numbers.all():
        places = np.argwhere(numbers == 0)[0]
        point = ", ".join(f"{var.name} - {r.min} = {n}" for (var, r), n in zip(vranges.items(), places, strict=True))
        raise AssertionError(f"{bool_expr} does not hold for {point}")


__all__ = ["assert_prim_expr_equal", "check_bool_expr_is_true", "check_numerical_grads"]
