# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    x: T.let[T.float32] = A[0]
    A[0] = x * x
    x_1: T.let[T.float32] = B[1]
    B[1] = x_1 * x_1
