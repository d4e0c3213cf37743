from tvm.script import tirx as T
@T.macro
def m(x):
    return x
@T.prim_func(s_tir=True)
def f(n: T.int32) -> T.int32:
    m(n)
