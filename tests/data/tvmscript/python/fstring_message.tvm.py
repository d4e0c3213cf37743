# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    assert n == 3, ("RuntimeError", ["n is not 3"])
    A[0] = T.float32(1.0)
