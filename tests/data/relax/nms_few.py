# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2, 24, 6), dtype="float32")) -> R.Tuple(R.Tensor((2, 24), dtype="int32"), R.Tensor((2, 1), dtype="int32")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((2,), dtype="int32"), R.Tensor((2, 24, 6), dtype="float32"), R.Tensor((2, 24), dtype="int32")) = R.vision.get_valid_counts(x0, score_threshold=0.20000000000000001, id_index=0, score_index=1)
            lv1: R.Tensor((2, 24, 6), dtype="float32") = lv[1]
            lv2: R.Tensor((2,), dtype="int32") = lv[0]
            lv3: R.Tensor((2, 24), dtype="int32") = lv[2]
            lv4: R.Tuple(R.Tensor((2, 24), dtype="int32"), R.Tensor((2, 1), dtype="int32")) = R.vision.non_max_suppression(lv1, lv2, lv3, max_output_size=3, iou_threshold=0.5, force_suppress=False, top_k=12, coord_start=2, score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False, soft_nms_sigma=0.0, score_threshold=0.0)
            gv: R.Tuple(R.Tensor((2, 24), dtype="int32"), R.Tensor((2, 1), dtype="int32")) = lv4
            R.output(gv)
        return gv