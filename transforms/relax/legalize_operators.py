"""The pass `relax-legalize-operators`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ...core.xdsl_compat import set_name_hint
from ...operators.relax import CallTirOp, FuncOp, TupleGetOp
from ...operators.relax.spelling import spell
from ...operators.relax.types import tuple_type
from ...operators.relay import CallOp, OperatorOp
from ..relay.fuse_operators import operator_groups
from ..relay.graphs import erase
from ..relay.outline import Outliner, erase_unused_scalars
from .functions import insert_before, relax_functions


@dataclass(frozen=True)
class RelaxLegalizeOperatorsPass(ModulePass):
    """Replaces operators by calls of kernels: outlines each operator, or each group that is to be one kernel, into a
    function, which `convert-relay-to-te` and `convert-te-to-tir` lower.

    fuse: whether operators are fused as by `relay-fuse-operators`.

    Before
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    After
        relay.func primitive @exp("p0" %p0: tensor<8xf32>) {
          %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relax.call_tir @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: operators in functions of relax.
    """

    name = "relax-legalize-operators"

    fuse: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = Outliner(op)
        for func in relax_functions(op):
            for block in _blocks(func):
                _erase_unused(block)
                for group in self._groups([node for node in block.ops if isinstance(node, OperatorOp)]):
                    outliner.outline(group, func, self._name(group), primitive=True)
                for call in [each for each in block.ops if isinstance(each, CallOp)]:
                    _call_kernel(call)
            erase_unused_scalars(func)

    def _name(self, group: Sequence[OperatorOp]) -> str:
        """The name of the kernel of a group, of the names of its operators without modules: `fused_matmul_relu`."""
        names = ["matmul" if spell(node)[0] == "matmul" else node.operator.name.rpartition(".")[2] for node in group]
        return "_".join(["fused"] * self.fuse + names)

    def _groups(self, nodes: Sequence[OperatorOp]) -> list[list[OperatorOp]]:
        return operator_groups(nodes) if self.fuse else [[node] for node in nodes]


def _erase_unused(block: Block) -> None:
    """Erases operators that nothing reads: a kernel without results is none."""
    for node in reversed(list(block.ops)):
        if isinstance(node, OperatorOp) and not any(result.uses for result in node.results):
            erase(node)


def _blocks(func: FuncOp) -> list[Block]:
    return [block for op in func.walk() for region in op.regions for block in region.blocks]


def _call_kernel(call: CallOp) -> None:
    """Replaces a call of a kernel by one in destination-passing style, whose several results are a tuple."""
    types = [output.type for output in call.outputs]
    type = types[0] if len(types) == 1 else tuple_type(types)
    kernel = CallTirOp(call.callee.string_value(), list(call.args), type, call.size_texts)
    insert_before(call, kernel)
    if len(types) == 1:
        if call.outputs[0].name_hint is not None:
            set_name_hint(kernel.output, call.outputs[0].name_hint)
        call.outputs[0].replace_all_uses_with(kernel.output)
    else:
        _pass_fields(call, kernel)
    erase(call)


def _pass_fields(call: CallOp, kernel: CallTirOp) -> None:
    for n, output in enumerate(call.outputs):
        if any(output.uses):
            field = TupleGetOp(kernel.output, n)
            insert_before(call, field)
            output.replace_all_uses_with(field.output)
