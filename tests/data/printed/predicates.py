# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        A.vstore([0, T.Ramp(0, 1, 4)], A.vload([1, T.Ramp(0, 1, 4)], predicate=T.Broadcast(n < 3, 4)), predicate=P[0:4])
