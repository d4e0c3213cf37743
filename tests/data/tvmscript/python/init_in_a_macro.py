from tvm.script import tirx as T
@T.macro
def zero(A, i):
    with T.init():
        A[i] = T.float32(0)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 16):
        with T.sblock("x"):
            vi, vk = T.axis.remap("SR", [i, k])
            zero(A, vi)
            A[vi] = A[vi] + B[vk]
