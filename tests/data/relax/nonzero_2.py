# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((3, 4), dtype="int64")) -> R.Tensor(dtype="int64", ndim=2):
        with R.dataflow():
            lv: R.Tensor(dtype="int64", ndim=2) = R.nonzero(x0)
            gv: R.Tensor(dtype="int64", ndim=2) = lv
            R.output(gv)
        return gv