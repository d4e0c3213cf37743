from tvm.script import tirx as T
k = "pragma"
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    T.func_attr({f"my_{k}": f"{1:02d}"})
    for i in T.serial(4, annotations={f"{k}_x": f"{k!r}"}):
        A[i] = T.float32(1)
