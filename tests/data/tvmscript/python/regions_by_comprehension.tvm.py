# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    with T.sblock("b"):
        T.reads(A[0, 0:2], A[1, 0:2])
        T.writes(A[0, 0:2], A[1, 0:2])
        A[0, 0] = T.float32(0.0)
