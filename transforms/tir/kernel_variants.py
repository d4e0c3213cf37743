"""One function of kernels that are equal but for one statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.variants import Variant
from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import AllocBufferOp, BlockOp, FuncOp, IfOp, TirBuilder
from ...dialects.tir.tree import with_expressions
from .kernel_calls import calling_region


def merge_variants(group: Sequence[Variant], name: str) -> bool:
    """Makes one function of kernels that are equal but for one statement: its last parameter is the number of a kernel,
    and a branch executes the statement of this kernel. The kernels call the function.

    Returns whether each kernel has a buffer to pass for each parameter of the function; else the kernels are unchanged.
    """
    first = group[0].function
    parameters = _Parameters(first)
    orders = [parameters.order(each) for each in group]
    complete = [parameters.complete(order, each.function) for order, each in zip(orders, group, strict=True)]
    if not all(complete):
        return False
    types = [[value.type for value in each.function.body.block.args] for each in group]
    body = first.detach_region(first.body)
    names = _name_arguments(body.block, parameters)
    _add_branches(group, body.block, orders)
    types_of_arguments = [value.type for value in body.block.args]
    made = FuncOp(
        name, list(zip(names, types_of_arguments, strict=True)), attrs=first.func_attrs, body=body, private=True
    )
    made.attributes |= first.attributes
    made.location = first.location
    block = first.parent
    assert block is not None
    block.insert_op_before(made, first)
    for number, (each, own, order) in enumerate(zip(group, types, complete, strict=True)):
        func = each.function
        if func.regions:
            func.detach_region(func.body).erase()
        func.add_region(calling_region(func, name, own, [number], order))
    return True


class _Parameters:
    """The parameters of a function that is made of variants: those of the first, and those that others have besides."""

    def __init__(self, first: FuncOp):
        self.names = [name for name, _ in first.params]
        self.types: list[Attribute] = [value.type for _, value in first.params]

    def order(self, variant: Variant) -> list[int | None]:
        """The number of the parameter of a variant for each parameter of the function, None without one; adds the
        parameters that are missing."""
        own = variant.function.params
        known = {n: n for n in range(len(own))} if not variant.values else self._shared(variant)
        for n, (name, value) in enumerate(own):
            if n not in known:
                known[n] = self._place(name, value.type, known.values())
        places = {place: n for n, place in known.items()}
        return [places.get(m) for m in range(len(self.types))]

    def _shared(self, variant: Variant) -> dict[int, int]:
        """The numbers of the parameters of a variant that equal statements use, each with that of the function."""
        equal = ((n, variant.values.get(value)) for n, (_, value) in enumerate(variant.function.params))
        return {n: value.index for n, value in equal if isinstance(value, BlockArgument)}

    def _place(self, name: str, type: Attribute, taken: Collection[int]) -> int:
        """The number of a parameter of the same name and type, which is added if all of them are taken."""
        same = (n for n, each in enumerate(zip(self.names, self.types, strict=True)) if each == (name, type))
        place = next((n for n in same if n not in taken), len(self.names))
        if place == len(self.names):
            self.names.append(fresh_name(name, {*self.names}))
            self.types.append(type)
        return place

    def complete(self, order: Sequence[int | None], func: FuncOp) -> list[int]:
        """An order with a parameter of the same type of elements for each missing one, which the function does not use
        for this variant; empty without such a parameter."""
        result: list[int] = []
        for type, n in zip(self.types, [*order, *[None] * (len(self.types) - len(order))], strict=True):
            found = n if n is not None else _like(type, func)
            if found is None:
                return []
            result.append(found)
        return result


def _like(type: Attribute, func: FuncOp) -> int | None:
    """The number of a parameter of a function with the elements and the memory of a type of buffers."""
    assert isinstance(type, MemRefType)
    for n, (_, value) in enumerate(func.params):
        own = value.type
        if isinstance(own, MemRefType) and (own.element_type, own.memory_space) == (
            type.element_type,
            type.memory_space,
        ):
            return n
    return None


def _name_arguments(block: Block, parameters: _Parameters) -> list[str]:
    """Adds the arguments that the first variant lacks, and the number of the kernel. Returns all names."""
    names, known = [*parameters.names, fresh_name("variant", {*parameters.names})], len(block.args)
    for name, type in zip(names[known:], [*parameters.types[known:], i32], strict=True):
        set_name_hint(block.insert_arg(type, len(block.args)), name)
    return names


def _add_branches(group: Sequence[Variant], body: Block, orders: Sequence[Sequence[int | None]]) -> None:
    """Replaces the statement of the first variant by branches to the statements of all."""
    statement = group[0].statement
    ours = with_expressions(statement)
    block, following = statement.parent, statement.next_op
    assert block is not None
    names = {op.block_name.data for op in find_ops(body, BlockOp)}
    alternatives = [_copy(each, body, order, names) for each, order in zip(group[1:], orders[1:], strict=True)]
    for op in ours:
        op.detach()
    *earlier, rest = [Block(ours), *alternatives]
    for number, alternative in reversed(list(enumerate(earlier))):
        branch = Block()
        builder = TirBuilder(InsertPoint.at_end(branch), statement.location)
        condition = builder.binary("eq", body.args[-1], builder.const(number, "int32"))
        builder.insert(IfOp(condition, Region(alternative), Region(rest)))
        rest = branch
    for op in list(rest.ops):
        op.detach()
        if following is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, following)


def _copy(variant: Variant, body: Block, order: Sequence[int | None], names: set[str]) -> Block:
    """A copy of the statement of a variant, with the values of the function. names: of the blocks of the function."""
    values: dict[SSAValue, SSAValue] = dict(variant.values)
    for place, n in enumerate(order):
        if n is not None:
            values[variant.function.params[n][1]] = body.args[place]
    ops = with_expressions(variant.statement)
    inside = [inner for op in ops for inner in op.walk()]
    for buffer in dict.fromkeys(value for op in inside for value in op.operands if value not in values):
        if isinstance(buffer.owner, AllocBufferOp) and buffer.owner not in inside:
            allocation = buffer.owner.clone(value_mapper=values)
            assert body.first_op is not None
            body.insert_op_before(allocation, body.first_op)
    copies: list[Operation] = [op.clone(value_mapper=values) for op in ops]
    for block in (inner for op in copies for inner in find_ops(op, BlockOp)):
        block.block_name = StringAttr(fresh_name(block.block_name.data, names))
    return Block(copies)
