# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((5, 4), dtype="float32"), x1: R.Tensor((6,), dtype="int64"), x2: R.Tensor((6,), dtype="int64"), x3: R.Tensor((6,), dtype="float32")) -> R.Tensor((5, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((5, 4), dtype="float32") = R.index_put(x0, (x1, x2), x3, accumulate=True)
            gv: R.Tensor((5, 4), dtype="float32") = lv
            R.output(gv)
        return gv