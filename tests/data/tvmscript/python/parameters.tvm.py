# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    A[1] = T.float32(2.0)
    A[3] = T.float32(5.0)
