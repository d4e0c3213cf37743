from tvm.script import tirx as T
S = [4, 4]
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    for ij in T.grid(*S):
        A[ij[0], ij[1]] = T.float32(1)
