from tvm.script import tirx as T
@T.macro
def m(A, bias=None):
    if bias is not None:
        A[0] = bias[0]
    else:
        A[0] = T.float32(0)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A)
    m(A, B)
