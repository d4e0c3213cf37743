from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(*[4 for _ in range(2)]):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [x for x in (i, j)])
            A[vi, vj] = T.float32(0)
