"""Lowering of the `func` dialect: functions of the module, C symbols, and functions registered in Python.

Every emitted function returns an i32 status: 0, the index of a failure, or the status of a packed call. It stores its
result through a last pointer argument. `entry.NAME` unpacks an array of 8-byte slots (see `runtime.signature`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, VectorType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...core.dtypes import is_small_float
from ...core.errors import UnsupportedError
from ...core.identifiers import is_c_identifier, symbol_of
from ...core.variadic import VARIADIC
from ...dialects.attributes import (
    CUDA_EXPRESSION,
    ELSEWHERE,
    GRAIN,
    LEAST_PER_THREAD,
    NOALIAS,
    NOINLINE,
    PACKED,
    PARALLEL,
    VARIADIC_FUNCTION,
)
from . import small_floats
from .engine import UNFINISHED_LOOPS
from .function import LlvmFunctionEmitter, LlvmModule, Lowerings, call_instruction, global_symbol, lowering_unsupported
from .linking import CALL_PYTHON, DISPATCHER, RUN_PARALLEL, entry_name
from .memref import first_element_pointer, load_value, store_value, to_memory
from .scalar_loops import has_scalar_loops
from .signatures import argument_dtype
from .types import bit_width, byte_size, is_bool, is_sub_byte, layout_of, llvm_memory_type, register_type

SLOT = 8  # bytes


def function_name(name: str) -> str:
    """The name of a module's function in LLVM IR, distinct from every C symbol."""
    return symbol_of("fn", name)


def emit_function(module: LlvmModule, function: func.FuncOp) -> str:
    """The text of a function with a body."""
    f = LlvmFunctionEmitter(module)
    if len(function.body.blocks) != 1:
        raise lowering_unsupported(
            function, f"{function.sym_name.data} must be structured, got {len(function.body.blocks)} blocks"
        )
    parameters: list[str] = []
    for argument in function.args:
        names = [f.fresh_name(argument.name_hint) for _ in f.component_types(argument.type)]
        mark = "ptr noalias" if _is_noalias(function, argument) else "ptr"
        parameters += [
            f"{mark if kind == 'ptr' else kind} {name}"
            for kind, name in zip(f.component_types(argument.type), names, strict=True)
        ]
        f.bind(argument, f.assemble(argument.type, names))
    if function.function_type.outputs.data:
        parameters.append("ptr %result")
    symbol = function_name(function.sym_name.data)
    debug = f.begin_debug(function, symbol)
    f.walk(function.body.block)
    name = global_symbol(symbol)
    noinline = " noinline" if NOINLINE in function.attributes else ""
    is_unfinished = f.debug is not None or has_scalar_loops(function, module.function)
    loops = f' "{UNFINISHED_LOOPS}"' if is_unfinished else ""
    return f.finish(f"define internal i32 {name}({', '.join(parameters)}) nounwind{noinline}{loops}{debug}")


def declaration_of(module: LlvmModule, function: func.FuncOp) -> str:
    """The text of a declaration of a function, as other parts of the program see it."""
    f = LlvmFunctionEmitter(module)
    kinds = [kind for type in function.function_type.inputs for kind in f.component_types(type)]
    kinds += ["ptr"] * len(function.function_type.outputs)
    return f"declare hidden i32 {global_symbol(function_name(function.sym_name.data))}({', '.join(kinds)}) nounwind"


def _is_noalias(function: func.FuncOp, argument: BlockArgument) -> bool:
    """Whether a parameter is a buffer that shares no memory with another parameter."""
    if not isinstance(argument.type, MemRefType):
        return False
    attributes = None if function.arg_attrs is None else function.arg_attrs.data[argument.index]
    return NOALIAS in function.attributes or (attributes is not None and NOALIAS in attributes.data)


def emit_entry(module: LlvmModule, function: func.FuncOp) -> str:
    """The text of the entry point of a function."""
    f = LlvmFunctionEmitter(module)
    position = 0
    arguments: list[tuple[str, str]] = []
    for type in function.function_type.inputs:
        kinds = f.component_types(type)
        if isinstance(type, MemRefType) and layout_of(type).offset is None:
            kinds.pop()  # Python passes a pointer to the first element
        for kind in kinds:
            value = (
                load_value(f, type, _slot(f, "%slots", position), ", align 8")
                if not isinstance(type, MemRefType)
                else (f.emit_value(f"load {kind}, ptr {_slot(f, '%slots', position)}, align 8"))
            )
            arguments.append((kind, value))
            position += 1
        arguments += [("i64", "0")] * (len(f.component_types(type)) - len(kinds))
    if function.function_type.outputs.data:
        arguments.append(("ptr", _slot(f, "%slots", position)))
    status = f.emit_value(
        call_instruction(global_symbol(function_name(function.sym_name.data)), "i32", arguments) + " noinline"
    )
    f.emit(f"ret i32 {status}")
    return f.finish(
        f"define i32 {global_symbol(entry_name(function.sym_name.data))}(ptr noalias %slots) nounwind noinline optnone"
    )


