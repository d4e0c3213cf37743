from tvm.script import tirx as T
flag = True
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    if flag:
        x = T.meta_var(1)
    else:
        x = T.meta_var(2)
    A[x] = T.float32(1)
