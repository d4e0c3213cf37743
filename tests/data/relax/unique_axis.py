# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((2, 9), dtype="int64")) -> R.Tuple(R.Tensor(dtype="int64", ndim=2), R.Tensor(dtype="int64", ndim=1), R.Tensor(dtype="int64", ndim=1)):
        with R.dataflow():
            lv: R.Tuple(R.Tensor(dtype="int64", ndim=2), R.Tensor(dtype="int64", ndim=1), R.Tensor(dtype="int64", ndim=1)) = R.unique(x0, True, True, False, True, 1)
            gv: R.Tuple(R.Tensor(dtype="int64", ndim=2), R.Tensor(dtype="int64", ndim=1), R.Tensor(dtype="int64", ndim=1)) = lv
            R.output(gv)
        return gv