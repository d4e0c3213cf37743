"""The pass `convert-relay-to-te`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...core.dtypes import dtype_of
from ...core.walking import find_ops
from ...dialects import te, tir
from ...dialects.attributes import INLINE_RULE, SCHEDULE_RULE
from ...dialects.te.base import tensor_type_of
from ...operators.relay import FuncOp
from ..te.inline import inline_tensors
from .graphs import check_no_operators
from .kernels import kernel_of
from .libraries import lower_function


class ConvertRelayToTePass(ModulePass):
    """Converts each primitive function to a `te.func`, inlining the formulas of its operators without recomputation.

    Formulas follow each other; a tensor is inlined into its readers where no element is computed twice
    (`te-inline{recompute=false}`), but for bytes that are computed from sums of `nn.contrib_conv2d_pack_int8`. The
    parameters are the parameters of the function, its results, and the sizes that no parameter determines by itself, as
    integers. A function for a library becomes the function that the library builds: a `te.func` or `tir.func` with the
    same parameters. Callers are unchanged.

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
    _keep_bytes(kernel)
    inline_tensors(kernel, recompute=False)
    return kernel


def _keep_bytes(kernel: te.FuncOp) -> None:
    """Forbids that the bytes that are computed from sums of bytes of channels are computed where their elements are
    read: they are transposed before other operators read them, in less time than the sums."""
    derived = set[SSAValue]()
    for op in find_ops(kernel, te.ComputeOp):
        annotations = {} if op.annotations is None else op.annotations.data
        is_derived = any(read.tensor in derived for read in find_ops(op.body, te.ReadOp))
        if is_derived and all(dtype_of(tensor_type_of(tensor).element_type).bits == 8 for tensor in op.tensors):
            op.annotations = DictionaryAttr({**annotations, INLINE_RULE: StringAttr("disable")})
        elif is_derived or annotations.get(SCHEDULE_RULE) == StringAttr("conv_pack_int8"):
            derived.update(op.tensors)
