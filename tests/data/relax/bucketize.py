# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((5, 4), dtype="float32"), x1: R.Tensor((7,), dtype="float32")) -> R.Tensor((5, 4), dtype="int64"):
        with R.dataflow():
            lv: R.Tensor((7,), dtype="float32") = R.sort(x1, axis=-1, descending=False)
            lv1: R.Tensor((5, 4), dtype="int64") = R.bucketize(x0, lv, out_int32=False, right=True)
            gv: R.Tensor((5, 4), dtype="int64") = lv1
            R.output(gv)
        return gv