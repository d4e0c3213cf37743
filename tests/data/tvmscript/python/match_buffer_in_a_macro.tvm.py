# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(C: T.Buffer((16,), "float32")):
    C[0] = T.float32(1.0)
