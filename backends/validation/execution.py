"""Calls of a program at any landing: by the oracle, or as native code below the landing of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import IndexType, MemRefType, StringAttr

from ...core.dtypes import dtype_of, numpy_dtype, parse_dtype
from ...core.errors import (
    ExecutionError,
    LinkError,
    PassError,
    StepwellError,
    UndefinedBehaviorError,
    UnsupportedError,
)
from ...core.isolation import run_isolated
from ...core.printing import no_printing
from ...core.target import Target
from ...core.walking import find_ops
from ...dialects.attributes import PARAMETER_DTYPE, PARAMETER_NAME
from ...dialects.tir import DYNAMIC, FuncOp
from ...module import Module
from ...transforms.observers import observe_nothing
from ...transforms.pipelines import lower_to_tir
from ..llvm.build import build_llvm
from ..oracle import PythonFunction, compile_oracle, estimated_seconds
from .comparison import RESULT, copies
from .inputs import InputGenerator

_ORACLE_DIALECTS = ("tir", "te", "relay", "schedule")
"""The dialects of operations of a module that the oracle runs, or that it ignores."""
MOST_SECONDS = 2.0
"""The estimated time of a call in the oracle beyond which it is not made."""
_NATIVE_SECONDS = 60.0


@dataclass(frozen=True)
class Call:
    """A call of a function. sizes: the default of symbolic sizes.  is_whole: as of `InputGenerator`."""

    entry: str
    seed: int
    default_size: int
    is_whole: bool


@dataclass(frozen=True)
class Results:
    """The values of the parameters after a call, and the returned value. arguments: the values before the call."""

    values: Mapping[str, Any]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Undefined:
    """The end of a call with an error: undefined behaviour, a failed assertion, a crash."""

    message: str


Ending: TypeAlias = Results | Undefined


@dataclass
class Program:
    """A program that can be called. is_native: whether calls run native code.  functions: those of the oracle."""

    module: Module
    is_native: bool = False
    functions: Mapping[str, PythonFunction] = field(default_factory=dict[str, PythonFunction])

    @staticmethod
    def of(module: Module) -> Program:
        """The program of a module. UnsupportedError with the reason for a module that cannot be run."""
        dialects = {op.name.partition(".")[0] for op in module.op.body.block.ops}
        if not dialects <= set(_ORACLE_DIALECTS):
            if any(op.name.startswith("gpu.") for op in module.op.walk()):
                raise UnsupportedError("it has functions of a GPU")
            return Program(module, is_native=True)
        if next(find_ops(module.op, llvm.CallIntrinsicOp), None) is not None:
            return Program(module, is_native=True)
        copy = module.clone()
        for op in list(copy.op.body.block.ops):
            if op.name.startswith("schedule."):
                op.detach()
                op.erase()
        try:
            with observe_nothing():
                lowered = lower_to_tir(copy)
            return Program(lowered, functions=compile_oracle(lowered).all_functions)
        except (PassError, LinkError) as error:
            raise UnsupportedError(str(error)) from error

    def calls(self) -> list[Call]:
        """Calls of the public functions: on whole numbers with small odd sizes, and on other numbers."""
        private = {name for name, op in self.module.function_ops.items() if _is_internal(op)}
        return [
            Call(entry, seed, default_size, is_whole)
            for entry in self.module.function_ops
            if entry not in private
            for seed, default_size, is_whole in ((0, 5, True), (1, 16, False))
        ]

    def arguments(self, call: Call, known: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by the names of the parameters: those in `known`, the arguments of another version of
        the program, of the right shape, else random ones.

        UnsupportedError for a function that cannot be called, or that would take too long in the oracle.
        """
        op = self.module.function_ops.get(call.entry)
        match op:
            case FuncOp():
                generator = InputGenerator(op, call.seed, {}, call.default_size, call.is_whole)
                functions = {name: each for name, each in self.module.function_ops.items() if isinstance(each, FuncOp)}
                seconds = 0.0 if self.is_native else estimated_seconds(functions, call.entry, generator.size)
                if seconds > MOST_SECONDS:
                    raise UnsupportedError(f"{call.entry}: a call would take some {seconds:.0f} s in the oracle")
                arguments = generator.arguments()
            case func.FuncOp():
                arguments = _upstream_arguments(op, call)
            case _:
                raise UnsupportedError(f"no function {call.entry!r} to call")
        if len(arguments) == len(known):  # passes may rename parameters
            arguments = dict(zip(known, arguments.values(), strict=True))
        given = {**self.module.constants, **known}
        return {name: given[name] if _fits(given.get(name), value) else value for name, value in arguments.items()}

    def run(self, calls: Sequence[tuple[Call, Mapping[str, Any]]]) -> list[Ending]:
        """The ending of each call, a function with its arguments. UnsupportedError for native code that cannot be
        compiled."""
        return _run_native(self.module, calls) if self.is_native else [self._run_oracle(*call) for call in calls]

    def _run_oracle(self, call: Call, arguments: Mapping[str, Any]) -> Ending:
        values = copies(arguments)
        try:
            with no_printing():
                result = self.functions[call.entry](*values.values())
        except LinkError as error:
            raise UnsupportedError(str(error)) from error
        except (UndefinedBehaviorError, ExecutionError) as error:
            return Undefined(str(error))
        return Results({**values, RESULT: result}, arguments)


