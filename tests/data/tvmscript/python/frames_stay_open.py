from tvm.script import tirx as T
@T.macro(hygienic=False)
def m():
    tx = T.launch_thread("threadIdx.x", 16)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    m()
    A[0] = T.float32(1)
