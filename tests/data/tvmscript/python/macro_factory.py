from tvm.script import tirx as T
def make(N):
    @T.macro
    def m(A):
        for i in range(N):
            A[i] = T.float32(N)
    @T.prim_func(s_tir=True)
    def g(A: T.Buffer((N,), "float32")):
        m(A)
    return g
f = make(7)
