from tvm.script import tirx as T
@T.macro
def guarded(A, i, n, body):
    if i < n:
        body(A, i)
@T.macro
def one(A, i):
    A[i] = T.float32(1)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(20):
        guarded(A, i, 16, one)