def _slot(f: LlvmFunctionEmitter, slots: str, position: int) -> str:
    return f.emit_value(f"getelementptr inbounds i8, ptr {slots}, i64 {SLOT * position}")


def _return(f: LlvmFunctionEmitter, op: func.ReturnOp) -> None:
    for value in op.arguments:
        store_value(f, value.type, f.operand(value), "%result", f", align {byte_size(value.type)}")
    f.emit("ret i32 0")


def _call(f: LlvmFunctionEmitter, op: func.CallOp) -> None:
    callee = f.module.function(op.callee.string_value())
    if PACKED in callee.attributes:
        _call_packed(f, op, callee)
    elif ELSEWHERE in callee.attributes:
        f.module.elsewhere(callee)
        _call_internal(f, op)
    elif callee.is_declaration:
        _call_external(f, op, callee)
    else:
        _call_internal(f, op)


def _call_internal(f: LlvmFunctionEmitter, op: func.CallOp) -> None:
    arguments = [
        pair for value in op.arguments for pair in zip(f.component_types(value.type), f.components(value), strict=True)
    ]
    if PARALLEL in op.attributes:
        _call_parallel(f, op, arguments)
        return
    results = [(result, f.emit_in_entry(f"alloca {llvm_memory_type(result.type)}")) for result in op.res]
    arguments += [("ptr", slot) for _, slot in results]
    f.check_status(
        f.emit_value(call_instruction(global_symbol(function_name(op.callee.string_value())), "i32", arguments))
    )
    for result, slot in results:
        f.bind(result, load_value(f, result.type, slot, f", align {byte_size(result.type)}", result.name_hint))


# Threads


def _call_parallel(f: LlvmFunctionEmitter, op: func.CallOp, arguments: Sequence[tuple[str, str]]) -> None:
    """Calls a function with parts of a range in the threads of the worker pool. The context has the arguments after the
    range."""
    (_, first), (_, last), *captured = arguments
    kinds = [kind for kind, _ in captured]
    struct = f"{{ {', '.join(kinds)} }}" if kinds else "{ i64 }"
    context = f.emit_in_entry(f"alloca {struct}")
    for number, (kind, operand) in enumerate(captured):
        f.emit(f"store {kind} {operand}, ptr {_field(f, struct, context, number)}")
    name = op.callee.string_value()
    task = f.module.helper(symbol_of("task", name), lambda: _task(f.module, name, struct, kinds))
    limits = [_number(op, GRAIN, 1), _number(op, LEAST_PER_THREAD, 0)]
    run = f.module.declare(RUN_PARALLEL, "i32", ("ptr", "ptr", "i64", "i64", "i64", "i64"))
    parameters = [("ptr", task), ("ptr", context), ("i64", first), ("i64", last), *(("i64", each) for each in limits)]
    f.check_status(f.emit_value(call_instruction(run, "i32", parameters)))


def _number(op: func.CallOp, name: str, default: int) -> str:
    """An attribute of a call that is a number."""
    number = op.attributes.get(name)
    return str(number.value.data if isinstance(number, IntegerAttr) else default)


def _task(module: LlvmModule, name: str, struct: str, kinds: Sequence[str]) -> str:
    """The text of the function that calls the function `name` with a part of a range and the fields of a context."""
    f = LlvmFunctionEmitter(module)
    fields = [
        (kind, f.emit_value(f"load {kind}, ptr {_field(f, struct, '%context', number)}"))
        for number, kind in enumerate(kinds)
    ]
    arguments = [("i64", "%first"), ("i64", "%last"), *fields]
    # An inlined function would have scopes of aliases instead of parameters without aliases, which costs LLVM time.
    status = f.emit_value(call_instruction(global_symbol(function_name(name)), "i32", arguments) + " noinline")
    f.emit(f"ret i32 {status}")
    task = global_symbol(symbol_of("task", name))
    return f.finish(f"define internal i32 {task}(i64 %first, i64 %last, ptr %context) nounwind")


