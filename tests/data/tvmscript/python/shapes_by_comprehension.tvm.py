# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((4, 4), "float32")):
    A[0, 0] = B[1, 1]
