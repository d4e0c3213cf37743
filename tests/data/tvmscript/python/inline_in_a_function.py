from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    @T.inline
    def m(A, i):
        A[i] = A[i] + B[i]
    for i in range(16):
        m(A, i)
