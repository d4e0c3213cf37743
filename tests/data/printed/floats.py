# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        A[0, 0] = T.float32(-0.0)
        A[0, 0] = T.float32("inf")
        A[0, 0] = T.float32("-inf")
        A[0, 0] = T.float32("nan")
        A[0, 0] = T.float32(1.0000000000000001e-05)
        A[0, 0] = T.float32(0.55555558204650879)
        A[0, 0] = T.float32(-340282346638528859811704183484516925440.0)
        D[0] = T.float64(0.33333333333333331)
        D[0] = T.float64("-inf")
        H[0] = T.float16(0.10000000000000001)
        H[0] = T.float16(65504.0)
