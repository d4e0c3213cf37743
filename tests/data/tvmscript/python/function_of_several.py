from tvm.script import tirx as T
def g(*xs):
    r = xs[0]
    for x in xs[1:]: r = T.max(r, x)
    return r
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(12):
        A[i] = g(*[B[i + k] for k in range(3)])
