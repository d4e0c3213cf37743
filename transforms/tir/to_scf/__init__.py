"""The pass `convert-tir-to-scf`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects.tir import FuncOp
from .module import ModuleLowering


@dataclass(frozen=True)
class ConvertTirToScfPass(ModulePass):
    """Converts functions on buffers to the upstream dialects func, scf, memref, arith, math and vector.

    One walk over the program builds the functions anew.

    Before
        tir.func @main("A" %A: memref<8xui8>, "n" %n: i32) {
          tir.for serial "i" %i : i32 in [0 +: %n] {
            %x = tir.load %A[%i] : memref<8xui8>
            tir.store %x, %A[%i] : memref<8xui8>
          }
        }

    After
        func.func @main(%A: memref<8xi8>, %n: i32) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %end = arith.index_cast %n : i32 to index
          scf.for %i = %c0 to %end step %c1 {
            %x = memref.load %A[%i] : memref<8xi8>
            memref.store %x, %A[%i] : memref<8xi8>
          }
          func.return
        }

    Must hold before: no tir.block, tir.init, tir.access or tir.match_region (`tir-resolve-blocks`,
    `tir-lower-match-buffers`). Allocations state the kind of their memory (`tir-plan-allocations`); the default is the
    heap.

    Gone after: every operation, type and attribute of `tir`, unsigned integer types. The output consists of func, scf,
    cf, memref, arith, math, vector, and conversions of `llvm` between integers and pointers. The attributes
    `stepwell.name` and `stepwell.dtype` of parameters state their names and data types.

    launches: whether to lower for a GPU: launches of blocks and threads (`tir-launch-threads`) become gpu.launch, and
    the memory space of their allocations is the scope of the buffer.

    Raises `UnsupportedError` for programs that the target cannot run (threads, unknown builtins, a return inside a
    loop).
    """

    name = "convert-tir-to-scf"

    launches: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = ModuleLowering(op, launches=self.launches)
        block = op.body.block
        for function in [f for f in block.ops if isinstance(f, FuncOp)]:
            new = lowering.function(function)
            block.insert_op_before(new, function)
            block.erase_op(function)
        first = block.first_op
        for declaration in lowering.declarations:
            if first is None:
                block.add_op(declaration)
            else:
                block.insert_op_before(declaration, first)
