"""Outlining of groups of operators into functions, and calls in their place."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.names import symbols_of
from ...core.identifiers import fresh_name
from ...operators.relay import CallOp, ConstantOp, FuncOp, OperatorOp, ReturnOp

_LONGEST = 64
"""The maximum length of the name of a function, without the suffix that makes it unique."""


class Outliner:
    """The outlined functions, by their text, so that equal functions are merged."""

    def __init__(self, module: ModuleOp):
        self.known: dict[str, str] = {}
        self.names = symbols_of(module)

    def outline(
        self,
        group: Sequence[OperatorOp],
        before: Operation,
        name: str,
        *,
        primitive: bool = False,
        compiler: str | None = None,
    ) -> None:
        """Replaces a group by a call of a function, which is inserted before `before` unless an equal function exists.

        group: operators of one block, in its order; all operands are computed before the last operator.  name: the name
        of the function, with a suffix if it is in use.  primitive, compiler: as in `relay.func`.
        """
        inputs, outputs = _inputs(group), _outputs(group)
        func = _function(group, inputs, outputs, primitive, compiler)
        text = str(func)
        if text not in self.known:
            self.known[text] = fresh_name(name[:_LONGEST].rstrip("_"), self.names)
            func.properties["sym_name"] = StringAttr(self.known[text])
            block = before.parent
            assert block is not None
            block.insert_op_before(func, before)
        _replace(group, CallOp(self.known[text], inputs, [output.type for output in outputs]), outputs)


def operator_names(group: Sequence[OperatorOp]) -> str:
    """The names of the operators of a group, joined, for the name of its function."""
    return "_".join(node.operator.name.replace(".", "_") for node in group)


def erase_unused_scalars(func: Operation) -> None:
    """Erases the scalar constants of a function that have been copied into other functions."""
    for op in [op for op in func.walk() if _is_scalar(op) and not any(result.uses for result in op.results)]:
        op.detach()
        op.erase()


def _inputs(group: Sequence[OperatorOp]) -> list[SSAValue]:
    """The operands of a group, without scalar constants, which are copied."""
    members = set[Operation | Block](group)
    read = (value for node in group for value in node.operands)
    return list(dict.fromkeys(value for value in read if value.owner not in members and not _is_scalar(value.owner)))


def _outputs(group: Sequence[OperatorOp]) -> list[SSAValue]:
    """The results of a group with other users."""
    members = set[Operation](group)
    results = (result for node in group for result in node.results)
    return [result for result in results if any(use.operation not in members for use in result.uses)]


def _function(
    group: Sequence[OperatorOp],
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    primitive: bool,
    compiler: str | None,
) -> FuncOp:
    """Builds a function of a group."""
    params = [(f"p{n}", value.type) for n, value in enumerate(inputs)]
    func = FuncOp("kernel", params, primitive=primitive, compiler=compiler)
    func.location = group[-1].location
    block = func.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for node in group:
        for operand in node.operands:
            if operand not in values and _is_scalar(operand.owner):
                values[operand] = _copy_constant(operand, block)
        copy = node.clone(values)
        copy.location = node.location
        block.add_op(copy)
    block.add_op(ReturnOp([values[output] for output in outputs]))
    return func


def _replace(group: Sequence[OperatorOp], call: CallOp, outputs: Sequence[SSAValue]) -> None:
    """Inserts a call at the last operator of a group, and erases the group."""
    last = group[-1]
    call.location = last.location
    assert last.parent is not None
    last.parent.insert_op_before(call, last)
    for old, new in zip(outputs, call.outputs, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for node in reversed(group):
        node.detach()
        node.erase()


def _copy_constant(number: SSAValue, block: Block) -> SSAValue:
    assert isinstance(number.owner, ConstantOp)
    copy = number.owner.clone()
    block.add_op(copy)
    return copy.result


def _is_scalar(owner: Operation | Block) -> bool:
    return isinstance(owner, ConstantOp) and owner.value is not None
