"""Programs at the `tir` landing as Python functions: compilation, calls, and faults with their source lines."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, is_thread_loop, outermost_bound_loops
from ...analysis.threads.fragments import is_matrix_operation
from ...analysis.threads.registers import is_register_operation
from ...core.diagnostics import did_you_mean
from ...core.dtypes import dtype_of
from ...core.errors import ArgumentError, UndefinedBehaviorError, UnsupportedError
from ...dialects.attributes import TIR_NOALIAS
from ...dialects.tir import DYNAMIC, FuncOp, HandleType, MatchBufferOp
from ...module import FunctionNotFoundError, Module
from ...transforms.tir.distribute_threads import distribute_threads
from ...transforms.tir.launch_ops import thread_extents
from ...transforms.tir.lower_fragments import lower_fragments
from ...transforms.tir.lower_match_buffers import lower_match_buffers
from ..runtime.arguments import ArgumentPacker
from ..runtime.program import Program
from ..runtime.signature import BufferParameter, FunctionSignature, HandleParameter, RuntimeParameter, ScalarParameter
from . import checks, numerics
from .aliases import ParameterWrites
from .calls import promises_noalias
from .checks import Packed, Run
from .context import OracleContext, location_of
from .exchanges import exchange_in_memory
from .functions import FunctionCompiler
from .memory import Fault, view_of_array
from .writer import PythonLine

_FILE = "<oracle>"


def compile_oracle(
    program: Module | ModuleOp | FuncOp,
    *,
    check: bool = True,
    uninitialized: Sequence[str] = (),
    packed: Packed | None = None,
) -> PythonProgram:
    """Compiles a program at the `tir` landing to Python functions with exact semantics.

    check: detect excluded behaviour; without checks, such a program may compute anything but not crash.  uninitialized:
    names of buffer parameters whose elements count as uninitialized at the start of a call, as the elements of outputs
    should.  packed: the functions for `tir.call_packed`, by name; the registered functions by default. Raises
    `UnsupportedError` for operations that only a target supports.
    """
    functions = {name: _distribute_threads(function) for name, function in functions_of(program).items()}
    context = OracleContext.of(functions, check, frozenset(uninitialized))
    text, namespace = _Text(context), dict(vars(numerics)) | checks.NAMESPACE | {"product": product}
    namespace |= text.constants
    exec(compile(text.source, _FILE, "exec"), namespace)
    writes = ParameterWrites(functions)
    public = [n for n, f in functions.items() if f.private is None]
    compiled_functions = {
        name: PythonFunction(functions[name], context, writes, namespace[context.names[name]], text, packed)
        for name in functions
    }
    return PythonProgram(
        {n: compiled_functions[n] for n in public or compiled_functions}, compiled_functions, text.source
    )


def _distribute_threads(function: FuncOp) -> FuncOp:
    """The function, or a copy in which all threads of a block execute each statement before the next."""
    has_fragments = any(is_matrix_operation(op) or is_register_operation(op) for op in function.walk())
    if not has_fragments and not any(is_thread_loop(op) for op in function.walk()):
        return function
    copy = function.clone()
    if has_fragments:
        lower_match_buffers(copy)
        lower_fragments(copy, in_memory=True)
        _check_warps(copy)
    distribute_threads(copy)
    exchange_in_memory(copy)
    return copy


def _check_warps(function: FuncOp) -> None:
    """Raises UnsupportedError for matrix operations in kernels whose threads along `threadIdx.x` are no warp."""
    for kernel in outermost_bound_loops(function, (*BLOCK_AXES, *THREAD_AXES)):
        thread_extents(kernel)


def run_oracle(
    program: Module | ModuleOp | FuncOp,
    entry: str,
    arguments: Sequence[Any],
    *,
    packed: Packed | None = None,
    check: bool = True,
    uninitialized: Sequence[str] = (),
) -> Any:
    """Calls function `entry` of a program and returns its result; arrays are written in place.

    See `compile_oracle` for the options. Raises `UndefinedBehaviorError` for excluded behaviour, and the errors of a
    compiled function.
    """
    functions = compile_oracle(program, check=check, uninitialized=uninitialized, packed=packed).all_functions
    if entry not in functions:
        known = ", ".join(functions) or "none"
        raise FunctionNotFoundError(f"no function {entry!r}{did_you_mean(entry, functions)} (has: {known})")
    return functions[entry](*arguments)


def functions_of(program: Module | ModuleOp | FuncOp) -> dict[str, FuncOp]:
    """The functions of a program by name. Raises UnsupportedError for any other operation."""
    if isinstance(program, FuncOp):
        return {program.sym_name.data: program}
    module = program.op if isinstance(program, Module) else program
    functions: dict[str, FuncOp] = {}
    for op in module.body.block.ops:
        if not isinstance(op, FuncOp):
            raise UnsupportedError(f"{location_of(op)}the oracle runs the tir landing, got {op.name}")
        functions[op.sym_name.data] = op
    return functions


class _Text:
    """The source of all functions, and the op of each line."""

    def __init__(self, context: OracleContext):
        self.constants: dict[str, Any] = {}
        lines: list[PythonLine] = []
        for func in context.functions.values():
            lines += FunctionCompiler(func, context, self.constants).compile()
        self.source = "".join(f"{'    ' * indent}{text}\n" for indent, text, _ in lines)
        self._ops = [op for _, _, op in lines]

    def op_at(self, error: BaseException) -> Operation | None:
        """The op whose code raised `error`."""
        frames = [line for frame, line in traceback.walk_tb(error.__traceback__) if _is_generated(frame)]
        return self._ops[frames[-1] - 1] if frames else None


def _is_generated(frame: Any) -> bool:
    return frame.f_code.co_filename == _FILE


class PythonFunction:
    """A function of a program, run by Python. Arrays are written in place."""

    def __init__(
        self,
        func: FuncOp,
        context: OracleContext,
        writes: ParameterWrites,
        call: Callable[..., Any],
        text: _Text,
        packed: Packed | None,
    ):
        self.signature = signature_of(func, writes)
        self._packer = ArgumentPacker(self.signature)
        self._call, self._text, self._packed = call, text, packed
        self._takes_strand = context.check and self.name in context.concurrent
        self._units = [
            context.unit_of(_element(param)) if isinstance(p, BufferParameter) else 0
            for p, (_, param) in zip(self.signature.parameters, func.params, strict=True)
        ]
        self._fresh = [not context.uninitialized.isdisjoint(_names(name, param)) for name, param in func.params]

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.signature.name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the function and returns its result. Raises the errors of a compiled function, and
        `UndefinedBehaviorError`.
        """
        self._packer.reject_names(named)
        values = values_inside(self._packer, self.signature, arguments, self._units, self._fresh)
        run = Run(self._packed)
        try:
            return self._convert_result(self._call(run, *([0] if self._takes_strand else []), *values))
        except Fault as error:
            self._report(error, str(error))
        except (IndexError, ZeroDivisionError, ValueError, TypeError) as error:
            # Errors that Python itself raises in an unchecked program, or for a read-only memory.
            if isinstance(error, ArgumentError) or not _raised_by_generated_code(error):
                raise
            self._report(error, str(error))

    def _convert_result(self, value: Any) -> Any:
        return checks.outside(value) if self.signature.result == "handle" else value

    def _report(self, error: BaseException, message: str) -> NoReturn:
        op = self._text.op_at(error)
        where = location_of(op) or f"{self.name}: "
        what = f"{op.name}: " if op is not None else ""
        raise UndefinedBehaviorError(f"{where}{what}{message}") from None

    def __repr__(self) -> str:
        return f"<python function {self.name}({', '.join(p.name for p in self.signature.parameters)})>"


