from tvm.script import tirx as T
@T.macro(hygienic=False)
def inner():
    X[0] = T.float32(1)
@T.macro
def outer(X):
    inner()
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    outer(A)
