from tvm.script import tirx as T
x_value = 128
@T.macro
def m(A, B):
    B[()] = A[x_value]
@T.macro(hygienic=False)
def d(A, B):
    B[()] = A[x_value]
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
    for x_value in T.serial(10):
        m(A, B)
        d(A, B)
