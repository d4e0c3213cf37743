from tvm.script import tirx as T
k = 7
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    xs = T.meta_var([k for k in range(3)])
    A[k] = T.float32(xs[2])
