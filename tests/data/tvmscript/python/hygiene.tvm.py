# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
    for x_value in range(10):
        B[()] = A[128]
        B[()] = A[x_value]
