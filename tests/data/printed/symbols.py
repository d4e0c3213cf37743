# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int32()
        m = T.int64()
        s = T.int32()
        off = T.int32()
        A = T.match_buffer(a, (n, 16))
        B = T.match_buffer(b, (n * 2, m), "int8")
        C = T.match_buffer(c, (n, n + 1), "float16", strides=(s, 1), elem_offset=off, scope="shared", align=16, offset_factor=8)
        # with T.block("root"):
        S = T.alloc_buffer((n, 4), "float16")
        for i, j in T.grid(n, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(S[vi, 0:n])
                S[vi, 0] = T.Cast("float16", A[vi, vj])
