"""Checks of landings: the operations and types that may remain after the passes of a landing.

A check takes an operation and returns the description of the illegal operation or type, None for a legal one. It takes
names of operations rather than classes where classes would import the operators and schedules of graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith, cf, func, gpu, llvm, math, memref, scf, vector
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp, Signedness, UnrealizedConversionCastOp, VectorType
from xdsl.ir import Attribute, Dialect, Operation

from ...core.diagnostics import where
from ...core.errors import PassError
from ...core.keeping import kept_with_argument
from ...dialects.extensions import statement
from ...dialects.tir import ForOp, HandleType
from ..upstream.legalize_small_floats import computes_on_small_floats
from ..upstream.legalize_small_integers import computes_on_small_integers

Check: TypeAlias = Callable[[Operation], str | None]
"""Describes the operation, or its type, that may not remain; None for an operation that may."""

_STRUCTURE = frozenset(f"relay.{name}" for name in ("call", "constant", "func", "if", "return", "yield"))
_BLOCKS = frozenset(f"tir.{name}" for name in ("access", "block", "init", "match_region"))


def check_module(module: ModuleOp, check: Check, landing: str) -> None:
    """Raises `PassError` for the first operation of a module that may not remain after the landing called `landing`."""
    is_by_kind = check in _BY_KIND
    kinds: set[type[Operation]] = set()
    for op in module.walk():
        if is_by_kind:
            if type(op) in kinds:
                continue
            kinds.add(type(op))
        illegal = check(op)
        if illegal is not None:
            raise PassError(f"{where(op)}{illegal} is left after the landing {landing!r}")


def every(*checks: Check) -> Check:
    """The conjunction of checks: the first description that one of them returns."""

    def first(op: Operation) -> str | None:
        for check in checks:
            illegal = check(op)
            if illegal is not None:
                return illegal
        return None

    return by_kind(first) if _BY_KIND.issuperset(checks) else first


_BY_KIND: set[Check] = set()
"""The checks that depend on the kind of an operation alone."""


def by_kind(check: Check) -> Check:
    """Registers a check that depends on the kind of an operation alone."""
    _BY_KIND.add(check)
    return check


@by_kind
def any_operation(_op: Operation) -> str | None:
    """Every operation remains legal."""
    return None


# Graphs and tensors


def only_calls(op: Operation) -> str | None:
    """Operators of graphs remain only in functions that become kernels: primitive ones, and those of a library."""
    is_operator = op.name.startswith("relay.") and op.name not in _STRUCTURE
    return op.name if is_operator and not _is_in_kernel(op) else None


def _is_in_kernel(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and parent.name != "relay.func":
        parent = parent.parent_op()
    return parent is not None and not parent.properties.keys().isdisjoint(("primitive", "compiler"))


def no_operators_in_programs(op: Operation) -> str | None:
    """No operator remains in a function of relax, which calls graphs, and no dataflow region."""
    if op.name == "relax.dataflow":
        return op.name
    is_operator = op.name.startswith("relay.") and op.name not in _STRUCTURE
    parent = op.parent_op()
    while parent is not None and parent.name != "relax.func":
        parent = parent.parent_op()
    return op.name if is_operator and parent is not None else None


@by_kind
def no_operators(op: Operation) -> str | None:
    """No operator of a graph remains: graphs call kernels, which are functions on tensors."""
    return op.name if op.name.startswith("relay.") and op.name not in _STRUCTURE else None


@by_kind
def no_tensors(op: Operation) -> str | None:
    """Neither graphs nor functions on tensors remain."""
    return op.name if op.name.startswith(("relay.", "te.")) else None


# Loops


@by_kind
def no_statements_of_packages(op: Operation) -> str | None:
    """No statement of another package remains."""
    return op.name if statement(op) is not None else None


@by_kind
def no_blocks(op: Operation) -> str | None:
    """No block, part of a block or named region of a buffer remains."""
    return op.name if op.name in _BLOCKS else None


def no_bound_loops(op: Operation) -> str | None:
    """No loop bound to an axis of a grid remains: each is a launch of blocks or threads."""
    return f"{op.name} bound to {op.thread.data}" if isinstance(op, ForOp) and op.thread is not None else None


# Upstream


def _operations(*dialects: Dialect) -> frozenset[type[Operation]]:
    return frozenset(op for dialect in dialects for op in dialect.operations)


_UPSTREAM = _operations(func.Func, scf.Scf, cf.Cf, memref.MemRef, arith.Arith, math.Math, vector.Vector) | {
    ModuleOp,
    UnrealizedConversionCastOp,
    llvm.CallIntrinsicOp,
    llvm.IntToPtrOp,
    llvm.PtrToIntOp,
    llvm.ZeroOp,
}
_DEVICE = _UPSTREAM | _operations(gpu.GPU)


def only_upstream(op: Operation) -> str | None:
    """Only operations of func, scf, cf, memref, arith, math and vector remain, on types of plain MLIR."""
    return op.name if type(op) not in _UPSTREAM else _illegal_type(op)


def only_device(op: Operation) -> str | None:
    """Only operations of upstream dialects and gpu remain, on types of plain MLIR."""
    return op.name if type(op) not in _DEVICE else _illegal_type(op)


def no_launch_regions(op: Operation) -> str | None:
    """No launch holds its kernel: each calls a function of a gpu.module."""
    return op.name if isinstance(op, gpu.LaunchOp) else None


def no_small_floats(op: Operation) -> str | None:
    """No operation computes on floats of at most 16 bits."""
    return f"{op.name} on small floats" if computes_on_small_floats(op) else None


def no_small_integers(op: Operation) -> str | None:
    """No operation computes on integers of 2 to 7 bits."""
    return f"{op.name} on small integers" if computes_on_small_integers(op) else None


def _illegal_type(op: Operation) -> str | None:
    for value in op.results:
        if not _is_upstream(value.type):
            return f"{op.name} with type {value.type}"
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                if not _is_upstream(argument.type):
                    return f"{op.name} with type {argument.type}"
    return None


@kept_with_argument
def _is_upstream(type: Attribute) -> bool:
    match type:
        case MemRefType() | VectorType():
            return _is_upstream(type.element_type)
        case IntegerType():
            return type.signedness.data is Signedness.SIGNLESS
        case _:
            return not isinstance(type, HandleType)
