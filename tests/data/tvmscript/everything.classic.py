@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((128, 128), "float32"), var_B: T.handle, s: T.int64):
        T.func_attr({"tir.noalias": T.bool(True), "x": [1, 2.5, "a", None, {"b": T.int64(3)}]})
        n = T.int32()
        m = T.int64()
        B = T.match_buffer(var_B, (n, m), strides=(m, 1))
        # with T.block("root"):
        C = T.alloc_buffer((128, 128), "float16", scope="shared")
        for i, j in T.grid(T.int64(128), T.int64(128)):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.Cast("float16", A[vi, vj]) * T.float16(2)
        for i in T.thread_binding(128, thread="blockIdx.x"):
            for j in T.vectorized(0, 128):
                for k in T.serial(4, annotations={"pragma_unroll": 1}):
                    with T.block("D"):
                        vi = T.axis.S(128, i)
                        vj = T.axis.spatial((0, 128), j)
                        vk = T.axis.R(4, k)
                        T.where(i < 100 and j < 3)
                        T.reads(C[vi, 0:128])
                        T.writes(A[vi, vj])
                        T.block_attr({"a": 1})
                        with T.init():
                            A[vi, vj] = 0
                        A[vi, vj] += T.if_then_else(vi > 3, T.float32(1), A[vi, vj - 1])
        x: T.int32 = 3
        while A[0, 0] < 3.0:
            A[0, 0] = A[0, 0] + 1
        if n > 3 and m < 4 or not A[0,0] == 1.0:
            T.evaluate(T.call_extern("int32", "foo", A.data, x))
        else:
            T.call_packed("foo", A, 1)
        assert n == 3, "bad n"
        with T.attr(0, "pragma", 3):
            T.evaluate(0)
        T.attr(T.target({"kind": "llvm"}), "target", 0)
        bx = T.launch_thread("blockIdx.x", 32)
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 4)
        A[bx, tx] = T.exp(A[bx, tx])
        q = T.allocate([n * 2], "float32", "local", annotations={"z": 1})
        Q = T.decl_buffer((n, 2), data=q, scope="local")
        Q[0, 0:2] = T.Broadcast(T.float32(1), 2)
        Q[0, 1] = T.Let(y1 + 1.0, where={y1: Q[0, 0]})
        R = T.decl_buffer((8,), "uint8")
        R[0:8:2] = T.Ramp(0, 1, 4).astype("uint8x4")
        w = T.allocate_const([1, 2, 3], "int32", [3])
        cls.sub(A, s)
    @T.prim_func(private=True)
    def sub(A: T.Buffer((128, 128), "float32"), s: T.int64) -> T.int32:
        return 3
