# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4, 4), "float32")):
    # with T.sblock("root"):
    for iters_0, iters_1, iters_2 in T.grid(4, 4, 4):
        with T.sblock("a"):
            v0, vs_0, vs_1 = T.axis.remap("SSS", [iters_0, iters_1, iters_2])
            T.reads()
            T.writes(A[v0, vs_0, vs_1])
            A[v0, vs_0, vs_1] = T.float32(1.0)
