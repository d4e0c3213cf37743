"""The pass `relay-partition`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ...core.remarks import PassRemarks
from .graphs import graph_blocks, graphs_of
from .libraries import Library, Match, find_matches, find_refusals, library_of
from .outline import Outliner, erase_unused_scalars, operator_names

_remarks = PassRemarks("relay-partition")


@dataclass(frozen=True)
class RelayPartitionPass(ModulePass):
    """Outlines the operators that libraries compute into functions, and calls these functions.

    The attribute `compiler` of a function names its library. Operators that match several patterns go to the longest
    pattern, then to the first library and its first pattern. An operator whose result has other readers stays outside,
    and functions with equal bodies are merged. Such a call is no operator: nothing is fused with it.

    libraries: the names of the libraries, in the order of preference.

    Before
        relay.func @main("x" %x: tensor<1x8xf32>, "w" %w: tensor<4x8xf32>) {
          %0 = relay.nn.dense(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
          relay.return %0 : tensor<1x4xf32>
        }

    After
        relay.func compiler "cblas" @cblas_nn_dense("p0" %p0: tensor<1x8xf32>, "p1" %p1: tensor<4x8xf32>) {
          %0 = relay.nn.dense(%p0, %p1) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
          relay.return %0 : tensor<1x4xf32>
        }
        relay.func @main("x" %x: tensor<1x8xf32>, "w" %w: tensor<4x8xf32>) {
          %0 = relay.call @cblas_nn_dense(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
          relay.return %0 : tensor<1x4xf32>
        }

    Must hold before: nothing. Operators in primitive functions stay there.

    Gone after: operators that one of the libraries computes, outside of functions for libraries.
    """

    name = "relay-partition"

    libraries: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        partition(op, [library_of(name) for name in self.libraries])


def partition(module: ModuleOp, libraries: Sequence[Library]) -> None:
    """Outlines the operators that the libraries compute into functions; earlier libraries take precedence."""
    if not libraries:
        _remarks.missed(module, lambda: "no operator leaves its graph: no library is given")
    outliner = Outliner(module)
    for func in graphs_of(module):
        for block in graph_blocks(func):
            matches = find_matches(block, libraries)
            if _remarks.are_collected:
                _report(block, libraries, matches)
            for match in matches:
                name = f"{match.library.name}_{operator_names(match.ops)}"
                outliner.outline(match.ops, func, name, compiler=match.library.name)
        erase_unused_scalars(func)


def _report(block: Block, libraries: Sequence[Library], matches: Sequence[Match]) -> None:
    """Reports the operators that become calls of libraries, and those that a library declines."""
    for match in matches:
        names = ", ".join(op.operator.name for op in match.ops)
        _remarks.applied(match.ops[-1], lambda: f"library {match.library.name} computes {names}")
    for refusal in find_refusals(block, libraries, matches):
        name = refusal.op.operator.name
        _remarks.missed(refusal.op, lambda: f"{name} is not for library {refusal.library.name}: {refusal.reason}")
