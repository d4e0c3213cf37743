from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    with T.sblock("b"):
        T.reads(*[A[k, 0:2] for k in range(2)])
        T.writes([A[k, 0:2] for k in range(2)])
        A[0, 0] = T.float32(0)
