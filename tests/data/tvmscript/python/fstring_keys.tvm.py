# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    T.func_attr({"my_pragma": "01"})
    for i in T.serial(4, annotations={"pragma_x": "'pragma'"}):
        A[i] = T.float32(1.0)
