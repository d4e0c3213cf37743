# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        B[0] = B[1] + B[2] * B[3] - B[4]
        B[0] = B[1] - (B[2] - B[3])
        B[0] = (B[1] + B[2]) * B[3]
        B[0] = B[1] * (B[2] * B[3])
        B[0] = B[1] // B[2] % B[3]
        B[0] = B[1] // (B[2] % B[3])
        B[0] = T.Div(B[1], B[2])
        B[0] = T.truncmod(B[1], -3)
        B[0] = B[1] * -1
        B[0] = -1 - B[1]
        B[0] = B[1] - -1
        A[0, 0] = A[0, 1] / A[0, 2] / (A[0, 3] / T.float32(3.0))
        U[0] = U[1] // U[2] + U[3] % T.uint8(200)
        U[0] = T.max(U[1], T.min(U[2], U[3]))
        B[0] = T.max(B[1], T.min(B[2], 5))
        A[0, 0] = T.max(A[0, 1], T.min(A[0, 2], T.float32(0.0)))
