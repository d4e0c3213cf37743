"""Random legacy schedules of stages, with the numpy reference of their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...backends.build import build
from ...expressions.tensor import PlaceholderOp
from ...frontends import te
from ...schedule import Schedule

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class StagedProgram:
    """Tensors for a schedule. arguments: two inputs and the output.  intermediates: the tensors between them, the last
    a reduction.  reference: the output as a function of the inputs."""

    arguments: list[Any]
    intermediates: list[Any]
    reference: Callable[[Array, Array], Array]


@dataclass(frozen=True)
class LegacySchedule:
    """A random schedule of a program."""

    schedule: Any
    program: StagedProgram

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the arguments."""
        return [tuple(extent.value for extent in argument.shape) for argument in self.program.arguments]


def numbers(*shape: int) -> Array:
    """Random numbers, the same for each array of a shape."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def run_schedule(sch: Schedule, *inputs: Array, shape: Sequence[int], target: str = "llvm") -> Array:
    """The output of a scheduled function of inputs and one output."""
    result = np.full(shape, np.nan, inputs[0].dtype)
    build(sch.mod, target=target)(*inputs, result)
    return result


def check_legacy_schedule(drawn: LegacySchedule, sch: Schedule) -> None:
    """Raises AssertionError unless a scheduled function computes the reference."""
    x, y, out = drawn.shapes
    inputs = numbers(*x), numbers(*y)
    got = run_schedule(sch, *inputs, shape=out)
    np.testing.assert_allclose(got, drawn.program.reference(*inputs), rtol=1e-3, atol=1e-3)


def _products() -> StagedProgram:
    """A matrix product of a scaled matrix, and the sums of neighbours."""
    a, b = te.placeholder((6, 10), name="A"), te.placeholder((10, 7), name="B")
    k = te.reduce_axis((0, 10), "k")
    scaled = te.compute((6, 10), lambda i, j: a[i, j] * 2.0, name="S")
    product = te.compute((6, 7), lambda i, j: te.sum(scaled[i, k] * b[k, j], axis=k), name="P")
    shifted = te.compute((6, 6), lambda i, j: product[i, j] + product[i, j + 1], name="R")
    return StagedProgram([a, b, shifted], [scaled, product], lambda x, y: (2 * x @ y)[:, :-1] + (2 * x @ y)[:, 1:])


def _windows() -> StagedProgram:
    """Maxima over windows of a padded matrix, transposed."""
    a, b = te.placeholder((5, 12), name="A"), te.placeholder((4,), name="B")
    k = te.reduce_axis((1, 5), "k")
    padded = te.compute((5, 14), lambda i, j: te.if_then_else(te.all(j > 0, j < 13), a[i, j - 1], 0.0), name="S")
    most = te.compute((5, 10), lambda i, j: te.max(padded[i, j + k - 1] + b[k - 1], axis=k, where=k.var != 3), name="P")
    doubled = te.compute((10, 5), lambda i, j: most[j, i] * 2.0, name="R")

    def reference(x: Array, y: Array) -> Array:
        found = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1))), 4, axis=1)[:, :10] + y
        return 2 * found[:, :, [0, 1, 3]].max(2).T

    return StagedProgram([a, b, doubled], [padded, most], reference)


def _change_loops(draw: st.DrawFn, stage: Any) -> None:
    """Applies a random primitive to the loops of a stage."""
    leaves = stage.leaf_iter_vars
    axis = draw(st.sampled_from(leaves))
    match draw(st.sampled_from(["split", "nparts", "fuse", "reorder", "unroll", "vectorize", "parallel"])):
        case "split":
            stage.split(axis, factor=draw(st.integers(1, 8)))
        case "nparts":
            stage.split(axis, nparts=draw(st.integers(1, 8)))
        case "fuse":
            n = leaves.index(axis)
            stage.fuse(*leaves[n : n + 2])
        case "reorder":
            stage.reorder(*draw(st.permutations(leaves)))
        case kind:
            getattr(stage, kind)(axis)


@st.composite
def legacy_schedules(draw: st.DrawFn) -> LegacySchedule:
    """Schedules with caches, partial sums, random changes of loops, and stages at loops of their readers."""
    program = draw(st.sampled_from([_products, _windows]))()
    args, between = program.arguments, list(program.intermediates)
    scaled, product = between
    s = te.create_schedule(args[-1].op)
    if draw(st.booleans()):
        _, inner = s[product].split(product.op.reduce_axis[0], factor=draw(st.integers(1, 5)))
        between.append(s.rfactor(product, inner, draw(st.integers(-1, 2))))
    if draw(st.booleans()):
        between.append(s.cache_write(draw(st.sampled_from([args[-1], product])), "local"))
    if draw(st.booleans()):
        readers = [stage.op for stage in s.stages if args[1] in stage.op.input_tensors]
        between.append(s.cache_read(args[1], "shared", readers))
    computed = [*between, args[-1]]
    for _ in range(draw(st.integers(2, 8))):
        _change_loops(draw, s[draw(st.sampled_from(computed))])
    if draw(st.booleans()):
        _compute_group(draw, s, args[-1])
    for tensor in between:
        where = draw(st.sampled_from(["root", "inline", "at"]))
        if where == "inline" and tensor is scaled:
            s[tensor].compute_inline()
        elif where == "at":
            members = getattr(s[tensor].group, "stages", s.stages)  # a stage is computed in loops of its group
            readers = [x for x in members if tensor in map(s.current, getattr(x.op, "input_tensors", []))]
            for reader in readers[:1]:
                if reader.leaf_iter_vars:
                    s[tensor].compute_at(reader, draw(st.sampled_from(reader.leaf_iter_vars)))
    return LegacySchedule(s, program)


def _compute_group(draw: st.DrawFn, s: te.Schedule, output: te.Tensor) -> None:
    """Computes the stages between the placeholders and the output at a loop of the output, or at the top level."""
    given = [stage.op.output(0) for stage in s.stages if isinstance(stage.op, PlaceholderOp)]
    group = s.create_group(list(s[output].op.input_tensors), given)
    if draw(st.booleans()):
        group.compute_at(s[output], draw(st.sampled_from(s[output].leaf_iter_vars)))
    else:
        group.compute_root()
