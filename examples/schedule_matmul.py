"""A matrix product and a schedule for it; docs/schedules.md explains each step.

As a Python script, it prints the program before and after, and the trace, and compares the results with numpy.
`stepwell run examples/schedule_matmul.py --check` runs the unscheduled program.
"""

import numpy as np

import stepwell
from stepwell.script import ir as I
from stepwell.script import tir as T


@I.ir_module
class Matmul:
    @T.prim_func
    def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 32), "float32")):
        T.func_attr({"tir.noalias": True})
        for i, j, k in T.grid(64, 32, 48):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def tile(sch: stepwell.Schedule, rows: int = 4, columns: int = 16) -> None:
    """Schedule a matrix product in tiles of `rows` x `columns`."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, rows])
    j_0, j_1 = sch.split(j, factors=[None, columns])
    sch.reorder(j_0, i_0, k, i_1, j_1)
    sch.vectorize(j_1)
    sch.unroll(i_1)
    write = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(write, i_0)
    panel = sch.cache_read(block, 1, "global")
    sch.compute_at(panel, j_0)
    for copy in (write, panel):
        sch.vectorize(sch.get_loops(copy)[-1])
    sch.decompose_reduction(block, k)
    sch.parallel(j_0)


if __name__ == "__main__":
    sch = stepwell.Schedule(Matmul)
    print(sch.mod.script())
    tile(sch)
    sch.show()
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 48), "float32"), rng.standard_normal((48, 32), "float32")
    c = np.empty((64, 32), "float32")
    stepwell.build(sch.mod)(a, b, c)
    print("the same as numpy:", np.allclose(c, a @ b, rtol=1e-4, atol=1e-4))
