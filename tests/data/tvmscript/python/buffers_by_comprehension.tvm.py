# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    bufs_0 = T.sblock_alloc_buffer((4,))
    bufs_1 = T.sblock_alloc_buffer((4,))
    bufs_0[1] = A[2]
    bufs_1[1] = A[2]
