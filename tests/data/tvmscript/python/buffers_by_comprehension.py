from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    bufs = [T.sblock_alloc_buffer((4,)) for k in range(2)]
    bufs[0][1] = A[2]
    bufs[1][1] = A[2]
