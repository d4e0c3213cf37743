"""The pass `relay-eliminate-dead-code`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import dce

from ...core.walking import find_ops
from ...operators.relay import CallOp, FuncOp
from .graphs import drop_unused_arrays, erase


class RelayEliminateDeadCodePass(ModulePass):
    """Erases operations without uses, then primitive functions without calls, and arrays without references.

    The first part is xDSL's `dce`, since all ops of `relay` are pure; `dce` knows neither functions nor arrays.

    Before
        relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
          %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %x : tensor<8xf32>
        }

    After
        relay.func @main("x" %x: tensor<8xf32>) {
          relay.return %x : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: primitive functions without calls.
    """

    name = "relay-eliminate-dead-code"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with drop_unused_arrays(op):
            dce(op)
            called = {call.callee.string_value() for call in find_ops(op, CallOp)}
            for func in list(op.body.block.ops):
                if isinstance(func, FuncOp) and func.primitive is not None and func.sym_name.data not in called:
                    erase(func)
