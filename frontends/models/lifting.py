"""Functions of blocks that use values of the function around them: the bodies of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Region, SSAValue

from ...core.identifiers import fresh_name
from ...operators import relax
from ...operators.relax.types import names_bound_by, names_in, prim
from ...operators.relay import ConstantOp, FuncOp, ReturnOp
from .building import Builder


def lift_block(builder: Builder, name: str, block: Block, results: Sequence[SSAValue]) -> list[SSAValue]:
    """Makes a block a function of its own, which returns `results`. Returns the function as a value, then the values of
    the function around it that it uses, which are its last arguments: tensors, objects, and sizes as numbers. Constants
    are copied into it."""
    block.add_op(ReturnOp(results))
    captured = list(dict.fromkeys(_captured(block)))
    values: list[SSAValue] = []
    for value in reversed([each for each in captured if isinstance(each.owner, ConstantOp)]):
        assert isinstance(value.owner, ConstantOp)
        copy = value.owner.clone()
        assert block.first_op is not None
        block.insert_op_before(copy, block.first_op)
        _replace_inside(block, value, copy.result)
    for value in captured:
        if not isinstance(value.owner, ConstantOp):
            values.append(value)
            _replace_inside(block, value, block.insert_arg(value.type, len(block.args)))
    for size in _free_sizes(block):
        values.append(builder.relay.insert(relax.PrimValueOp(prim(size))).output)
        block.insert_arg(prim(size), len(block.args))
    own = fresh_name(name, {each.sym_name.data for each in builder.functions})
    params = [(f"p{n}", value.type) for n, value in enumerate(block.args)]
    builder.functions.append(FuncOp(own, params, body=Region(block)))
    return [builder.relay.insert(relax.FuncRefOp(own)).output, *values]


def _captured(block: Block) -> Iterator[SSAValue]:
    """The operands of operations in a block, and in their regions, that are defined outside of it."""
    inside: set[SSAValue] = set(block.args)
    for op in block.walk():
        inside |= {*op.results, *(arg for region in op.regions for each in region.blocks for arg in each.args)}
    for op in block.walk():
        yield from (operand for operand in op.operands if operand not in inside)


def _replace_inside(block: Block, old: SSAValue, new: SSAValue) -> None:
    old.replace_uses_with_if(new, lambda use: block.find_ancestor_op_in_block(use.operation) is not None)


def _free_sizes(block: Block) -> list[str]:
    """The names of sizes in the types of a block that neither its arguments nor its checks of types determine."""
    bound = {name for arg in block.args for name in names_bound_by(arg.type)}
    used = [name for arg in block.args for name in names_in(arg.type)]
    for op in block.walk():
        used += [name for result in op.results for name in names_in(result.type)]
        if isinstance(op, relax.MatchCastOp):
            bound |= set(names_bound_by(op.output.type))
    return [name for name in dict.fromkeys(used) if name not in bound]
