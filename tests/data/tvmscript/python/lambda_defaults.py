from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    fs = T.meta_var([lambda x: x + k for k in range(3)])
    gs = T.meta_var([lambda x, k=k: x + k for k in range(3)])
    A[fs[0](1)] = T.float32(gs[0](1))
