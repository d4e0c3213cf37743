# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

s = TypeVar("s")
s_1 = TypeVar("s_1")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(x1: T.Buffer((T.int64(2),), "int64"), x2: T.Buffer((T.int64(2),), "int64"), T_add: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads(x1[v_ax0], x2[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = x1[v_ax0] + x2[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def dynamic_strided_slice(x0: T.Buffer((T.int64(6), T.int64(7)), "float32"), x1: T.Buffer((T.int64(2),), "int64"), lv: T.Buffer((T.int64(2),), "int64"), lv1: T.Buffer((T.int64(2),), "int64"), T_strided_slice_dynamic: T.Buffer((s_1, s), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(s_1, s):
            with T.sblock("T_strided_slice_dynamic"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(x0[T.int64(0):T.int64(6), T.int64(0):T.int64(7)], x1[T.int64(0):T.int64(2)], lv1[T.int64(0):T.int64(2)])
                T.writes(T_strided_slice_dynamic[v_ax0, v_ax1])
                T_strided_slice_dynamic[v_ax0, v_ax1] = x0[T.min(T.max(T.if_then_else(x1[T.int64(0)] < T.int64(0), x1[T.int64(0)] + T.int64(6), x1[T.int64(0)]), T.if_then_else(lv1[T.int64(0)] < T.int64(0), T.int64(-1), T.int64(0))), T.if_then_else(lv1[T.int64(0)] < T.int64(0), T.int64(5), T.int64(6))) + v_ax0 * lv1[T.int64(0)], T.min(T.max(T.if_then_else(x1[T.int64(1)] < T.int64(0), x1[T.int64(1)] + T.int64(7), x1[T.int64(1)]), T.if_then_else(lv1[T.int64(1)] < T.int64(0), T.int64(-1), T.int64(0))), T.if_then_else(lv1[T.int64(1)] < T.int64(0), T.int64(6), T.int64(7))) + v_ax1 * lv1[T.int64(1)]]

    @T.prim_func(private=True, s_tir=True)
    def ones(T_full: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("T_full"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads()
                T.writes(T_full[v_ax0])
                T_full[v_ax0] = T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def shape_func(x0: T.Buffer((T.int64(6), T.int64(7)), "float32"), x1: T.Buffer((T.int64(2),), "int64"), lv: T.Buffer((T.int64(2),), "int64"), lv1: T.Buffer((T.int64(2),), "int64"), T_shape_func_strided_slice_dynamic: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i in range(T.int64(2)):
            with T.sblock("T_shape_func_strided_slice_dynamic"):
                v_i = T.axis.spatial(T.int64(2), i)
                T.reads(lv1[v_i], x1[v_i], lv[v_i])
                T.writes(T_shape_func_strided_slice_dynamic[v_i])
                T_shape_func_strided_slice_dynamic[v_i] = T.Select(lv1[v_i] < T.int64(0), (T.min(T.max(T.Select(x1[v_i] < T.int64(0), x1[v_i] + T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))), x1[v_i]), T.int64(-1)), T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))) - T.int64(1)) - T.min(T.max(T.Select(lv[v_i] < T.int64(0), lv[v_i] + T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))), lv[v_i]), T.int64(-1)), T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))) - T.int64(1)) - lv1[v_i] - T.int64(1)) // (lv1[v_i] * T.int64(-1)), (T.min(T.max(T.Select(lv[v_i] < T.int64(0), lv[v_i] + T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))), lv[v_i]), T.int64(0)), T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1)))) + lv1[v_i] - T.min(T.max(T.Select(x1[v_i] < T.int64(0), x1[v_i] + T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1))), x1[v_i]), T.int64(0)), T.Select(v_i == T.int64(1), T.int64(7), T.Select(v_i == T.int64(0), T.int64(6), T.int64(-1)))) - T.int64(1)) // lv1[v_i])

    @R.function
    def main(x0: R.Tensor((6, 7), dtype="float32"), x1: R.Tensor((2,), dtype="int64"), x2: R.Tensor((2,), dtype="int64")) -> R.Tensor(dtype="float32", ndim=2):
        cls = Module
        s = T.int64()
        s_1 = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.add, (x1, x2), out_ty=R.Tensor((2,), dtype="int64"))
            lv1 = R.call_tir(cls.ones, R.tuple(), out_ty=R.Tensor((2,), dtype="int64"))
            lv_1 = R.call_tir(cls.shape_func, (x0, x1, lv, lv1), out_ty=R.Tensor((2,), dtype="int64"))
            lv1_1: R.Shape(ndim=2) = R.tensor_to_shape(lv_1)
            lv2: R.Shape([s, s_1]) = R.match_cast(lv1_1, R.Shape([s, s_1]))
            lv2_1 = R.call_tir(cls.dynamic_strided_slice, (x0, x1, lv, lv1), out_ty=R.Tensor((s, s_1), dtype="float32"))
            gv: R.Tensor((s, s_1), dtype="float32") = lv2_1
            R.output(gv)
        return gv