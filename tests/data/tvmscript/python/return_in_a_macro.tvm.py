# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(n: T.int32) -> T.int32:
    return n
