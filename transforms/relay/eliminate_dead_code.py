"""The pass `relay-eliminate-dead-code`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import dce

from ...operators import relax
from ...operators.relay import FuncOp
from .graphs import drop_unused_arrays, erase


class RelayEliminateDeadCodePass(ModulePass):
    """Erases operations without uses, then primitive and private functions without calls, and arrays without
    references.

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

    Gone after: primitive functions, and private functions of relax, without calls.
    """

    name = "relay-eliminate-dead-code"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with drop_unused_arrays(op):
            dce(op)
            while unused := _unused_functions(op):
                for func in unused:
                    erase(func)


def _unused_functions(module: ModuleOp) -> list[FuncOp | relax.FuncOp]:
    """The functions without calls that no program outside of the module calls."""
    called = {
        name.string_value() for op in module.walk() if isinstance(name := op.properties.get("callee"), SymbolRefAttr)
    }
    return [
        func
        for func in module.body.block.ops
        if (isinstance(func, FuncOp) and func.primitive is not None)
        or (isinstance(func, relax.FuncOp) and func.private is not None)
        if func.sym_name.data not in called
    ]