def _raised_by_generated_code(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return _is_generated(frame)


class PythonProgram(Program):
    """The functions of a program as Python functions: `lib["main"]` returns one, `lib(...)` calls the only one,
    `lib.source("python")` is their text.
    """

    def __init__(
        self, functions: Mapping[str, PythonFunction], all_functions: Mapping[str, PythonFunction], source: str
    ):
        super().__init__(cast(Any, functions), {"python": lambda: source})
        self.all_functions = dict(all_functions)


# Arguments


def values_inside(
    packer: ArgumentPacker,
    signature: FunctionSignature,
    arguments: Sequence[Any],
    units: Sequence[int],
    fresh: Sequence[bool],
) -> list[Any]:
    """Checked arguments as values of generated code: buffers as views.

    units: bytes per entry of the record of each buffer.  fresh: whether its elements count as uninitialized.
    """
    slots, arrays = packer.pack(arguments)
    values: list[Any] = []
    for i, (parameter, array) in enumerate(zip(signature.parameters, arrays, strict=True)):
        match parameter:
            case ScalarParameter():
                values.append(checks.inside(arguments[i], parameter.dtype, parameter.name))
            case HandleParameter():
                values.append(slots[sum(p.slot_count for p in signature.parameters[:i])] % 2**64)
            case BufferParameter():
                assert array is not None
                values.append(view_of_array(parameter.name, array, parameter.dtype, units[i], not fresh[i]))
    return values


# Signatures


def signature_of(func: FuncOp, writes: ParameterWrites) -> FunctionSignature:
    """The signature of a `tir.func`, as for compiled functions."""
    parameters = tuple(
        _parameter(name, value, writes.parameter(func, i)) for i, (name, value) in enumerate(func.params)
    )
    result = func.result_type
    dtype = None if result is None else "handle" if isinstance(result, HandleType) else dtype_of(result).name
    return FunctionSignature(func.sym_name.data, parameters, dtype, promises_noalias(func.attr(TIR_NOALIAS)))


def _match_of(value: SSAValue) -> MatchBufferOp | None:
    """The first `tir.match_buffer` of a handle parameter, if any."""
    users = (use.operation for use in value.uses)
    return next((op for op in users if isinstance(op, MatchBufferOp) and op.source is value), None)


def _buffer_type(value: SSAValue) -> MemRefType[Attribute] | None:
    if isinstance(value.type, MemRefType):
        return value.type
    match = _match_of(value)
    return None if match is None else match.type


def _element(value: SSAValue) -> Any:
    type = _buffer_type(value)
    assert type is not None
    return dtype_of(type.element_type)


def _names(name: str, value: SSAValue) -> list[str]:
    """The names by which users may refer to a parameter."""
    match = _match_of(value)
    return [name] if match is None else [name, match.buffer_name.data]


def _parameter(name: str, value: SSAValue, written: bool) -> RuntimeParameter:
    type = _buffer_type(value)
    if type is None:
        return (
            HandleParameter(name)
            if isinstance(value.type, HandleType)
            else ScalarParameter(name, dtype_of(value.type).name)
        )
    match = _match_of(value)
    shape = tuple(None if n == DYNAMIC else n for n in type.get_shape())
    strides = None if isinstance(type.layout, NoneAttr) else tuple(type.get_strides() or ())
    dtype = dtype_of(type.element_type).name
    return BufferParameter(name if match is None else match.buffer_name.data, dtype, shape, strides, 0, written)
