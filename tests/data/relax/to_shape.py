# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2,), dtype="int64"), x1: R.Tensor((16,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="int64") = R.add(x0, x0)
            lv1: R.Shape(ndim=2) = R.tensor_to_shape(lv)
            lv2: R.Tensor(lv1, dtype="float32") = R.reshape(x1, lv1)
            gv: R.Tensor(lv1, dtype="float32") = lv2
            R.output(gv)
        return gv