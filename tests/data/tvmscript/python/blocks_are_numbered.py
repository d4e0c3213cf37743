from tvm.script import tirx as T
@T.macro
def m(A):
    for i in range(16):
        with T.sblock("up"):
            vi = T.axis.spatial(16, i)
            A[vi] = T.float32(1)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m(A)
    m(B)
    m(A)
