# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4, 4), "float32")):
    for i, js_0, js_1 in T.grid(4, 4, 4):
        A[i, js_0, js_1] = T.float32(1.0)
