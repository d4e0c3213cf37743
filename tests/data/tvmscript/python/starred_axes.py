from tvm.script import tirx as T
S = [4, 4, 4]
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4, 4), "float32")):
    for iters in T.grid(*S):
        with T.sblock("a"):
            v0, *vs = T.axis.remap("SSS", iters)
            A[v0, *vs] = T.float32(1)
