# from tvm.script import tir as T
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(x: T.Buffer[6, "int32"], y: T.Buffer[(6,), "int32"], z: T.Buffer[(2,3), "float32"]) -> None:
        # function attr dict
        T.func_attr({"tir.noalias": True, "global_symbol": "main"})
        T.preflattened_buffer(x, [6], dtype="int32", data=x.data)
        T.preflattened_buffer(y, [2, 3], dtype="int32", data=y.data)
        # body
        v = T.var("int32")
        with T.let(v, 3):
            y[v] = x[v] + 1
        w = T.allocate([4], "float32", "global")
        for i in T.serial(4):
            cse_var_1: T.int32 = i // 2
            w[cse_var_1] = T.float32(2)
        w_1 = T.buffer_decl([2,2], dtype="float32", data=w)
        w_1[0, 1] = w[3]
