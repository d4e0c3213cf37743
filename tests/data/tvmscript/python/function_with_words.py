from tvm.script import tirx as T
def shifted(X, *offsets):
    return sum([X[o] for o in offsets])
def low(X, i):
    return T.if_then_else(i > 0, X[i - 1], T.float32(0))
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(12):
        A[i] = shifted(B, i, i + 1, i + 2) + low(B, i)
