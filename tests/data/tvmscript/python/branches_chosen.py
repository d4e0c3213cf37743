from tvm.script import tirx as T
@T.macro
def m(A, n):
    if n == 0:
        A[0] = T.float32(0)
    elif n == 1:
        A[1] = T.float32(1)
    else:
        A[2] = T.float32(2)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A, 0)
    m(A, 1)
    m(A, 7)
