# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def g(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = T.max(B[i], T.float32(2.0)) + B[i]
