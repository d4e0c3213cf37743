"""Tasks and records to test tuners with: `tvm.testing.autotvm`."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from .. import autotvm, te
from ..absent import report_absent
from ..autotvm.measure import MeasureInput, MeasureResult, Runner
from ..autotvm.task.task import Task
from ..target.target import Target

__getattr__ = report_absent("tvm.testing.autotvm")


class DummyRunner(Runner):
    """A runner that measures nothing: random times of less than a second."""

    def __init__(self) -> None:
        super().__init__(timeout=1, n_parallel=1)

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> list[MeasureResult]:
        """A random time for each configuration."""
        return [MeasureResult((random.random(),), 0, 0.2, time.time()) for _ in measure_inputs]


def _product(rows: int, inner: int, columns: int, dtype: str, terms: int) -> tuple[Any, list[Any]]:
    """A schedule of a product of matrices without transformations, and its tensors. terms: the length of the sums, at
    most `inner`."""
    a, b = te.placeholder((rows, inner), dtype, name="A"), te.placeholder((inner, columns), dtype, name="B")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c]


def _define_tiles(schedule: Any, product: Any) -> Any:
    """Defines the sizes of the tiles of a product of matrices. Returns the configuration."""
    config = autotvm.get_config()
    for name, axis in zip(("tile_y", "tile_x"), schedule[product].op.axis, strict=True):
        config.define_split(name, axis, num_outputs=2)
    return config


@autotvm.template("testing/matmul")
def matmul(N: int, L: int, M: int, dtype: str) -> tuple[Any, list[Any]]:
    """A product of matrices, N by L and L by M, in tiles; a tile of one column has no loop."""
    schedule, tensors = _product(N, L, M, dtype, L)
    c = tensors[-1]
    config = _define_tiles(schedule, c)
    (y, x), (k,) = schedule[c].op.axis, schedule[c].op.reduce_axis
    y_outer, y_inner = config["tile_y"].apply(schedule, c, y)
    if config["tile_x"].size[-1] == 1:
        schedule[c].reorder(y_outer, k, y_inner, x)
    else:
        x_outer, x_inner = config["tile_x"].apply(schedule, c, x)
        schedule[c].reorder(y_outer, x_outer, k, y_inner, x_inner)
    return schedule, tensors


@autotvm.template("testing/bad_matmul")
def bad_matmul(N: int, L: int, M: int, dtype: str) -> tuple[Any, list[Any]]:
    """The template `testing/matmul`; for targets with the key `bad_device` its sums lack the last term, and the sizes
    of tiles have no effect."""
    target = Target.current()
    if target is None or "bad_device" not in target.keys:
        return matmul(N, L, M, dtype)
    schedule, tensors = _product(N, L, M, dtype, L - 1)
    _define_tiles(schedule, tensors[-1])
    return schedule, tensors


def get_sample_task(n: int = 128) -> tuple[Task, Target]:
    """A task of `testing/matmul` of square matrices for `llvm`, and the target."""
    target = Target("llvm")
    return autotvm.task.create("testing/matmul", args=(n, n, n, "float32"), target=target), target


def get_sample_records(n: int) -> list[tuple[MeasureInput, MeasureResult]]:
    """Records of the first configurations of the task of `get_sample_task`, with the times 1 s, 2 s and so on; after
    the last configuration the first comes again."""
    task, target = get_sample_task()
    space = task.config_space
    return [
        (
            MeasureInput(target, task, space.get(number % len(space))),
            MeasureResult((number + 1,), 0, number, time.time()),
        )
        for number in range(n)
    ]


__all__ = ["DummyRunner", "bad_matmul", "get_sample_records", "get_sample_task", "matmul"]