def _is_internal(op: Any) -> bool:
    """Whether a function has no global symbol, is a kernel of a graph, or a declaration."""
    if isinstance(op, func.FuncOp):
        return op.is_declaration or op.sym_visibility is not None
    return not isinstance(op, FuncOp) or op.private is not None or op.attr("relay.kernel") is not None


def _fits(value: Any, other: Any) -> bool:
    """Whether a known value can take the place of another argument."""
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        return bool((value.shape, value.dtype, value.strides) == (other.shape, other.dtype, other.strides))
    return value is not None and type(value) is type(other)


def _upstream_arguments(op: func.FuncOp, call: Call) -> dict[str, Any]:
    """Arguments for a function on the upstream landing. UnsupportedError for a parameter of another type than numbers
    and compact buffers."""
    rng = np.random.default_rng(call.seed)
    return {
        _parameter_fact(op, n, PARAMETER_NAME) or f"parameter {n}": _upstream_value(op, n, call, rng)
        for n in range(len(op.body.block.args))
    }


def _upstream_value(op: func.FuncOp, n: int, call: Call, rng: np.random.Generator) -> Any:
    type, stated = op.body.block.args[n].type, _parameter_fact(op, n, PARAMETER_DTYPE)
    if isinstance(type, IndexType):
        return call.default_size
    is_buffer = isinstance(type, MemRefType)
    shape = [call.default_size if extent == DYNAMIC else extent for extent in type.get_shape()] if is_buffer else []
    try:
        dtype = dtype_of(type.element_type if is_buffer else type) if stated is None else parse_dtype(stated)
    except ValueError as error:
        raise UnsupportedError(f"it has a parameter of type {type}") from error
    if dtype.is_float:
        numbers = rng.integers(-4, 5, shape) if call.is_whole else rng.standard_normal(shape)
    else:
        numbers = rng.integers(0, 2, shape) if is_buffer else call.default_size
    array = np.asarray(numbers).astype(numpy_dtype(dtype))
    return array if is_buffer else array[()]


def _parameter_fact(op: func.FuncOp, n: int, key: str) -> str | None:
    """The text of an attribute of a parameter, None without one."""
    attributes = op.arg_attrs.data[n].data if op.arg_attrs is not None else {}
    fact = attributes.get(key)
    return fact.data if isinstance(fact, StringAttr) else None


def _run_native(module: Module, calls: Sequence[tuple[Call, Mapping[str, Any]]]) -> list[Ending]:
    """The endings of calls of native code in a process of its own, whose crash is the ending of all calls."""

    def work() -> list[Ending | None]:
        with observe_nothing():
            try:
                program = build_llvm(module, Target())
            except StepwellError as error:
                raise UnsupportedError(str(error)) from error
        return [_call_native(program, *call) for call in calls]

    outcome = run_isolated(work, _NATIVE_SECONDS)
    match outcome.kind:
        case "value":
            assert outcome.value is not None
            return [Undefined("no results") if ending is None else ending for ending in outcome.value]
        case "error":
            raise UnsupportedError(outcome.message)
        case _:
            return [Undefined(outcome.message) for _ in calls]


def _call_native(program: Any, call: Call, arguments: Mapping[str, Any]) -> Ending:
    values = copies(arguments)
    try:
        with no_printing():
            result = program[call.entry](*values.values())
    except ExecutionError as error:
        return Undefined(str(error))
    return Results({**values, RESULT: result}, arguments)
