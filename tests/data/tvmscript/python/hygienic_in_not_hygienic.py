from tvm.script import tirx as T
N = 3
@T.macro
def inner(X):
    X[N] = T.float32(1)
@T.macro(hygienic=False)
def outer(X):
    inner(X)
    X[N] = T.float32(2)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for N in range(4):
        outer(A)
