from tvm.script import tirx as T
N = 3
@T.macro
def m(X):
    X[N] = T.float32(1)
N = 5
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A)
    A[N] = T.float32(2)
