from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    x = T.meta_var(B[0])
    B[0] = T.float32(1)
    A[0] = x
    A[1] = x
