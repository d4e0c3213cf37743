from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    @T.inline
    def m(k):
        A[k] = T.float32(1)
        if k > 0:
            m(k - 1)
    m(3)
