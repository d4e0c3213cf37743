from tvm.script import tirx as T
@T.macro
def inner(A):
    with T.sblock("in"):
        A[0] = T.float32(1)
@T.macro
def outer(A):
    inner(A)
    inner(A)
    with T.sblock("out"):
        A[0] = T.float32(1)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    outer(A)
    with T.sblock("last"):
        A[0] = T.float32(1)
    outer(A)
