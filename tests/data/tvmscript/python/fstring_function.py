from tvm.script import tirx as T
k = "exp"
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    A[0] = T.call_pure_extern("float32", f"{k}f", A[1])
