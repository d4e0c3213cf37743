"""A matrix product and a ReLU with an intermediate buffer: `stepwell run examples/matmul_relu.py --check`"""

from stepwell.script import ir as I
from stepwell.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((64, 48), "float32"),
        B: T.Buffer((48, 32), "float32"),
        D: T.Buffer((64, 32), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        C = T.alloc_buffer((64, 32), "float32")
        for i, j, k in T.grid(64, 32, 48):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(64, 32):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))
