# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for N in range(4):
        A[3] = T.float32(1.0)
        A[N] = T.float32(2.0)
