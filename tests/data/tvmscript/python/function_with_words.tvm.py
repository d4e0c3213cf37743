# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(12):
        A[i] = B[i] + B[i + 1] + B[i + 2] + T.if_then_else(i > 0, B[i - 1], T.float32(0.0))
