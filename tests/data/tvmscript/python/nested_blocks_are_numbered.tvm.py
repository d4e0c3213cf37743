# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    with T.sblock("in"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("in_1"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("out"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("last"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("in_2"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("in_3"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
    with T.sblock("out_1"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1.0)
