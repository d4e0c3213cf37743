from tvm.script import tirx as T
@T.macro(hygienic=False)
def m(h):
    C = T.match_buffer(h, (16,), "float32")
    C[0] = T.float32(1)
@T.prim_func(s_tir=True)
def f(a: T.handle):
    m(a)
