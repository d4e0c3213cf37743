"""Checks for tests of primitives: a scheduled program is well formed and computes the same results."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np

from ...backends.build import build
from ...backends.validation.inputs import InputGenerator
from ...core.dtypes import dtype_of_numpy
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.tir import FuncOp, SymbolOp
from ...dialects.tir.tree import is_tree_form
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...schedule import Schedule, Trace
from .layouts import Array, apply_layouts, parameter_layouts
from .texts import check_texts

VECTORS = 'A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")'
"""The parameters of a program on vectors of 16 elements."""


def program(body: str, params: str = VECTORS) -> str:
    """The text of a function with a body and parameters."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef main({params}):\n{lines}\n"


NEST = program(
    """
B = T.alloc_buffer((16,))
for i in range(4):
    for j in range(4):
        with T.block("B"):
            v = T.axis.spatial(16, i * 4 + j)
            B[v] = A[v] * T.float32(2)
    for j in range(4):
        with T.block("D"):
            v = T.axis.spatial(16, i * 4 + j)
            D[v] = B[v]
"""
)
"""Producer B and consumer D in the same outer loop."""

TRANSPOSE = """
@T.prim_func
def main(a: T.handle, d: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4))
    D = T.match_buffer(d, (4, n))
    B = T.alloc_buffer((n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] * T.float32(2)
    for i, j in T.grid(4, n):
        with T.block("D"):
            v, w = T.axis.remap("SS", [i, j])
            D[v, w] = B[w, v]
"""
"""Producer B and its transposition D, with a symbolic extent."""


def check_well_formed(mod: Module) -> None:
    """Raises AssertionError unless a module verifies, is in statement-tree form, and is read back from its texts."""
    mod.verify()
    assert is_tree_form(mod.op), "not in statement-tree form"
    check_texts(mod)


def check_computes_the_same(
    before: Module,
    after: Module,
    *,
    seed: int = 0,
    target: str = "python",
    trace: Trace | None = None,
    size: int | None = None,
) -> None:
    """Raises AssertionError unless `after` is well formed and each function returns the same outputs for the same
    random inputs as in `before`. Floats are small integers; results may differ by a rounding, because the contributions
    to a sum may be reordered.

    target: the target of `after`; the oracle, which also detects undefined behaviour, runs `before`.  trace: the
    schedule that transforms `before` into `after`, if it may change the layouts of parameters.  size: the value of
    symbolic sizes.
    """
    check_well_formed(after)
    check_same_outputs(before, after, seed=seed, target=target, trace=trace, size=size)


def check_same_outputs(
    before: Module,
    after: Module,
    *,
    seed: int = 0,
    target: str = "python",
    trace: Trace | None = None,
    size: int | None = None,
) -> None:
    """Raises AssertionError unless each function returns the same outputs, as `check_computes_the_same` does."""
    expected, got = build(before, "python"), build(after, target)
    layouts = [] if trace is None else parameter_layouts(before, trace)
    for name, func in before.function_ops.items():
        other = after.function_ops[name]
        assert isinstance(func, FuncOp)
        assert isinstance(other, FuncOp)
        moved = [layout for layout in layouts if layout.function == name]
        theirs = random_arguments(func, seed, size)
        mine = {
            n: _fill(a, b)
            for (n, a), (b, _) in zip(
                random_arguments(other, seed, size).items(),
                apply_layouts(theirs, moved, is_input=True).values(),
                strict=True,
            )
        }
        expected[name](*theirs.values())
        got[name](*mine.values())
        for parameter, (wanted, is_known) in apply_layouts(theirs, moved, is_input=False).items():
            if isinstance(wanted, np.ndarray):
                check_near(mine[parameter][is_known], wanted[is_known], f"{name}: {parameter}")


_RTOL = {"float16": 2e-2, "bfloat16": 5e-2, "float32": 1e-4, "float64": 1e-6}


def check_near(got: Array, expected: Array, name: str) -> None:
    """Raises AssertionError unless two arrays are equal, floats up to the rounding of a sum in another order."""
    tolerance = _RTOL.get(got.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(got, expected, name)
    else:
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), tolerance, err_msg=name)


def random_arguments(func: FuncOp, seed: int, size: int | None) -> dict[str, Any]:
    """Random arguments with small integers as floats, whose sums of products are exact.

    size: the value of symbolic sizes, and of `n` if it is a scalar parameter; None for random ones.
    """
    symbols = ["n", *(op.var_name.data for op in find_ops(func, SymbolOp))]
    arguments = InputGenerator(func, seed, {} if size is None else dict.fromkeys(symbols, size)).arguments()
    for array in arguments.values():
        if isinstance(array, np.ndarray) and dtype_of_numpy(array.dtype).is_float:
            array[...] = (array.astype(np.float64) * 2).round().astype(array.dtype)
    return arguments


def _fill(template: Any, value: Any) -> Any:
    """Copies a value into `template`, which has the required strides."""
    if not isinstance(template, np.ndarray):
        return value
    assert template.shape == value.shape, f"a parameter of shape {value.shape} has become one of {template.shape}"
    template[...] = value
    return template


def apply_steps(text: str, steps: str, *, target: str = "python") -> Module:
    """The module of a TVMScript text after Python lines on a schedule `sch`. Raises AssertionError unless it computes
    the same results."""
    before = parse_tvmscript(text)
    schedule = Schedule(before)
    exec(steps, {"sch": schedule})
    check_computes_the_same(before, schedule.mod, target=target, trace=schedule.trace)
    return schedule.mod


def refusal_of(text: str, steps: str, attempt: str) -> ScheduleError:
    """The error of the Python line `attempt` after the lines `steps`. Raises AssertionError without an error, or if the
    program changed."""
    schedule = Schedule(parse_tvmscript(text))
    names: dict[str, Any] = {"sch": schedule}
    exec(steps, names)
    before = str(schedule.mod)
    try:
        exec(attempt, names)
    except ScheduleError as error:
        assert str(schedule.mod) == before, "refused, and changed the program"
        return error
    raise AssertionError(f"not refused:\n{schedule.mod.script()}")


def body_text(module: Module) -> str:
    """The text of the body of the single function of a module, in classic style."""
    lines = module.script().splitlines()
    header = next(n for n, line in enumerate(lines) if line.lstrip().startswith("def "))
    return dedent("\n".join(line for line in lines[header + 1 :] if line.strip() != '# with T.block("root"):')).strip()
