# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2, 3, 5), dtype="float32"), x1: R.Tensor((2, 20), dtype="float32"), x2: R.Tensor((1, 5, 4), dtype="float32")) -> R.Tuple(R.Tensor((2, 5, 4), dtype="float32"), R.Tensor((2, 3, 5), dtype="float32")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((2, 5, 4), dtype="float32"), R.Tensor((2, 3, 5), dtype="float32")) = R.vision.multibox_transform_loc(x0, x1, x2, clip=True, threshold=0.40000000000000002, variances=[0.10000000000000001, 0.10000000000000001, 0.20000000000000001, 0.20000000000000001], keep_background=False, apply_softmax=False)
            gv: R.Tuple(R.Tensor((2, 5, 4), dtype="float32"), R.Tensor((2, 3, 5), dtype="float32")) = lv
            R.output(gv)
        return gv