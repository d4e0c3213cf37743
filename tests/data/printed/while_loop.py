# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        p = T.allocate([1], "int32", "global")
        P = T.decl_buffer((1,), "int32", data=p)
        P[0] = 0
        while P[0] < n and A[P[0]] < T.float32(1.0):
            P[0] = P[0] + 1
