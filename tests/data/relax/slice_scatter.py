# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((5, 4), dtype="float32"), x1: R.Tensor((2, 4), dtype="float32")) -> R.Tensor((5, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((5, 4), dtype="float32") = R.slice_scatter(x0, x1, 1, 5, 2, axis=0)
            gv: R.Tensor((5, 4), dtype="float32") = lv
            R.output(gv)
        return gv