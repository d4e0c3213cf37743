# from tvm.script import tirx as T
from __future__ import annotations
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def mm[n](A: T.Buffer((n, 16), "float32", strides=(20, 1)), B: T.Buffer((n, "m*2"), "float32"), C: T.Buffer(("m",), "int8")):
        T.func_attr({"tirx.noalias": True})
        m = T.int32()
        # with T.sblock("root"):
        D = T.sblock_alloc_buffer((16,))
        E = T.alloc_buffer((16,), "float32")
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                x: T.let[T.int32] = vi * 2
                y = T.bind(vi * 3)
                B[vi, 0] = A[vi, x % 16] + D[y % 16] + E[3]
        assert n == 3, ("RuntimeError", ["msg", "two"])
        assert n == 3, ("ValueError", ["msg"])
        E2 = T.decl_buffer((4, 4), data=E.data)
        E2[0, 0] = 1.0
