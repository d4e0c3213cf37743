# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    # with T.sblock("root"):
    for i, j in T.grid(4, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(A[vi, vj])
            A[vi, vj] = T.float32(0.0)
