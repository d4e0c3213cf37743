from tvm.script import tirx as T
bits = 16
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), f"float{bits}")):
    A[0] = T.Cast(f"float{bits}", T.float32(1))
