# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(8):
        A[i] = B[i] + B[i + 1] * T.float32(16.0) + T.Cast("float32", i)
