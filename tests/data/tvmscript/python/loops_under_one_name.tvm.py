# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    for ij_0, ij_1 in T.grid(4, 4):
        A[ij_0, ij_1] = T.float32(1.0)
