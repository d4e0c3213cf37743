# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        n_1 = T.int32()
        s = T.int32()
        X = T.match_buffer(h, (n_1, 4), "int8", strides=(s, 1), align=128)
        p = T.allocate([8, n], "float32", "local")
        Q = T.decl_buffer((8, 8), data=p, scope="local")
        R = T.decl_buffer((4, 2), "int32", data=p, elem_offset=2, scope="local")
        E = T.decl_buffer((16,), data=A.data)
        F = T.decl_buffer((8,), data=q, strides=(2,), align=16)
        Q[0, 0] = E[0] + F[1]
        X[0, 0] = T.int8(3)
