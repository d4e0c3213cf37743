# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        T.call_extern("void", "f", A.data, n)
        B[0] = T.call_extern("int32", "g", B[1])
        A[0, 0] = T.call_pure_extern("float32", "sinf", A[0, 1]) + T.call_pure_extern("float32", "cosf", x)
        T.call_packed("env.f", A, x, B[0])
        r: T.int32 = T.call_packed("env.g", B[0])
        T.evaluate(r)
        T.tvm_storage_sync("shared")
        t: T.int32 = T.tvm_warp_shuffle(T.tvm_warp_activemask(), n, 0, 32, 32)
        B[0] = t
        T.call_extern("int32", "k", T.address_of(A[0, 1]), T.tvm_access_ptr(T.type_annotation("float32"), A.data, 8, n, 3))
