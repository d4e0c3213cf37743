# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        A[0, 0:4] = A[1, 0:4] + T.Broadcast(T.float32(2.0), 4)
        A[0, 0:8:2] = A[1, n * 4:n * 4 + 4]
        B[T.Ramp(0, n, 4)] = T.Ramp(n, 3, 4) * T.Broadcast(n, 4)
        B[0:4] = T.Select(T.Ramp(0, 1, 4) < T.Broadcast(3, 4), T.Broadcast(1, 4), B[4:8])
        B[0:4] = T.Shuffle([B[0:4], B[4:8]], [0, 2, 4, 6])
        B[0] = T.Shuffle([B[0:4]], [3])
        A[0, 0:4] = T.Cast("float32x4", B[0:4])
        P[0:4] = (B[0:4] < T.Broadcast(3, 4)) & P[4:8] | ~P[8:12]
        L[0:4] = T.Ramp(T.int64(0), T.int64(1), 4)
