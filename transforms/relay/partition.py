"""`relay-partition`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .graphs import blocks, graphs
from .libraries import Library, find_matches, library_of
from .outline import Outliner, drop_numbers, operator_names


@dataclass(frozen=True)
class RelayPartitionPass(ModulePass):
    """Make functions of the operators that libraries compute, and call them.

    A function says in `compiler` which library it is for. What matches several patterns goes to the longest one, then
    to the first library and its first pattern. Operators whose results something else reads too stay outside, and
    functions that compute the same are one. Such a call is no operator: nothing is fused with it.

    libraries: their names, those in front first.

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

    Must hold before: nothing. What is in primitive functions already stays there.

    Gone after: operators outside of functions for libraries that one of the libraries computes.
    """

    name = "relay-partition"

    libraries: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        partition(op, [library_of(name) for name in self.libraries])


def partition(module: ModuleOp, libraries: Sequence[Library]) -> None:
    """Make functions of the operators that some libraries compute, those in front first."""
    outliner = Outliner(module)
    for func in graphs(module):
        for block in blocks(func):
            for match in find_matches(block, libraries):
                name = f"{match.library.name}_{operator_names(match.ops)}"
                outliner.outline(match.ops, func, name, compiler=match.library.name)
        drop_numbers(func)
