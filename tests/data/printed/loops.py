# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        for i in range(n):
            B[i] = i
        for i in range(1, 9):
            B[i] = i
        for i in range(n, n + 4):
            B[i] = i
        for i in range(2, 2 + n):
            B[i] = i
        for i in range(0, 8, 2):
            B[i] = i
        for i in T.serial(8, annotations={"a": [1, 2], "b": {"c": "d"}, "pragma_x": 1}):
            B[i] = i
        for i in T.serial(1, 8, annotations={"a": 1}, step=2):
            B[i] = i
        for i in T.parallel(8):
            for j in T.vectorized(1, 5):
                for k in T.unroll(n):
                    B[i] = j + k
        for i in T.thread_binding(8, thread="blockIdx.x", annotations={"a": True}):
            B[i] = i
        for i, j, k in T.grid(4, n, 2):
            B[i] = j * k
        for i in range(4):
            for j, k in T.grid(i, 2):
                B[i] = j * k
        for i in range(4):
            for i_1 in T.parallel(4):
                B[i] = i_1
        for i in range(T.int64(8)):
            L[i] = i
        for i in range(m, m + T.int64(3)):
            L[i] = i
        for i, j in T.grid(4, 4):
            B[i] = j
            B[j] = i
        for i in range(4):
            pass
