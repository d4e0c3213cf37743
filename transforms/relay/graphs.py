"""Queries and rewrites of graphs for passes on `relay`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ...module import constants_of
from ...operators import Pattern, relax
from ...operators.relay import ConstantOp, FuncOp, OperatorOp, shape_of

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten")
"""The operators that keep the elements of their operand in row-major order."""
_OF_AXES = {"axis", "lhs_axis", "rhs_axis", "shape", "num_newaxis"}
"""The attributes by which operators on elements depend on the layout."""


def graphs_of(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that are graphs: neither kernels nor functions of an external compiler."""
    for func in list(module.body.block.ops):
        if isinstance(func, FuncOp) and func.primitive is None and func.compiler is None:
            yield func


def functions_of_operators(module: ModuleOp) -> Iterator[FuncOp | relax.FuncOp]:
    """The functions of a module that may contain operators outside of kernels: graphs, and functions of `relax`."""
    yield from graphs_of(module)
    for func in list(module.body.block.ops):
        if isinstance(func, relax.FuncOp):
            yield func


def check_no_operators(module: ModuleOp) -> None:
    """Raises UnsupportedError, naming all of them, for operators outside of primitive functions."""
    outside: dict[str, OperatorOp] = {}
    for func in graphs_of(module):
        for op in find_ops(func, OperatorOp):
            outside.setdefault(op.name, op)
    if outside:
        first = next(iter(outside.values()))
        raise UnsupportedError(
            f"{where(first)}{', '.join(outside)} outside of primitive functions: relay-fuse-operators"
        )


def graph_blocks(func: FuncOp) -> list[Block]:
    """The blocks of a graph: its body, and its branches."""
    return [block for op in func.walk() for region in op.regions for block in region.blocks]


def operator_at(value: SSAValue, *names: str) -> OperatorOp | None:
    """The operator that computes a tensor, provided that `names` contains its name; else None."""
    owner = value.owner
    return owner if isinstance(owner, OperatorOp) and owner.operator.name in names else None


def is_of_elements(op: OperatorOp) -> bool:
    """Whether an operator computes each element of its one result from an element of each operand, in any layout."""
    is_of_axes = any(attribute.name in _OF_AXES for attribute in op.operator.attributes)
    patterns = (Pattern.ELEMWISE, Pattern.BROADCAST)
    return op.operator.pattern in patterns and not is_of_axes and bool(op.args) and len(op.outputs) == 1


def adds_to_channels(op: OperatorOp) -> bool:
    """Whether an operator is a `nn.bias_add` along the channels of images, their second dimension."""
    return op.operator.name == "nn.bias_add" and op.attribute_value("axis") in (1, 1 - len(shape_of(op.args[0])))


def splat_number(value: SSAValue) -> bool | int | float | None:
    """The number that all elements of a constant are equal to; None for arrays and for values that are no constants."""
    return value.owner.number if isinstance(value.owner, ConstantOp) else None


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces the results of an op by `values`, which take over its name hints, and erases the op."""
    for output, value in zip(op.results, values, strict=True):
        if value.name_hint is None and not isinstance(value.owner, ConstantOp):
            value.name_hint = output.name_hint
        output.replace_all_uses_with(value)
    erase(op)


def erase(op: Operation) -> None:
    """Erases an op without uses."""
    op.detach()
    op.erase()


def erase_unused(value: SSAValue) -> None:
    """Erases operators without uses: the operator that computes `value`, then recursively those of its operands. An
    operator that has been erased before, as one that computes two operands, is left alone."""
    op = value.owner
    if isinstance(op, OperatorOp) and op.parent is not None and not any(output.uses for output in op.outputs):
        args = list(op.args)
        erase(op)
        for arg in args:
            erase_unused(arg)


@contextmanager
def drop_unused_arrays(module: ModuleOp) -> Generator[None]:
    """Drops the arrays without references after a change of the module: those referenced before the body and those
    added by it."""
    constants = constants_of(module)
    others = set(constants) - _array_names(module)
    yield
    for name in set(constants) - others - _array_names(module):
        del constants[name]


def _array_names(module: ModuleOp) -> set[str]:
    constants = list(find_ops(module, ConstantOp))
    return {op.array_name.data for op in constants if op.array_name is not None}
