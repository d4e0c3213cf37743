"""The pass `convert-relay-to-relax`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from ...operators import relax
from ...operators.relax.types import tuple_type
from ...operators.relay import CallOp, FuncOp, IfOp, ReturnOp, YieldOp
from .graphs import erase, graph_blocks, graphs_of


class ConvertRelayToRelaxPass(ModulePass):
    """Converts each graph to a function of `relax`, which a virtual machine executes.

    A graph without branches, and without sizes that a check binds, becomes one dataflow region. Several results are a
    tuple. Calls of kernels become calls in destination-passing style.

    Before
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    After
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %1 = relax.dataflow -> tensor<8xf32> {
            %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
            relax.output %0 : tensor<8xf32>
          }
          relax.return %1 : tensor<8xf32>
        }

    Must hold before: no memory is planned (`relay-plan-memory`).

    Gone after: graphs; primitive functions and those for libraries stay.
    """

    name = "convert-relay-to-relax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graphs = list(graphs_of(op))
        for func in graphs:
            for block in reversed(graph_blocks(func)):
                for each in list(block.ops):
                    if isinstance(each, CallOp):
                        _convert_call(each)
                    elif isinstance(each, IfOp):
                        _convert_branch(each)
        for func in graphs:
            _convert_function(func)


def _whole(values: Sequence[SSAValue], block: Block) -> SSAValue:
    """The value of a function or branch: one tensor, or a new tuple at the end of a block."""
    if len(values) == 1:
        return values[0]
    whole = relax.TupleOp(values)
    block.add_op(whole)
    return whole.output


def _whole_type(types: Sequence[Attribute]) -> Attribute:
    return types[0] if len(types) == 1 else tuple_type(types)


def _replace(op: Operation, value: SSAValue) -> None:
    """Replaces the results of an op by a value, or by its fields."""
    if len(op.results) == 1:
        value.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
    for n, result in enumerate(op.results):
        if any(result.uses):
            field = relax.TupleGetOp(value, n)
            field.output.name_hint = result.name_hint
            Rewriter.insert_op(field, InsertPoint.before(op))
            result.replace_all_uses_with(field.output)
    erase(op)


def _convert_call(op: CallOp) -> None:
    callee = SymbolTable.lookup_symbol(op, op.callee)
    type, name = _whole_type([output.type for output in op.outputs]), op.callee.string_value()
    is_graph = isinstance(callee, relax.FuncOp) or (
        isinstance(callee, FuncOp) and callee.primitive is None and callee.compiler is None
    )
    call = (
        relax.CallOp(name, list(op.args), type)
        if is_graph
        else relax.CallTirOp(name, list(op.args), type, op.size_texts)
    )
    call.location = op.location
    Rewriter.insert_op(call, InsertPoint.before(op))
    _replace(op, call.output)


def _convert_branch(op: IfOp) -> None:
    regions: list[Region] = []
    for region in (op.then, op.orelse):
        block = region.detach_block(0)
        last = block.last_op
        assert isinstance(last, YieldOp)
        values = list(last.values)
        erase(last)
        block.add_op(relax.YieldOp(_whole(values, block)))
        regions.append(Region(block))
    branch = relax.IfOp(op.condition, _whole_type([output.type for output in op.outputs]), *regions)
    branch.location = op.location
    Rewriter.insert_op(branch, InsertPoint.before(op))
    _replace(op, branch.output)


def _convert_function(func: FuncOp) -> None:
    body = func.detach_region(func.body)
    block, last = body.block, body.block.last_op
    assert isinstance(last, ReturnOp)
    values = list(last.values)
    erase(last)
    if not any(isinstance(op, relax.IfOp | relax.MatchCastOp) for op in block.ops):
        values = _wrap(block, values)
    result = _whole(values, block)
    block.add_op(relax.ReturnOp(result))
    params = [(name.data, value.type) for name, value in zip(func.param_names.data, block.args, strict=True)]
    converted = relax.FuncOp(func.sym_name.data, params, result.type, attrs=func.func_attrs, body=body)
    converted.location = func.location
    parent = func.parent
    assert parent is not None
    parent.insert_op_before(converted, func)
    erase(func)


def _wrap(block: Block, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Moves the operations of a block to a dataflow region. Returns the values outside of it."""
    inner, computed = Block(), list(dict.fromkeys(value for value in values if isinstance(value.owner, Operation)))
    for op in list(block.ops):
        op.detach()
        inner.add_op(op)
    if not inner.ops:
        return list(values)
    inner.add_op(relax.OutputOp(computed))
    region = relax.DataflowOp([value.type for value in computed], Region(inner))
    block.add_op(region)
    outside = dict(zip(computed, region.outputs, strict=True))
    for value, output in outside.items():
        output.name_hint = value.name_hint
    return [outside.get(value, value) for value in values]
