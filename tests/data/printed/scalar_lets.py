# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        x: T.float32 = A[0]
        y: T.float32 = x * x
        if y < x:
            z: T.float32 = y
            A[1] = z
        A[2] = y
