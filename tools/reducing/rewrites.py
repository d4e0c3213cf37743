"""Rewrites that make a program smaller, whether or not it keeps its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat as FloatType
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IndexType, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from ...dialects.tir import BlockOp, ForOp, FuncOp, IfOp, TirBuilder
from ...frontends.mlir import parse_mlir
from ...module import Module

Rewrite: TypeAlias = Callable[[Module], bool]
"""A change of a copy of a program in place; False if it does not apply."""

_NUMBER = re.compile(r"(?<![\w.%\"-])\d+(?![\w.\"])")
_NAMED = ("tir.func", "te.func", "relay.func", "func.func")


def operations(module: Module) -> list[Operation]:
    """The operations of a program that may be deleted, in order; equal numbers in a copy are equal operations."""
    return [op for op in module.op.walk() if op is not module.op]


def delete(module: Module, numbers: Sequence[int]) -> bool:
    """Deletes the operations with some numbers, as far as their results can be replaced: by an operand of the same
    type, or by a constant."""
    ops, changed = operations(module), False
    for n in sorted(numbers, reverse=True):
        op = ops[n]
        if op.parent is None or op.has_trait(IsTerminator) or not _is_inside(op, module.op):
            continue
        if any(result.uses for result in op.results) and not _replace_results(op):
            continue
        op.detach()
        op.erase(safe_erase=False)
        changed = True
    return changed


def _is_inside(op: Operation, root: ModuleOp) -> bool:
    return op.get_toplevel_object() is root


def _replace_results(op: Operation) -> bool:
    """Replaces the used results of an operation; False if there is no value of their types."""
    for result in op.results:
        if not result.uses:
            continue
        value = next((each for each in op.operands if each.type == result.type), None) or _constant(op, result.type)
        if value is None:
            return False
        result.replace_all_uses_with(value)
    return True


def _constant(before: Operation, type: Attribute) -> SSAValue | None:
    """A constant 1 of a scalar type; None for another type."""
    if isinstance(type, IntegerType | IndexType):
        attribute: Attribute = IntegerAttr(1, type)
    elif isinstance(type, FloatType):
        attribute = FloatAttr(1.0, type)
    else:
        return None
    if not isinstance(before, arith.ConstantOp) and before.name.startswith(("tir.", "arith.", "math.")):
        try:
            return TirBuilder(InsertPoint.before(before)).const(attribute)
        except ValueError:
            return None
    constant = arith.ConstantOp(attribute)
    Rewriter.insert_op(constant, InsertPoint.before(before))
    return constant.result


def unwraps(module: Module) -> Iterator[Rewrite]:
    """A rewrite for each loop, block and branch: its body in its place, for the first iteration."""
    for n, op in enumerate(operations(module)):
        if isinstance(op, ForOp | BlockOp | IfOp | scf.ForOp | scf.IfOp):
            yield lambda copy, n=n: _unwrap(operations(copy)[n])


def _unwrap(op: Operation) -> bool:
    body = op.regions[0].block
    builder = TirBuilder(InsertPoint.before(op))
    match op:
        case ForOp():
            low = op.mixed_bounds[0]
            values = [builder.const(low, op.variable.type) if isinstance(low, int) else low]
        case BlockOp():
            values = [axis.binding for axis in op.axes]
        case scf.ForOp() if not op.results:
            values = [op.lb]
        case _ if not op.results and not body.args:
            values = []
        case _:
            return False
    _inline(op, body, values)
    return True


def _inline(op: Operation, body: Block, values: Sequence[SSAValue]) -> None:
    for argument, value in zip(body.args, values, strict=True):
        argument.replace_all_uses_with(value)
    for inner in list(body.ops):
        inner.detach()
        if inner.has_trait(IsTerminator) and not inner.results:
            inner.erase(safe_erase=False)
        elif op.parent is not None:
            op.parent.insert_ops_before([inner], op)
    op.detach()
    op.erase(safe_erase=False)


def operand_replacements(module: Module) -> Iterator[Rewrite]:
    """A rewrite for each operand of an expression but the first, in place of the expression."""
    for n, op in enumerate(operations(module)):
        for index, operand in enumerate(op.operands):
            if index and len(op.results) == 1 and operand.type == op.results[0].type:
                yield lambda copy, n=n, index=index: _replace_by_operand(operations(copy)[n], index)


def _replace_by_operand(op: Operation, index: int) -> bool:
    op.results[0].replace_all_uses_with(op.operands[index])
    op.detach()
    op.erase()
    return True


def attribute_removals(module: Module) -> Iterator[Rewrite]:
    """A rewrite for each attribute and each optional operand of an operation: without it."""
    for n, op in enumerate(operations(module)):
        for name in (*op.attributes, *(name for name in op.properties if name in ("annotations", "attrs"))):
            yield lambda copy, n=n, name=name: _remove_attribute(operations(copy)[n], name)


def _remove_attribute(op: Operation, name: str) -> bool:
    return op.attributes.pop(name, None) is not None or op.properties.pop(name, None) is not None


def parameter_removals(module: Module) -> Iterator[Rewrite]:
    """A rewrite for each unused parameter of a function on loops: without it."""
    for n, op in enumerate(operations(module)):
        if isinstance(op, FuncOp):
            for index in reversed(range(len(op.body.block.args))):
                yield lambda copy, n=n, index=index: _remove_parameter(operations(copy)[n], index)


def _remove_parameter(op: Operation, index: int) -> bool:
    assert isinstance(op, FuncOp)
    argument = op.body.block.args[index]
    if argument.uses:
        return False
    op.body.block.erase_arg(argument)
    names = list(op.param_names.data)
    del names[index]
    op.properties["param_names"] = ArrayAttr[StringAttr](names)
    return True


def smaller_numbers(module: Module) -> Iterator[tuple[int, int]]:
    """The numbers of a program from 3 on, the largest first, each with smaller ones to try in its place."""
    numbers = sorted({int(match) for match in _NUMBER.findall(str(module))}, reverse=True)
    for number in numbers:
        yield from ((number, other) for other in dict.fromkeys((1, 2, number // 2)) if other < number and number > 2)


def replace_number(module: Module, number: int, other: int) -> Module:
    """The program with a number replaced in all places. Raises the errors of the parser."""
    text = str(module)
    shapes = re.sub(rf"(?<=[<x\[ ]){number}(?=[x>\],])", str(other), text)
    replaced = _NUMBER.sub(lambda match: str(other) if int(match[0]) == number else match[0], shapes)
    return Module(parse_mlir(replaced).op, module.constants)
