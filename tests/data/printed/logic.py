# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        P[0] = B[0] < B[1] and B[2] <= 3 or B[3] != 4
        P[0] = (P[1] or P[2]) and P[3]
        P[0] = not P[1] and not B[0] == 3
        P[0] = not (P[1] and P[2])
        P[0] = (B[0] < B[1]) == (B[2] > 3)
        P[0] = B[0] & 3 == 1
        P[0] = B[0] + 1 >= B[1]
        P[0] = P[1] ^ P[2]
        P[0] = T.bool(True)
        P[0] = A[0, 0] < x and A[0, 1] != A[0, 2]
        P[0] = T.Select(P[1], P[2], P[3])
        P[0] = T.if_then_else(P[1], P[2], P[3])
        P[0] = T.if_then_else(P[1] and P[2], P[2], P[3]) or P[4]
        P[0] = not (P[1] or P[2]) and not not P[3]
