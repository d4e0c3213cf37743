from tvm.script import tirx as T
@T.macro
def reduce_sum(out, value, i, k, n, m, name):
    with T.sblock(f"{name}_sum"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            out[vi] = T.float32(0)
        out[vi] = out[vi] + value(vi, vk)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        reduce_sum(B, lambda x, y: A[x, y], i, k, 8, 8, "row")
    for i, k in T.grid(8, 8):
        reduce_sum(C, lambda x, y: A[y, x] * A[y, x], i, k, 8, 8, "column")
