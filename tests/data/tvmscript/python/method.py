from tvm.script import tirx as T
class K:
    def __init__(self, n): self.n = n
    @T.macro(hygienic=False)
    def m(self, A):
        A[self.n] = T.float32(1)
k = K(5)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    k.m(A)
