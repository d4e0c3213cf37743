# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.sblock("x"):
        T.reads(B[1:3])
        T.writes(A[0:4])
        T.evaluate(0)
