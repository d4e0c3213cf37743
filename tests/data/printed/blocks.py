# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        # with T.block("root"):
        for i, j, k in T.grid(8, 8, 4):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.where(i * 8 + j < n)
                T.reads(A[vi, vj:vj + 3], B[0:n])
                T.writes(A[vi, vk], B[vi:vi + 4])
                T.block_attr({"a": 1, "b": T.float32(1.5), "c": 2.5, "d": None})
                with T.init():
                    A[vi, vj] = T.float32(0.0)
                A[vi, vj] = A[vi, vj] + A[vi, vk]
        for i, j in T.grid(8, 4):
            with T.block("mixed"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.reduce((2, 6), j + 2)
                vs = T.axis.scan(4, j)
                vo = T.axis.opaque(n, i)
                T.reads()
                T.writes(B[vi])
                S = T.alloc_buffer((8, 4))
                S8 = T.alloc_buffer((n,), "int8", scope="shared", align=32)
                M = T.match_buffer(A[vi, vj:vj + 4], (4,), offset_factor=4)
                M2 = T.match_buffer(A[vi:vi + 2, 0:4], (2, 4), strides=(16, 1))
                S[0, 0] = M[0] + M2[1, vs]
                B[vi] = vo
        with T.block(""):
            T.reads(B[0:64])
            T.writes()
            T.evaluate(B[0])
        for i in range(T.int64(8)):
            with T.block("long"):
                vi = T.axis.spatial(T.int64(8), i)
                T.reads(L[vi:vi + T.int64(2)])
                T.writes(L[vi])
                L[vi] = L[vi + T.int64(1)]
