# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def where(x0: T.Buffer((n, T.int64(4)), "bool"), x1: T.Buffer((n, T.int64(4)), "float32"), x2: T.Buffer((T.int64(4),), "float32"), T_where: T.Buffer((n, T.int64(4)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(n, T.int64(4)):
            with T.sblock("T_where"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(x0[v_ax0, v_ax1], x1[v_ax0, v_ax1], x2[v_ax1])
                T.writes(T_where[v_ax0, v_ax1])
                T_where[v_ax0, v_ax1] = T.Select(T.int64(0) < T.Cast("int64", x0[v_ax0, v_ax1]), x1[v_ax0, v_ax1], x2[v_ax1])

    @R.function
    def main(x0: R.Tensor((n, 4), dtype="bool"), x1: R.Tensor((n, 4), dtype="float32"), x2: R.Tensor((4,), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.where, (x0, x1, x2), out_ty=R.Tensor((n, 4), dtype="float32"))
            gv: R.Tensor((n, 4), dtype="float32") = lv
            R.output(gv)
        return gv