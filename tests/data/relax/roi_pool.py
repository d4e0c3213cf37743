# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((1, 2, 5, 6), dtype="float32"), x1: R.Tensor((4, 5), dtype="float32")) -> R.Tensor((4, 2, 2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 2, 2, 3), dtype="float32") = R.vision.roi_pool(x0, x1, pooled_size=[2, 3], spatial_scale=0.5, layout="NCHW")
            gv: R.Tensor((4, 2, 2, 3), dtype="float32") = lv
            R.output(gv)
        return gv