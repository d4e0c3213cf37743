from tvm.script import tirx as T
@T.macro
def m(A, i):
    with T.sblock("x"):
        vi = T.axis.spatial(16, i)
        A[vi] = T.float32(0)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        m(A, i)
