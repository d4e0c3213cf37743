# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        B[0] = B[1] & B[2] | B[3] ^ B[4]
        B[0] = (B[1] | B[2]) & B[3]
        B[0] = B[1] << B[2] >> 3
        B[0] = B[1] << (B[2] & 3)
        B[0] = B[1] << B[2] + 1
        B[0] = ~B[1]
        B[0] = ~(B[1] + 1)
        U[0] = ~U[1] >> U[2]
        B[0] = (B[1] & 3) + 1
        B[0] = B[1] & 3 + B[2]
        B[0] = T.popcount(B[1]) + T.clz(B[2]) + T.clz(L[0]) + T.clz(C[0])
        L[0] = T.popcount(L[1]) + T.Cast("int64", T.clz(L[2]))
