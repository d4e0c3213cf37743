"""What passes on `relay` ask of graphs, and how they change them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...module import constants_of
from ...operators.relay import ConstantOp, FuncOp, OperatorOp


def graphs(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions that are no kernels yet."""
    for func in list(module.body.block.ops):
        if isinstance(func, FuncOp) and func.primitive is None and func.compiler is None:
            yield func


def blocks(func: FuncOp) -> list[Block]:
    """The blocks of a graph: its body, and its branches."""
    return [block for op in func.walk() for region in op.regions for block in region.blocks]


def operator_at(value: SSAValue, *names: str) -> OperatorOp | None:
    """The operator that computes a tensor, if it is one of some names."""
    owner = value.owner
    return owner if isinstance(owner, OperatorOp) and owner.operator.name in names else None


def number_of(value: SSAValue) -> bool | int | float | None:
    """What each element of a constant is; None for arrays, and what is no constant."""
    return value.owner.number if isinstance(value.owner, ConstantOp) else None


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Let some tensors take the place of those that an op computes."""
    for output, value in zip(op.results, values, strict=True):
        if value.name_hint is None and not isinstance(value.owner, ConstantOp):
            value.name_hint = output.name_hint
        output.replace_all_uses_with(value)
    erase(op)


def erase(op: Operation) -> None:
    """Take an op away that nothing uses."""
    op.detach()
    op.erase()


@contextmanager
def dropping_unused_arrays(module: ModuleOp) -> Generator[None]:
    """A change of a module, after which those arrays leave that are not referred to: of those that were before, and
    those that the change has made."""
    constants = constants_of(module)
    others = set(constants) - _names(module)
    yield
    for name in set(constants) - others - _names(module):
        del constants[name]


def _names(module: ModuleOp) -> set[str]:
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    return {op.array_name.data for op in constants if op.array_name is not None}
