from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    d = T.meta_var({k: v for k, v in zip(["a", "b"], [1, 2])})
    s = T.meta_var([x + y for x in (1, 2) for y in (3, 4)])
    A[d["b"]] = T.float32(s[3])
