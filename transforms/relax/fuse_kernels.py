"""The pass `relax-fuse-kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ...analysis.names import symbols_of
from ...core.identifiers import fresh_name
from ...core.remarks import PassRemarks
from ...dialects import tir
from ...operators import Pattern
from ...operators.relax import CallTirOp
from ..relay.fuse_operators import fusion_groups
from ..relay.graphs import erase
from .functions import insert_before, relax_functions, replace_call
from .kernel_patterns import pattern_of_kernel
from .merged_kernels import can_merge, merge_kernels

_remarks = PassRemarks("relax-fuse-kernels")

_LONGEST = 64
"""The maximum length of the name of a kernel, without the suffix that makes it unique."""


@dataclass(frozen=True)
class RelaxFuseKernelsPass(ModulePass):
    """Fuses calls of kernels: replaces each group of calls that is to be one kernel by a call of a function that
    executes the bodies of the kernels in turn, with the results between them as buffers of its own.

    The groups are those of `relay-fuse-operators`, by the patterns of the kernels, which their blocks show. Kernels
    without other calls are erased. A kernel whose buffers have strides, or sizes that are no names, stays by itself.

    Before
        tir.func private @exp("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) { ... }
        tir.func private @relu("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) { ... }
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relax.call_tir @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relax.call_tir @relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %1 : tensor<8xf32>
        }

    After
        tir.func private @fused_exp_relu("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) { ... }
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relax.call_tir @fused_exp_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "relax-fuse-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fusion = _Fusion(op)
        for func in relax_functions(op):
            for block in [block for each in func.walk() for region in each.regions for block in region.blocks]:
                for group in _groups(block):
                    fusion.fuse(group)
        fusion.erase_uncalled()


def _groups(block: Block) -> list[list[CallTirOp]]:
    """The groups of two and more calls of a block that are to be one kernel each."""
    patterns: dict[Operation, Pattern] = {
        op: pattern_of_kernel(func)
        for op in block.ops
        if isinstance(op, CallTirOp) and isinstance(func := _kernel(op), tir.FuncOp) and _is_plain(op, func)
    }
    groups = [[op for op in group if isinstance(op, CallTirOp)] for group in fusion_groups(patterns)]
    return [group for group in groups if len(group) > 1]


def _kernel(call: CallTirOp) -> Operation | None:
    return SymbolTable.lookup_symbol(call, call.callee)


def _is_plain(call: CallTirOp, func: tir.FuncOp) -> bool:
    types = [*(arg.type for arg in call.args), call.output.type]
    return not call.size_texts and all(isinstance(type, TensorType) for type in types) and can_merge(func, types)


class _Fusion:
    """The fused kernels, by their text, so that equal kernels are one."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.names = symbols_of(module)
        self.known: dict[str, str] = {}
        self.replaced = dict[tir.FuncOp, None]()

    def fuse(self, group: Sequence[CallTirOp]) -> None:
        """Replaces a group of calls by one call, at the place of the last."""
        last = group[-1]
        members = set[SSAValue](call.output for call in group)
        inputs = list(dict.fromkeys(arg for call in group for arg in call.args if arg not in members))
        kernels = [func for call in group if isinstance(func := _kernel(call), tir.FuncOp)]
        merged = merge_kernels(list(zip(group, kernels, strict=True)), inputs)
        if isinstance(merged, str):
            _remarks.missed(last, lambda: merged)
            return
        text = str(merged)
        if text not in self.known:
            names = "_".join(func.sym_name.data for func in kernels)
            self.known[text] = fresh_name(f"fused_{names}"[:_LONGEST].rstrip("_"), self.names)
            merged.sym_name = StringAttr(self.known[text])
            merged.location = kernels[-1].location
            insert_before(kernels[-1], merged)
        _remarks.applied(last, lambda: f"{self.known[text]} computes {len(group)} results")
        replace_call(last, CallTirOp(self.known[text], inputs, last.output.type))
        for each in reversed(group[:-1]):
            erase(each)
        self.replaced |= dict.fromkeys(kernels)

    def erase_uncalled(self) -> None:
        """Erases the kernels that were fused, unless something else refers to them."""
        named = {each.string_value() for op in self.module.walk() for each in _symbols(op)}
        for func in self.replaced:
            if func.sym_name.data not in named:
                func.detach()
                func.erase()


def _symbols(op: Operation) -> list[SymbolRefAttr]:
    """The symbols that an op refers to."""
    return [value for value in (*op.properties.values(), *op.attributes.values()) if isinstance(value, SymbolRefAttr)]