def _field(f: LlvmFunctionEmitter, struct: str, context: str, number: int) -> str:
    return f.emit_value(f"getelementptr inbounds {struct}, ptr {context}, i64 0, i32 {number}")


# Python


def _call_packed(f: LlvmFunctionEmitter, op: func.CallOp, callee: func.FuncOp) -> None:
    fields = [field for value in op.arguments for field in _packed_fields(f, value)]
    slots = f.emit_in_entry(f"alloca [{len(fields) + 1} x i64], align {SLOT}")
    for position, (kind, operand) in enumerate(fields):
        f.emit(f"store {kind} {operand}, ptr {_slot(f, slots, position)}, align {SLOT}")
    call_python = f.module.declare(CALL_PYTHON, "i32", ("ptr", "i32", "ptr"))
    number = f.module.packed_number(callee)
    operands = [("ptr", f.module.external(DISPATCHER)), ("i32", str(number)), ("ptr", slots)]
    f.check_status(f.emit_value(call_instruction(call_python, "i32", operands)))
    for result in op.res:
        pointer = _slot(f, slots, len(fields))
        f.bind(result, load_value(f, result.type, pointer, f", align {SLOT}", result.name_hint))


def _packed_fields(f: LlvmFunctionEmitter, value: SSAValue) -> list[tuple[str, str]]:
    """The contents of the slots of an argument: (LLVM type, operand)."""
    if not isinstance(value.type, MemRefType):
        return [(llvm_memory_type(value.type), to_memory(f, value.type, f.operand(value)))]
    buffer = f.memref(value)
    return [("ptr", first_element_pointer(f, value)), *(("i64", part) for part in buffer.sizes + buffer.strides)]


# C


def _call_external(f: LlvmFunctionEmitter, op: func.CallOp, callee: func.FuncOp) -> None:
    """Calls a C function. A buffer is passed as the address of its first element."""
    variadic = callee.attributes.get(VARIADIC_FUNCTION)
    name = variadic.data if isinstance(variadic, StringAttr) else callee.sym_name.data
    if CUDA_EXPRESSION in callee.attributes:
        raise lowering_unsupported(op, f"an expression of CUDA C++ ({name}) outside of a kernel")
    if not is_c_identifier(name):
        raise lowering_unsupported(op, f"the C function {name!r}: expected an identifier of C")
    kinds = [
        _c_type(type, argument_dtype(callee, index), name) for index, type in enumerate(callee.function_type.inputs)
    ]
    results = callee.function_type.outputs.data
    result = _c_type(results[0], None, name).split(" ")[0] if results else "void"
    arguments = [(kind, _to_c(f, value)) for kind, value in zip(kinds, op.arguments, strict=True)]
    if variadic is None:
        text = call_instruction(f.module.declare(name, result, kinds), result, arguments)
    else:
        parameters = [*kinds[: VARIADIC[name]], "..."]
        external = f.module.declare(name, result, parameters)
        text = call_instruction(external, f"{result} ({', '.join(parameters)})", arguments)
    if not results:
        f.emit(text)
    elif is_small_float(results[0]):
        f.define(op.res[0], f"bitcast {result} {f.emit_value(text)} to {register_type(results[0])}")
    else:
        f.define(op.res[0], text)


def _c_type(type: Attribute, dtype: str | None, function: str) -> str:
    """The LLVM type of a C parameter. Small integers are extended by the caller, which must know their sign."""
    if isinstance(type, MemRefType):
        return "ptr"
    if isinstance(type, VectorType):
        raise UnsupportedError(f"{function}: a vector cannot be passed to C, got {type}")
    if is_small_float(type):
        if (native := small_floats.native_type(type)) is None:
            raise UnsupportedError(f"{function}: C has no type for {type}")
        return native
    kind = register_type(type)
    if is_sub_byte(type) and not is_bool(type):
        raise UnsupportedError(f"{function}: C has no type for {type}")
    if kind.startswith("i") and bit_width(type) < 32:
        unsigned = is_bool(type) or (dtype or "").startswith(("uint", "bool"))
        return f"{kind} {'zeroext' if unsigned else 'signext'}"
    return kind


def _to_c(f: LlvmFunctionEmitter, value: SSAValue) -> str:
    if isinstance(value.type, MemRefType):
        return first_element_pointer(f, value)
    operand = f.operand(value)
    native = small_floats.native_type(value.type)
    return operand if native is None else f.emit_value(f"bitcast i16 {operand} to {native}")


LOWERINGS: Lowerings = {
    func.CallOp: _call,
    func.ReturnOp: _return,
}
