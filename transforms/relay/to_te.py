"""`convert-relay-to-te`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...dialects import te, tir
from ...operators.relay import FuncOp, OperatorOp
from ..te.inline import inline_tensors
from .graphs import graphs
from .kernels import kernel_of
from .libraries import lower_function


class ConvertRelayToTePass(ModulePass):
    """Make a `te.func` of each primitive function: the formulas of its operators, one after the other, written into
    each other where nothing is computed twice for it (`te-inline{recompute=false}`).

    Its parameters are those of the function, and the results behind them; in front of them, numbers, the sizes that no
    parameter says by itself. A function for a library becomes what that makes of it: a `te.func` or `tir.func` with the
    same parameters. Functions that call these stay.

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

    Must hold before: operators stand in primitive functions (`relay-fuse-operators`).

    Gone after: operators, primitive functions, those for libraries.
    """

    name = "convert-relay-to-te"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check(op)
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            if func.primitive is not None or func.compiler is not None:
                block = func.parent
                assert block is not None
                block.insert_op_before(_kernel(func), func)
                func.detach()
                func.erase()


def _check(module: ModuleOp) -> None:
    """UnsupportedError for operators outside of primitive functions, all of them at once."""
    found: dict[str, OperatorOp] = {}
    for func in graphs(module):
        for op in func.walk():
            if isinstance(op, OperatorOp):
                found.setdefault(op.name, op)
    if found:
        first = next(iter(found.values()))
        raise UnsupportedError(f"{where(first)}{', '.join(found)} outside of primitive functions: relay-fuse-operators")


def _kernel(func: FuncOp) -> te.FuncOp | tir.FuncOp:
    """What computes a function: its library, or the formulas of its operators."""
    if func.compiler is not None:
        return lower_function(func)
    kernel = kernel_of(func)
    inline_tensors(kernel, recompute=False)
    return kernel
