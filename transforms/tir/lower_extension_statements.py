"""The pass `tir-lower-extension-statements`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.extensions import Statement, statement
from .extension_lowering import build_lowered, lower_operations


class TirLowerExtensionStatementsPass(ModulePass):
    """Lowers statements of [other packages](extending.md) to the loops and blocks that their packages build.

    Before
        poly.eval %X to %Y, [1.0 : f32, 0.5 : f32] : memref<8xf32>

    After
        tir.for serial "i0" %i : i32 in [0 +: 8] {
          tir.block "poly" (spatial "v0" %v : i32 in [0 +: 8] = %i) {
            ...
          }
        }

    Must hold before: nothing; the pass belongs before schedules and `tir-resolve-blocks`.

    Gone after: statements of other packages.

    Raises PluginError for a faulty lowering.
    """

    name = "tir-lower-extension-statements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_operations(op, statement, _lower)


def _lower(op: Operation, definition: Statement) -> None:
    build_lowered(op, definition.lower)
    op.detach()
    op.erase()
