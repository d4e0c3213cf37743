"""Verification of operations: constraints and dominance, with errors that show the operation and its place."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from .diagnostics import where
from .dominance import undominated_use
from .errors import VerifyError
from .excerpts import excerpt


def verify(root: Operation) -> None:
    """Raises `VerifyError` unless all operations inside `root` satisfy their constraints and every value is defined
    before its uses.

    The message has the place of the operation, its name, the broken constraint, and its text in custom syntax.
    """
    try:
        root.verify()
    except (VerifyException, ValueError) as error:  # ValueError: an erased value has uses, or links are broken
        raise _located(root, error) from error
    use = undominated_use(root)
    if use is not None:
        raise _violation(*use)


def _located(root: Operation, error: Exception) -> VerifyError:
    """The error of the first operation that does not verify; the message of `error` if no operation does not."""
    for op in _inner_first(root):
        try:
            op.verify(verify_nested_ops=False)
        except (VerifyException, ValueError) as broken:
            return _violation(op, f"{op.name}: {broken.__cause__ or broken}")
    return VerifyError(str(error))


def _inner_first(op: Operation) -> Iterator[Operation]:
    """The operations inside an operation and the operation itself, in the order of xDSL's verifier."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _inner_first(inner)
    yield op


def _violation(op: Operation, message: str) -> VerifyError:
    """The error of an operation: its place, a message, its text."""
    return VerifyError(f"{where(op)}{message}\n    {excerpt(op)}")
