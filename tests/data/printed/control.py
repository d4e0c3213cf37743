# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        if n < 3:
            B[0] = 1
        else:
            if n < 5:
                B[0] = 2
            else:
                B[0] = 3
        if P[0]:
            pass
        else:
            B[0] = 1
        while B[0] < 10 and P[B[0]]:
            B[0] = B[0] + 1
        assert n == 3, "n must be \"three\"\n"
        assert n == 3, ("ValueError", ["no"])
        T.evaluate(0)
        T.evaluate(B[0])
        T.evaluate(n)
