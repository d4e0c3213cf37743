"""Adds one to a vector: the smallest program with a block.

`stepwell run examples/vector_add.py --print-landings --check`
"""

from stepwell.script import ir as I
from stepwell.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0
