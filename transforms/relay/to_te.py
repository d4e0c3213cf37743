"""The pass `convert-relay-to-te`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import te, tir
from ...operators.relay import FuncOp
from ..te.inline import inline_tensors
from .graphs import check_no_operators
from .kernels import kernel_of
from .libraries import lower_function


class ConvertRelayToTePass(ModulePass):
    """Converts each primitive function to a `te.func`, inlining the formulas of its operators without recomputation.

    Formulas follow each other; a tensor is inlined into its readers where no element is computed twice
    (`te-inline{recompute=false}`). The parameters are the parameters of the function, its results, and the sizes that
    no parameter determines by itself, as integers. A function for a library becomes the
    function that the library builds: a `te.func` or `tir.func` with the same parameters. Callers are unchanged.

    Before
        relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
          %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    After
        te.func @fused_exp attrs {tir.noalias = true, relay.kernel = true} {
          %p0 = te.placeholder "p0" [8] : tensor<8xf32>
          %T_exp = te.compute "T_exp" (spatial "i0" %i0 : i32 in [0 +: 8]) tag "elemwise" : tensor<8xf32> {
            %0 = te.read %p0[%i0] : tensor<8xf32>
            %1 = math.exp %0 : f32
            te.yield %1 : f32
          }
          te.params %p0 : tensor<8xf32>, %T_exp : tensor<8xf32>
        }

    Must hold before: all operators are in primitive functions (`relay-fuse-operators`).

    Gone after: operators, primitive functions and functions for libraries.
    """

    name = "convert-relay-to-te"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_no_operators(op)
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            if func.primitive is not None or func.compiler is not None:
                block = func.parent
                assert block is not None
                block.insert_op_before(_kernel(func), func)
                func.detach()
                func.erase()


def _kernel(func: FuncOp) -> te.FuncOp | tir.FuncOp:
    """The kernel of a function: the function that its library builds, or the formulas of its operators."""
    if func.compiler is not None:
        return lower_function(func)
    kernel = kernel_of(func)
    inline_tensors(kernel, recompute=False)
    return kernel
