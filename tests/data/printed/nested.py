# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
        with T.block("whole"):
            T.reads(A[0:64, 0:64])
            T.writes(B[0:64, 0:64])
            for i_0, j_0 in T.grid(8, 8):
                with T.block("outer"):
                    vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
                    T.reads(A[vi_o * 8:vi_o * 8 + 8, vj_o * 8:vj_o * 8 + 8])
                    T.writes(B[vi_o * 8:vi_o * 8 + 8, vj_o * 8:vj_o * 8 + 8])
                    local = T.alloc_buffer((8, 8), scope="local")
                    for i_1, j_1 in T.grid(8, 8):
                        with T.block("inner"):
                            vi, vj = T.axis.remap("SS", [i_1, j_1])
                            T.reads(A[vi_o * 8 + vi, vj_o * 8 + vj])
                            T.writes(local[vi, vj])
                            local[vi, vj] = A[vi_o * 8 + vi, vj_o * 8 + vj]
                    for i_1 in range(8):
                        for j_1 in T.vectorized(8):
                            with T.block("inner_1"):
                                vi, vj = T.axis.remap("SS", [i_1, j_1])
                                T.reads(local[vi, vj])
                                T.writes(B[vi_o * 8 + vi, vj_o * 8 + vj])
                                B[vi_o * 8 + vi, vj_o * 8 + vj] = local[vi, vj]
