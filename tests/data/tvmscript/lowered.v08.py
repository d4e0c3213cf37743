@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, [128, 128])
        B = T.match_buffer(b, [128, 128])
        C = T.match_buffer(c, [128, 128])
        with T.block([128, 128, T.reduce_axis(0, 128)], "update") as [vi, vj, vk]:
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
    @T.prim_func
    def lowered(x: T.handle, n: T.int32) -> None:
        X = T.match_buffer(x, [64], elem_offset=0, align=128, offset_factor=1)
        tmp = T.allocate([8], "float32x8", "global")
        for i in T.serial(0, 8):
            T.store(tmp, T.ramp(i * 8, 1, 8), T.load("float32x8", X.data, T.ramp(i * 8, 1, 8), T.broadcast(True, 8)), T.broadcast(True, 8))
        with T.let(v, n + 1):
            T.store(X.data, v, 1.0)
    @T.prim_func
    def opt(a: T.handle) -> None:
        A = T.match_buffer(a, (128, 128), "float32")
        for i, j in T.grid(16, 128):
            with T.block([128, 128], "x") as [vi, vj]:
                T.bind(vi, i * 8 + 1)
                T.bind(vj, j)
                T.where(i * 8 + 1 < 128)
                T.reads([])
                T.writes([A[vi, vj]])
                A[vi, vj] = T.max(A[vi, vj], 0.0)
