from tvm.script import tirx as T
@T.macro
def m(A, i, v=2.0, *rest, w=3, **kw):
    A[i] = T.float32(v)
    A[w] = T.float32(kw["z"])
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A, 1, z=5.0)
