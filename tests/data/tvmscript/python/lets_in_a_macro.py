from tvm.script import tirx as T
@T.macro
def m(A, i):
    x: T.let[T.float32] = A[i]
    A[i] = x * x
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A, 0)
    m(B, 1)
