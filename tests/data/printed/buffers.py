# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32", strides=(20, 1)), B: T.Buffer((8,), "int8", elem_offset=4), C: T.Buffer((), "bool"), D: T.Buffer((8, 8), "float64", scope="shared")):
        A[0, 0] = T.float32(1.0)
        B[0] = T.int8(1)
        C[()] = T.bool(True)
        D[0, 0] = T.float64(1.0)
