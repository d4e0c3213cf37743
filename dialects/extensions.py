"""Additions of other packages: operations with their meaning and their lowering for each target, primitives of
schedules, operators of graphs, importers of ONNX operators.

A package declares an `Extension` under the entry point group `stepwell.extensions`, whose name there is the name of the
dialect. It is imported when a program contains an operation of the dialect, or when TVMScript spells one:
`T.sat.add(a, b)` is `sat.add`. Its modules with registrations are imported when the first schedule, graph or model
needs them (`load_registrations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any, Literal, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ..core.dtypes import dtype_of, element_type_of
from ..core.errors import PluginError
from ..core.plugins import (
    extension_entry,
    extension_names,
    forget_packages,
    load_entry,
    load_part,
    package_of,
    warn_of_package,
)
from .attributes import CUDA_EXPRESSION
from .tir import CallExternOp, ShuffleOp, TirBuilder
from .tir.tree import is_pure_expression

Number: TypeAlias = bool | int | float
Lowering: TypeAlias = Callable[[TirBuilder, Any], SSAValue]
"""Builds the value of an operation, of scalars or of vectors: takes the builder and the operation."""


@dataclass(frozen=True)
class ScalarOperation:
    """An operation on numbers, which vectors compute lane by lane.

    op: its class, with the trait `Pure`, one result and no regions; the parameters of `__init__` have the names of
    operands and properties.  meaning: its result, a function of the operation and the numbers of its operands.
    lower: its lowering for targets without one of their own.  llvm, cuda: its lowering for processors and for GPUs.
    """

    op: type[Operation]
    meaning: Callable[..., Number]
    lower: Lowering | None = None
    llvm: Lowering | None = None
    cuda: Lowering | None = None


@dataclass(frozen=True)
class Statement:
    """An operation without a result, on buffers and numbers.

    op: its class, as of `ScalarOperation`.  meaning: a function of the operation and its operands, which are arrays
    and numbers; it writes to the arrays.  lower: builds the loops and blocks that replace the operation.
    """

    op: type[Operation]
    meaning: Callable[..., None]
    lower: Callable[[TirBuilder, Any], None]


Definition: TypeAlias = ScalarOperation | Statement


@dataclass(frozen=True)
class Extension:
    """The additions of a package under the name of its dialect.

    definitions: the operations of the dialect, in any order.  primitives, operators, importers: the names of the
    modules whose import registers primitives of schedules (`@primitive`, `@applies`), operators on tensors
    (`@operator`) and importers of ONNX operators (`@importer`).
    """

    definitions: Sequence[Definition] = ()
    primitives: str | None = None
    operators: str | None = None
    importers: str | None = None

    @cached_property
    def by_name(self) -> Mapping[str, Definition]:
        """The definition of each operation."""
        return {each.op.name: each for each in self.definitions}


def describe_origin(op: Operation) -> str:
    """An operation of another package, with the name of the package, for messages."""
    entry = extension_entry(op.dialect_name())
    return f"{op.name} of package {package_of(entry)}" if entry is not None else op.name


# Definitions by operation and by name


@cache
def extension_of(dialect: str) -> Extension | None:
    """The extension of a dialect, or None. PluginError if its package is broken."""
    entry = extension_entry(dialect)
    return None if entry is None else load_entry(entry, Extension)


def definition_of(op: Operation) -> Definition | None:
    """The definition of an operation of another package, or None."""
    return _definition_of(type(op))


@cache
def _definition_of(kind: type[Operation]) -> Definition | None:
    if kind.__module__.partition(".")[0] in ("stepwell", "xdsl"):
        return None
    extension = extension_of(kind.name.partition(".")[0])
    return None if extension is None else extension.by_name.get(kind.name)


def scalar_operation(op: Operation) -> ScalarOperation | None:
    """The definition of an operation on numbers of another package, or None."""
    definition = _definition_of(type(op))
    return definition if isinstance(definition, ScalarOperation) and is_pure_expression(op) else None


def statement(op: Operation) -> Statement | None:
    """The definition of a statement of another package, or None."""
    definition = _definition_of(type(op))
    return definition if isinstance(definition, Statement) else None


def operation_names(path: str) -> list[str]:
    """The sorted operations `DIALECT.NAME` of the extension whose dialect is the first word of a path; none for other
    paths."""
    extension = extension_of(path.partition(".")[0])
    return [] if extension is None else sorted(extension.by_name)


def forget_extensions() -> None:
    """Forgets which packages are installed and their definitions, after a change of `sys.path`."""
    forget_packages()
    extension_of.cache_clear()
    load_registrations.cache_clear()
    _definition_of.cache_clear()


# Registrations

Registration: TypeAlias = Literal["primitives", "operators", "importers"]


@cache
def load_registrations(kind: Registration) -> None:
    """Imports the modules of all packages that register primitives, operators or importers, once per process. A package
    whose module raises is named in a `PluginWarning` and left out."""
    for dialect in extension_names():
        try:
            _load_registrations_of(dialect, kind)
        except PluginError as error:
            warn_of_package(error)


def _load_registrations_of(dialect: str, kind: Registration) -> None:
    extension, entry = extension_of(dialect), extension_entry(dialect)
    module: str | None = getattr(extension, kind)
    if entry is not None and module is not None:
        load_part(f"the module of {kind}", module, partial(import_module, module), entry)


# Lowerings


def llvm_intrinsic(name: str) -> Lowering:
    """The lowering to an intrinsic of LLVM, such as `llvm.sadd.sat`, on the operands of the operation."""

    def lower(builder: TirBuilder, op: Operation) -> SSAValue:
        return builder.insert(llvm.CallIntrinsicOp(name, op.operands, [op.results[0].type])).results[0]

    return lower


def external_function(symbol: str) -> Lowering:
    """The lowering to a function of C without side effects, called for each lane."""
    return lambda builder, op: _by_lane(builder, op, lambda *lanes: _call_pure(builder, op, symbol, lanes))


def cuda_expression(text: str) -> Lowering:
    """The lowering to an expression of CUDA C++, in which `{0}` is the first operand, and so on.

    It is computed for each lane, and converted to the type of the result.
    """

    def build(builder: TirBuilder, op: Operation, lanes: Sequence[SSAValue]) -> SSAValue:
        value = _call_pure(builder, op, op.name, lanes)
        assert isinstance(value.owner, Operation)
        value.owner.attributes[CUDA_EXPRESSION] = StringAttr(text)
        return value

    return lambda builder, op: _by_lane(builder, op, lambda *lanes: build(builder, op, lanes))


def _call_pure(builder: TirBuilder, op: Operation, symbol: str, operands: Sequence[SSAValue]) -> SSAValue:
    call = CallExternOp(symbol, operands, element_type_of(op.results[0].type), pure=True)
    return builder.insert(call).results[0]


def _by_lane(builder: TirBuilder, op: Operation, build: Callable[..., SSAValue]) -> SSAValue:
    """The value that `build` computes from scalars, for each lane of the operands."""
    dtype = dtype_of(op.results[0].type)
    if dtype.lanes == 1:
        return build(*op.operands)

    def lane(value: SSAValue, n: int) -> SSAValue:
        if dtype_of(value.type).lanes == 1:
            return value
        return builder.insert(ShuffleOp([value], [n])).result

    lanes = [build(*(lane(value, n) for value in op.operands)) for n in range(dtype.lanes)]
    return builder.insert(ShuffleOp(lanes, list(range(len(lanes))))).result
