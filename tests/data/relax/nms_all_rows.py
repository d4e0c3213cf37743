# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2, 12, 4), dtype="float32"), x1: R.Tensor((2, 3, 12), dtype="float32")) -> R.Tuple(R.Tensor((2, 36, 2), dtype="int64"), R.Tensor((2, 36), dtype="float32"), R.Tensor((2,), dtype="int64")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((2, 36, 2), dtype="int64"), R.Tensor((2, 36), dtype="float32"), R.Tensor((2,), dtype="int64")) = R.vision.all_class_non_max_suppression(x0, x1, R.const(4, "int64"), R.const(0.40000000596046448, "float32"), R.const(0.30000001192092896, "float32"), output_format="tensorflow")
            gv: R.Tuple(R.Tensor((2, 36, 2), dtype="int64"), R.Tensor((2, 36), dtype="float32"), R.Tensor((2,), dtype="int64")) = lv
            R.output(gv)
        return gv