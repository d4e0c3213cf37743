"""Queries and rewrites of functions of `relax` for passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.xdsl_compat import set_name_hint
from ...operators.relax import FuncOp, TupleGetOp, TupleOp
from ..relay.graphs import erase, replace


def relax_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of `relax` of a module."""
    for func in list(module.body.block.ops):
        if isinstance(func, FuncOp):
            yield func


def insert_before(op: Operation, new: Operation) -> None:
    """Inserts an op before another one, with its source location."""
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))


def replace_call(op: Operation, new: Operation) -> None:
    """Replaces an op with one result by another one, whose result has the name of the replaced result."""
    insert_before(op, new)
    (old,), (result,) = op.results, new.results
    if old.name_hint is not None:
        set_name_hint(result, old.name_hint)
    replace(op, [result])


def replace_by_fields(value: SSAValue, fields: Sequence[SSAValue], op: Operation) -> None:
    """Replaces a tuple by its fields: a field of the tuple by the value itself, other uses by a new tuple after `op`,
    the op whose results the fields are."""
    for use in list(value.uses):
        if isinstance(get := use.operation, TupleGetOp):
            field = fields[get.index.value.data]
            if field.name_hint is None and get.output.name_hint is not None:
                set_name_hint(field, get.output.name_hint)
            get.output.replace_all_uses_with(field)
            erase(get)
    if any(value.uses):
        whole = TupleOp(fields)
        whole.location = op.location
        Rewriter.insert_op(whole, InsertPoint.after(op))
        if value.name_hint is not None:
            set_name_hint(whole.output, value.name_hint)
        value.replace_all_uses_with(whole.output)
