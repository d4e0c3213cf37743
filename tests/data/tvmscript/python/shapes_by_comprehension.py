from tvm.script import tirx as T
S = [4, 4]
@T.prim_func(s_tir=True)
def f(A: T.Buffer(tuple(s * 2 for s in S), "float32"), B: T.Buffer([s for s in S], "float32")):
    A[0, 0] = B[1, 1]
