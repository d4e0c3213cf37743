from tvm.script import tirx as T
@T.macro
def m(A, B):
    with T.sblock("x"):
        T.reads(B)
        T.writes(A)
        T.evaluate(0)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A[0:4], B[1:3])
