# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"a": [1, 2], "b": {"c": "d"}, "f": 1.5, "g": T.float32(0.5), "l": T.int64(3), "n": None, "tir.noalias": True})
        for i in range(8):
            B[i] = A[i] + T.float32(1.0)

    @T.prim_func(private=True)
    def square(x: T.int32) -> T.int32:
        T.ret(x * x)

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
        T.func_attr({"global_symbol": "entry"})
        cls.add(A.data, B.data)
        B[cls.square(n)] = T.float32(0.0)
