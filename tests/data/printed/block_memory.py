# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(A[vi])
                p = T.allocate([8], "float32", "local")
                P = T.decl_buffer((8,), data=p, scope="local")
                P[vi] = A[vi]
                A[vi] = P[vi]
