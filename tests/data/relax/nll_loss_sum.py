# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((5, 4), dtype="float32"), x1: R.Tensor((5,), dtype="int64"), x2: R.Tensor((4,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((), dtype="float32") = R.nn.nll_loss(x0, x1, x2, reduction="sum", ignore_index=-100)
            gv: R.Tensor((), dtype="float32") = lv
            R.output(gv)
        return gv