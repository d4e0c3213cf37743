"""Default schedules of dynamic sizes: no index of a temporary is divided by one of them."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell import build, cuda_emulated, nd, parse_tvmscript, schedule_gpu
from stepwell.backends.cuda.emulation import compiler
from stepwell.module import Module

SUM = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    T.func_attr({{"tir.noalias": True}})
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, {shape})
    C = T.match_buffer(c, {rest})
    for {names}, k in T.grid({rest_text}, {steps}):
        with T.block("C"):
            {values} = T.axis.remap("{kinds}", [{names}, k])
            with T.init():
                C[{axes}] = T.float32(0)
            C[{axes}] = C[{axes}] + A[{axes}, v_k]
"""


def sums(sizes: tuple[str, ...], steps: int) -> Module:
    """The sums along the last axis of a tensor. sizes: of the other axes; m and n are dynamic."""
    names, axes = [f"i{n}" for n in range(len(sizes))], [f"v_i{n}" for n in range(len(sizes))]
    text = ", ".join(sizes)
    return parse_tvmscript(
        SUM.format(
            shape=f"({text}, {steps})",
            rest=f"({text},)",
            rest_text=text,
            steps=steps,
            names=", ".join(names),
            values=", ".join([*axes, "v_k"]),
            kinds="S" * len(sizes) + "R",
            axes=", ".join(axes),
        )
    )


@pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")
@pytest.mark.parametrize("steps", [8, 64])
@pytest.mark.parametrize("sizes", ["2 n", "m n 3", "m 2 n", "n", "2 m n", "2 m n m 3 n"])
def test_sums_of_any_dynamic_axes(sizes: str, steps: int) -> None:
    shape = [{"m": 3, "n": 5}.get(size) or int(size) for size in sizes.split()]
    a = np.arange(np.prod([*shape, steps]), dtype="float32").reshape(*shape, steps)
    result = nd.empty(tuple(shape), "float32", cuda_emulated())
    build(sums(tuple(sizes.split()), steps), target="cuda-emulated")(nd.array(a, cuda_emulated()), result)
    np.testing.assert_array_equal(result.numpy(), a.sum(-1))


def test_dynamic_axes_after_the_first_are_axes_of_the_grid() -> None:
    script = schedule_gpu(sums(("m", "2", "n", "3"), 8)).mod.script()
    assert 'T.thread_binding(m * 2, thread="blockIdx.y")' in script
    assert 'T.thread_binding((n * 3 + 255) // 256, thread="blockIdx.x")' in script
    assert "// n" not in script
    assert "blockIdx.y" not in schedule_gpu(sums(("m", "2", "3"), 8)).mod.script()
