# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float16")):
    A[0] = T.Cast("float16", T.float32(1.0))
