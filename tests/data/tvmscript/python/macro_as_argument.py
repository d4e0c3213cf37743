from tvm.script import tirx as T
@T.macro
def inner(A, i):
    A[i] = T.float32(1)
@T.macro
def outer(A, g):
    for i in range(4):
        g(A, i)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    outer(A, inner)
