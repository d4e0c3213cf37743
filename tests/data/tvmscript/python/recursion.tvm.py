# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    A[3] = T.float32(1.0)
    A[2] = T.float32(1.0)
    A[1] = T.float32(1.0)
    A[0] = T.float32(1.0)
