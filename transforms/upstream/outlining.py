"""Functions whose bodies are ops of other functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, UnitAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.walking import find_ops
from ...dialects.attributes import DISJOINT, NOALIAS
from .allocations import is_constant, root_of

_CASTS = (llvm.IntToPtrOp, llvm.PtrToIntOp, memref.ExtractAlignedPointerAsIndexOp, UnrealizedConversionCastOp)
"""Ops that turn addresses into numbers, and numbers into addresses."""


class OutlinedBody:
    """The body of a function for ops of another function.

    The values that the ops capture become parameters after those of `leading` types; constants are copied.
    bound: values that the body will define.  arguments: the captured values.  parameters: for the leading types.
    values: the value in the body for each captured value.
    """

    def __init__(self, ops: Sequence[Operation], leading: Sequence[Attribute] = (), bound: Sequence[SSAValue] = ()):
        captured = [value for value in _captured_values(ops) if value not in bound]
        self.arguments = [value for value in captured if not is_constant(value)]
        self._entry = Block(arg_types=[*leading, *(value.type for value in self.arguments)])
        self.parameters = self._entry.args[: len(leading)]
        self.values: dict[SSAValue, SSAValue] = {}
        for value, argument in zip(self.arguments, self._entry.args[len(leading) :], strict=True):
            argument.name_hint = value.name_hint
            self.values[value] = argument
        for value in captured:
            if is_constant(value):
                assert isinstance(value.owner, Operation)
                self.add(value.owner.clone(self.values))

    def add(self, op: Operation) -> None:
        """Adds an op to the end."""
        Rewriter.insert_op(op, InsertPoint.at_end(self._entry))

    def function(self, call: func.CallOp, caller: func.FuncOp) -> func.FuncOp:
        """The private function of the body, for a call in `caller`. Parameters do not overlap (`stepwell.noalias`)
        where the operands are different allocations, or parameters of a function with this attribute."""
        self.add(func.ReturnOp())
        for op in self._entry.walk():
            for n, operand in enumerate(op.operands):
                if operand in self.values:
                    op.operands[n] = self.values[operand]
        alone = [False] * len(self.parameters) + _separate_buffers(self.arguments, self._entry, caller)
        attributes = ArrayAttr([DictionaryAttr({NOALIAS: UnitAttr()} if each else {}) for each in alone])
        name, types = call.callee.string_value(), [each.type for each in self._entry.args]
        function = func.FuncOp(name, (types, []), Region(self._entry), visibility="private", arg_attrs=attributes)
        function.location = call.location
        return function


def new_function_name(name: str, names: set[str]) -> str:
    """Returns `name`, with a number if `names` contains it; adds the result to `names`."""
    number = 0
    while (result := f"{name}{number or ''}") in names:
        number += 1
    names.add(result)
    return result


def _captured_values(ops: Sequence[Operation]) -> list[SSAValue]:
    """The operands of ops and of the ops in them that other ops compute, once each."""
    inside = {inner for op in ops for inner in op.walk()}
    operands = (operand for op in ops for inner in op.walk() for operand in inner.operands)
    return [value for value in dict.fromkeys(operands) if _defining_op(value) not in inside]


def _defining_op(value: SSAValue) -> Operation | None:
    """The op of a result, or the op with the block of an argument."""
    return value.owner.parent_op() if isinstance(value.owner, Block) else value.owner


# Buffers that do not overlap


def _separate_buffers(operands: Sequence[SSAValue], body: Block, caller: func.FuncOp) -> list[bool]:
    """For each operand of a function with `body`, whether it is a buffer that shares no memory with another operand."""
    roots = [_root(value) for value in operands]
    known = [each is None or _is_separate(each) or each in caller.args for each in roots]
    if not all(known) or any(find_ops(body, *_CASTS)):
        return [False] * len(roots)
    return [
        each is not None and roots.count(each) == 1 and (_is_separate(each) or NOALIAS in caller.attributes)
        for each in roots
    ]


def _root(value: SSAValue) -> SSAValue | None:
    """The buffer that a view shows, or the disjoint part of it; None for a value without an address."""
    if isinstance(value.type, llvm.LLVMPointerType):
        return value
    if not isinstance(value.type, MemRefType):
        return None
    return root_of(value)


def _is_separate(root: SSAValue) -> bool:
    """Whether a buffer is an allocation, a constant, or a disjoint part of one."""
    op = root.owner
    return isinstance(op, memref.AllocOp | memref.AllocaOp | memref.GetGlobalOp) or (
        isinstance(op, Operation) and DISJOINT in op.attributes
    )
