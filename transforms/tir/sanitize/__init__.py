"""The pass `tir-sanitize`: checks of undefined behaviour at run time.

`walk` visits the statements of a function, `arithmetic` and `accesses` emit the checks of an operation, `memories`
computes the position of a pointer in its memory, `shadows` records the elements that were written.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....analysis.names import loop_name
from ....analysis.threads.axes import BoundLoop, is_block_loop, is_thread_loop, thread_axis_of
from ....core.remarks import PassRemarks
from ....dialects.tir import FuncOp
from .walk import sanitize

_remarks = PassRemarks("tir-sanitize")


class TirSanitizePass(ModulePass):
    """Inserts assertions that detect undefined behaviour (docs/semantics.md) and overflow in index arithmetic.

    An assertion precedes the operation that it checks, has the kind "UndefinedBehaviorError", and reports the location,
    the buffer and the values of that operation. The checks:

    - each index of a load, store or atomic operation, against each dimension of its buffer, of the buffers that contain
      the buffer as a region, and against the memory of a declared buffer;
    - reads of elements of an allocation that were never written: a shadow buffer of bools records the writes; a call
      that receives the memory counts as a write of all of it, and parameters count as written;
    - the alignment of pointers that are declared as buffers, null pointers, and ranges of derived pointers;
    - divisors that are 0, shift amounts out of range, steps of loops that are not positive;
    - overflow of signed sums, products, differences and quotients that an index, an extent or a loop bound is
      computed from;
    - axes of blocks outside of their domains, and `T.assume` of a false condition, which the assertion replaces.

    Conditions that the ranges of values prove are not checked. The checks of lazily evaluated operands are in branches
    on the same conditions. Functions with loops bound to the blocks or threads of a GPU stay as they are.

    Before
        tir.func @main("A" %A: memref<8xf32>, "n" %n: i32) {
          %x = tir.load %A[%n] : memref<8xf32>
          ...
        }

    After
        tir.func @main("A" %A: memref<8xf32>, "n" %n: i32) {
          %c = ...
          tir.assert %c, "main: tir.load: A[{}] is out of bounds: index {} of dimension 0, expected 0 <= index < 8"
              kind "UndefinedBehaviorError" values %n, %n : i32, i32
          %x = tir.load %A[%n] : memref<8xf32>
          ...
        }

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-sanitize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp):
                _sanitize(func)
            else:
                _remarks.missed(func, lambda: f"{func.name} is not checked, expected tir.func")


def _sanitize(func: FuncOp) -> None:
    """Inserts the checks of a function, unless a GPU runs it."""
    name, bound = func.sym_name.data, _loop_of_gpu(func)
    if bound is not None:
        axis = thread_axis_of(bound)
        _remarks.missed(bound, lambda: f"function {name} has no checks: loop {loop_name(bound)} is bound to {axis}")
        return
    count = sanitize(func)
    _remarks.applied(func, lambda: f"function {name} has {count} checks")


def _loop_of_gpu(func: FuncOp) -> BoundLoop | None:
    """The first loop of a function that is bound to the blocks or threads of a GPU."""
    return next((op for op in func.walk() if is_block_loop(op) or is_thread_loop(op)), None)
