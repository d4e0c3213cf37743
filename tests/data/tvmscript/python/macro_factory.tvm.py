# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def g(A: T.Buffer((7,), "float32")):
    for i in range(7):
        A[i] = T.float32(7.0)
