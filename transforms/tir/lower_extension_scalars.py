"""The pass `tir-lower-extension-scalars`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...analysis.scopes import ancestors
from ...dialects.extensions import ScalarOperation, scalar_operation
from ...dialects.tir import LaunchThreadOp
from .extension_lowering import build_lowered, lower_operations, lowering_error


class TirLowerExtensionScalarsPass(ModulePass):
    """Lowers operations on numbers of [other packages](extending.md), for the processor, or for the GPU in a launch.

    Each operation becomes the operations that the lowering of its package builds.

    Before
        %c = sat.add %a, %b : vector<8xi8>

    After
        %c = llvm.call_intrinsic "llvm.sadd.sat"(%a, %b) : (vector<8xi8>, vector<8xi8>) -> vector<8xi8>

    Must hold before: vectorized loops are vectors (`tir-vectorize-loops`): the ops of a lowering may take no vectors.

    Gone after: operations on numbers of other packages.

    Raises PluginError for an operation whose package has no lowering for the target, and for a faulty lowering.
    """

    name = "tir-lower-extension-scalars"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_operations(op, scalar_operation, _lower)


def _lower(op: Operation, definition: ScalarOperation) -> None:
    on_device = any(isinstance(each, LaunchThreadOp) for each in ancestors(op))
    lowering = (definition.cuda if on_device else definition.llvm) or definition.lower
    if lowering is None:
        raise lowering_error(op, f"no lowering for {'CUDA' if on_device else 'LLVM'}")
    value, (result,) = build_lowered(op, lowering), op.results
    if value.type != result.type:
        raise lowering_error(op, f"the lowering returned a value of {value.type}, expected {result.type}")
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()
