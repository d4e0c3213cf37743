"""Helpers of the passes that lower operations of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import where
from ...core.errors import PluginError, StepwellError
from ...dialects.extensions import describe_origin
from ...dialects.tir import TirBuilder

_ROUNDS = 16
"""The number of times that a lowering may build operations that are lowered in turn."""

DefinitionT = TypeVar("DefinitionT")
ResultT = TypeVar("ResultT")


def lower_operations(
    module: ModuleOp,
    find: Callable[[Operation], DefinitionT | None],
    lower: Callable[[Operation, DefinitionT], None],
) -> None:
    """Applies `lower` to the operations that `find` has a definition of, and to those that it builds. PluginError where
    this has no end."""
    rounds = 0
    while found := [(op, known) for op in module.walk() if (known := find(op)) is not None]:
        rounds += 1
        if rounds > _ROUNDS:
            raise lowering_error(found[0][0], "the lowering builds operations of other packages without end")
        for op, definition in found:
            lower(op, definition)


def build_lowered(op: Operation, lowering: Callable[[TirBuilder, Any], ResultT]) -> ResultT:
    """The result of a lowering, which builds before `op`. PluginError for an exception in it."""
    try:
        return lowering(TirBuilder(InsertPoint.before(op), op.location), op)
    except StepwellError:
        raise
    except Exception as error:  # a function of a user may raise any exception
        raise lowering_error(op, f"the lowering failed: {type(error).__name__}: {error}") from error


def lowering_error(op: Operation, reason: str) -> PluginError:
    """The error of a lowering, with the package and the location of its operation."""
    return PluginError(f"{where(op)}{describe_origin(op)}: {reason}")
