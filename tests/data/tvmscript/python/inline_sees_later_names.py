from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    @T.inline
    def m(i):
        A[i] = y
    y = T.meta_var(B[3])
    for i in range(16):
        m(i)
