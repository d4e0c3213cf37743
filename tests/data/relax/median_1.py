# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((3, 4), dtype="float32")) -> R.Tuple(R.Tensor((3, 1), dtype="float32"), R.Tensor((3, 1), dtype="int64")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((3, 1), dtype="float32"), R.Tensor((3, 1), dtype="int64")) = R.median(x0, axis=[1], keepdims=True)
            gv: R.Tuple(R.Tensor((3, 1), dtype="float32"), R.Tensor((3, 1), dtype="int64")) = lv
            R.output(gv)
        return gv