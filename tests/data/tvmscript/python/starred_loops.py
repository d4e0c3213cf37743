from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,4,4), "float32")):
    for i, *js in T.grid(4, 4, 4):
        A[i, js[0], js[1]] = T.float32(1)
