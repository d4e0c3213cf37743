# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2, 24, 6), dtype="float32")) -> R.Tuple(R.Tensor((2,), dtype="int32"), R.Tensor((2, 24, 6), dtype="float32"), R.Tensor((2, 24), dtype="int32")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((2,), dtype="int32"), R.Tensor((2, 24, 6), dtype="float32"), R.Tensor((2, 24), dtype="int32")) = R.vision.get_valid_counts(x0, score_threshold=0.29999999999999999, id_index=0, score_index=1)
            gv: R.Tuple(R.Tensor((2,), dtype="int32"), R.Tensor((2, 24, 6), dtype="float32"), R.Tensor((2, 24), dtype="int32")) = lv
            R.output(gv)
        return gv