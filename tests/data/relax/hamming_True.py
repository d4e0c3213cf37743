# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((6,), dtype="float32")) -> R.Tensor((6,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((6,), dtype="float32") = R.hamming_window(6, True, T.float64(0.54000000000000004), T.float64(0.46000000000000002), dtype="float32")
            lv1: R.Tensor((6,), dtype="float32") = R.add(x0, lv)
            gv: R.Tensor((6,), dtype="float32") = lv1
            R.output(gv)
        return gv