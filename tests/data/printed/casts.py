# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        A[0, 0] = T.Cast("float32", B[0])
        B[0] = T.Cast("int32", C[0]) * 2
        C[0] = T.Cast("int8", T.Cast("int32", C[1]) * 2)
        P[0] = T.Cast("bool", B[0])
        B[0] = T.Cast("int32", P[0])
        H[0] = T.Cast("float16", A[0, 0]) + T.float16(1.5)
        D[0] = T.Cast("float64", A[0, 0]) * T.float64(0.10000000000000001)
        L[0] = T.Cast("int64", B[0]) + T.int64(5000000000)
        B[0] = T.reinterpret("int32", A[0, 0])
        L[0] = L[1] * m + T.int64(-9223372036854775808)
        U[0] = T.Cast("uint8", T.Cast("float32", U[1]) * T.float32(0.5))
