# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((3, 4), dtype="float32"), x1: R.Tensor((4,), dtype="float32")) -> R.Tensor((3, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((3, 4), dtype="float32") = R.atan2(x0, x1)
            gv: R.Tensor((3, 4), dtype="float32") = lv
            R.output(gv)
        return gv