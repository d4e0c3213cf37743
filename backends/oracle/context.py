"""The compilation context of the functions of a module, and errors with source locations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from ...core.dtypes import DType, numpy_dtype
from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ...dialects.tir import CallOp, FuncOp
from .aliases import concurrent_loops_around, has_one_element_size


@dataclass(frozen=True)
class OracleContext:
    """The functions of a module, with interprocedural facts.

    functions, names: the functions by symbol name, and their names in Python.  check: detect excluded behaviour.
    called: the functions with callers.  concurrent: the functions called inside of concurrent loops.  uninitialized:
    names of buffer parameters whose elements are uninitialized at first.  unit: bytes per entry of a memory's record,
    None for the size of its elements.
    """

    functions: Mapping[str, FuncOp]
    names: Mapping[str, str]
    check: bool
    uninitialized: frozenset[str]
    called: frozenset[str]
    concurrent: frozenset[str]
    unit: int | None

    @classmethod
    def of(cls, functions: Mapping[str, FuncOp], check: bool, uninitialized: frozenset[str]) -> OracleContext:
        """The context of the given functions."""
        calls = [(f, op) for f in functions.values() for op in find_ops(f, CallOp)]
        concurrent: set[str] = set()
        while True:
            more = {
                op.callee.string_value()
                for f, op in calls
                if f.sym_name.data in concurrent or concurrent_loops_around(op)
            }
            if more <= concurrent:
                break
            concurrent |= more
        return cls(
            functions,
            _python_names(functions),
            check,
            uninitialized,
            frozenset(op.callee.string_value() for _, op in calls),
            frozenset(concurrent),
            None if has_one_element_size(functions.values()) else 1,
        )

    def unit_of(self, dtype: DType) -> int:
        """Bytes per entry of the record of a memory allocated with elements of a type."""
        return self.unit or numpy_dtype(dtype).itemsize


def _python_names(functions: Mapping[str, FuncOp]) -> dict[str, str]:
    """A unique Python name for each function."""
    names: dict[str, str] = {}
    for name in functions:
        python = "".join(c if c.isascii() and c.isalnum() else "_" for c in f"tir_{name}")
        while python in names.values():
            python += "_"
        names[name] = python
    return names


def location_of(op: Operation | None) -> str:
    """`file.py:3:24: error: ` for an op with a source location, else an empty string."""
    match op.location if op is not None else None:
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}: error: "
        case _:
            return ""


def unsupported(op: Operation, what: str) -> UnsupportedError:
    """The error for an op that the oracle does not support."""
    return UnsupportedError(f"{location_of(op)}{op.name}: {what}")
