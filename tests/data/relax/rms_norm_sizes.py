# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((n, 3, 4), dtype="float32"), x1: R.Tensor((4,), dtype="float32")) -> R.Tensor((n, 3, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((n, 3, 4), dtype="float32") = R.nn.rms_norm(x0, x1, axes=[-1], epsilon=1.0000000000000001e-05)
            gv: R.Tensor((n, 3, 4), dtype="float32") = lv
            R.output(gv)
        return gv