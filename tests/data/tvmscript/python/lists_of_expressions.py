from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    xs = T.meta_var([B[k] + T.float32(1) for k in range(2)])
    B[0] = T.float32(5)
    A[0] = xs[0]
    B[0] = T.float32(6)
    A[1] = xs[0] + xs[1]
