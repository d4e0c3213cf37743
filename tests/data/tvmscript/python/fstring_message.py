from tvm.script import tirx as T
N = 3
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    assert n == N, f"n is not {N}"
    A[0] = T.float32(1)
