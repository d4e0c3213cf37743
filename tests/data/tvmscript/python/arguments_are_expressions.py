from tvm.script import tirx as T
@T.macro
def m(A, x):
    A[0] = x
    A[1] = x
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A, A[0] + A[1])
