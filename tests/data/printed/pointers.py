# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        p = T.allocate([8], "float32", "global")
        T.call_extern("void", "f", p, A.data)
        q: T.handle("float32") = p
        with T.attr(p, "x", 1):
            A[0] = T.float32(1.0)
        B = T.decl_buffer((2, 4), data=q)
        B[0, 0] = A[0]
