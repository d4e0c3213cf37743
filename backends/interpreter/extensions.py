"""Implementations of operations of other packages."""

from __future__ import annotations

from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Operation

from ...dialects.extensions import ScalarOperation, definition_of
from ..oracle.extensions import number_function, statement_function
from .values import by_lane


class _ExtensionFunctions(InterpreterFunctions):
    """The base of the implementations, which run the meanings of operations."""

    def compute(self, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        """Runs an operation, on numbers lane by lane."""
        definition = definition_of(op)
        assert definition is not None
        if isinstance(definition, ScalarOperation):
            return (by_lane(op, number_function(definition, op), args),)
        statement_function(definition, op)(*args)
        return ()


def extension_functions(root: Operation) -> InterpreterFunctions:
    """The implementations of the operations of other packages in a program. PluginError for a broken package."""
    ops = {type(op): op for op in root.walk()}
    kinds = [kind for kind, op in ops.items() if definition_of(op) is not None]
    implementations: dict[str, Any] = {
        f"run_{n}": impl(kind)(_ExtensionFunctions.compute) for n, kind in enumerate(kinds)
    }
    return register_impls(type("ExtensionFunctions", (_ExtensionFunctions,), implementations))()
