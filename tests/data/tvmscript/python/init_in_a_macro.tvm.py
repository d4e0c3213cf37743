# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    for i, k in T.grid(16, 16):
        with T.sblock("x"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(B[vk])
            T.writes(A[vi])
            with T.init():
                A[vi] = T.float32(0.0)
            A[vi] = A[vi] + B[vk]
