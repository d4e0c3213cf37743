from tvm.script import tirx as T
@T.macro
def m(A, i, fn):
    A[i] = fn(A[i])
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        m(A, i, lambda x: x * T.float32(2))
