"""Functions that Python calls directly: each checks its arguments, calls the function of the module and returns the
result as an object of Python.

`call.NAME(ptr self, ptr arguments, i64 count, ptr names)` is the code of a builtin function (see
`runtime.python_calls`). It accepts arrays of numpy and numbers of Python of the types of the parameters; if it does not
accept the arguments, it tries again with stand-ins of tensors (`runtime.stand_ins`). For all other arguments it calls
Python, which converts them or raises an error. Arguments are loaded in steps, each after the checks
that make the next loads valid: the types of the objects; ranks, data types and flags; extents, strides and addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from ...core.dtypes import int_range, numpy_dtype, parse_dtype
from ..runtime.arguments import exclusive_pairs
from ..runtime.python_calls import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DTYPE,
    FLAGS,
    RANK,
    SHAPE,
    STAND_INS,
    STRIDES,
    TABLE,
    TYPE_OF_OBJECT,
    WARNS,
    WRITEABLE,
    table_offset,
)
from ..runtime.signature import BufferParameter, FunctionSignature, HandleParameter, RuntimeParameter, ScalarParameter
from .calls import UNOPTIMIZED, function_name
from .function import LlvmFunctionEmitter, LlvmModule, call_instruction, global_symbol
from .linking import callable_name
from .memref import load_value
from .types import byte_size, layout_of, llvm_memory_type, register_type

_MOST_CHECKS = 128
"""The number of parameters, extents and pairs of buffers that a function may check: each takes some 20 us to
compile."""
_PARAMETERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""The data types of the numbers that native code converts."""
_STAND_IN_BYTES = 200
"""The size of a stand-in, `%stepwell.array` of `tensors.ll`."""
_INFINITY = "0x7FF0000000000000"


def is_direct(signature: FunctionSignature) -> bool:
    """Whether native code can check the arguments of a function and convert its result. Python does it for others."""
    checks = len(exclusive_pairs(signature))
    for parameter in signature.parameters:
        checks += 1 + (len(parameter.shape) if isinstance(parameter, BufferParameter) else 0)
        if isinstance(parameter, HandleParameter):
            return False
        if isinstance(parameter, ScalarParameter) and parameter.dtype not in _PARAMETERS:
            return False
    return checks <= _MOST_CHECKS and signature.result in (None, "handle", *_PARAMETERS)


def emit_callable(module: LlvmModule, function: func.FuncOp, signature: FunctionSignature) -> str:
    """The text of the function that Python calls. signature: one that `is_direct` accepts."""
    return _CallableEmitter(module, function, signature).emit()


@dataclass(frozen=True)
class _Buffer:
    """An argument in registers. begin, end: integers, the addresses of the first byte and after the last byte."""

    pointer: str
    components: tuple[str, ...]
    begin: str
    end: str


class _CallableEmitter:
    """The callable of one function under construction."""

    def __init__(self, module: LlvmModule, function: func.FuncOp, signature: FunctionSignature) -> None:
        self._f = LlvmFunctionEmitter(module)
        self._table = module.external(TABLE)
        self._function = function
        self._signature = signature
        self._holds: str | None = None

    def emit(self) -> str:
        f, parameters = self._f, self._signature.parameters
        arguments_phi = "phi ptr [ %arguments, %entry ]"
        if self._has_stand_ins:
            arguments_phi += ", [ %space, %stand_in ]"
        f.branch("start")
        f.start_block("start")
        f.emit(f"%objects = {arguments_phi}")
        self._require("icmp eq ptr %names, null")
        self._require(f"icmp eq i64 %count, {len(parameters)}")
        self._check()
        objects = [self._load("%objects", 8 * n, "ptr") for n in range(len(parameters))]
        for object, parameter in zip(objects, parameters, strict=True):
            self._require_same(self._load(object, TYPE_OF_OBJECT, "ptr"), _type_name(parameter))
        self._check()
        numbers = [
            self._number(object, parameter, type) if isinstance(parameter, ScalarParameter) else ""
            for object, parameter, type in zip(objects, parameters, self._function.function_type.inputs, strict=True)
        ]
        self._check_descriptions(objects)
        self._check()
        arguments = self._arguments(objects, numbers)
        self._check()
        result = self._call(arguments)
        f.emit(f"ret ptr {result}")
        self._emit_exits()
        name = global_symbol(callable_name(self._signature.name))
        return f.finish(
            f"define ptr {name}(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind noinline optnone"
        )

    def _emit_exits(self) -> None:
        f = self._f
        f.start_block("failed")
        f.module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
        fail = f.module.helper(_FAIL, lambda: _fail_text(self._table))
        operands = [("ptr", "%self"), ("i32", "%status"), ("ptr", "%arguments"), ("i64", "%count")]
        f.emit(f"ret ptr {f.emit_value(call_instruction(fail, 'ptr', operands))}")
        f.start_block("other")
        if self._has_stand_ins:
            self._try_stand_ins()
        convert = f.module.helper(_CONVERT, lambda: _convert_text(self._table))
        operands = [("ptr", "%self"), ("ptr", "%arguments"), ("i64", "%count"), ("ptr", "%names")]
        f.emit(f"ret ptr {f.emit_value(call_instruction(convert, 'ptr', operands))}")

    @property
    def _has_stand_ins(self) -> bool:
        return len(self._signature.parameters) <= 64  # a bit for each

    def _try_stand_ins(self) -> None:
        """Starts again with stand-ins, once; continues here without them."""
        f, parameters = self._f, self._signature.parameters
        make = self._entry(STAND_INS)
        self._require("icmp eq ptr %objects, %arguments")
        self._require(f"icmp eq i64 %count, {len(parameters)}")
        self._require(f"icmp ne ptr {make}, null")
        f.branch_if(self._holds or "true", "stand_in", "convert")
        self._holds = None
        f.start_block("stand_in")
        f.emit(f"%space = alloca i8, i64 {(8 + _STAND_IN_BYTES) * len(parameters)}, align 8")
        written = sum(1 << n for n, each in enumerate(parameters) if isinstance(each, BufferParameter) and each.written)
        operands = [("ptr", "%arguments"), ("i64", "%count"), ("ptr", "%space"), ("i64", str(_signed(written, 64)))]
        made = f.emit_value(call_instruction(make, "i32", operands))
        f.branch_if(f.emit_value(f"icmp eq i32 {made}, 1"), "start", "convert")
        f.start_block("convert")

    # conditions

    def _require(self, text: str) -> None:
        """Adds a condition for the next `_check`."""
        condition = self._f.emit_value(text)
        self._holds = condition if self._holds is None else self._f.emit_value(f"and i1 {self._holds}, {condition}")

    def _require_same(self, pointer: str, name: str) -> None:
        self._require(f"icmp eq ptr {pointer}, {self._entry(name)}")

    def _check(self) -> None:
        """Leaves the rest to Python unless the conditions since the last check hold."""
        if self._holds is None:
            return
        accepted = self._f.fresh_label("accepted")
        self._f.branch_if(self._holds, accepted, "other", ", !prof !0")
        self._f.start_block(accepted)
        self._holds = None

    # objects of Python

    def _load(self, pointer: str, offset: int, type: str) -> str:
        address = self._f.emit_value(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer
        return self._f.emit_value(f"load {type}, ptr {address}")

    def _entry(self, name: str) -> str:
        return self._f.emit_value(_entry_text(self._table, name))

    def _python(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """Calls a function of CPython."""
        return self._f.emit_value(call_instruction(self._entry(name), result, arguments))

    # numbers

    def _number(self, object: str, parameter: ScalarParameter, type: Attribute) -> str:
        dtype, kind = parse_dtype(parameter.dtype), register_type(type)
        if dtype.is_float:
            return self._float(self._python("PyFloat_AsDouble", "double", ("ptr", object)), kind)
        overflow = self._f.emit_in_entry("alloca i32")
        number = self._python("PyLong_AsLongLongAndOverflow", "i64", ("ptr", object), ("ptr", overflow))
        self._require(f"icmp eq i32 {self._f.emit_value(f'load i32, ptr {overflow}')}, 0")
        low, high = int_range(dtype)
        if low > -(2**63):
            self._require(f"icmp sge i64 {number}, {low}")
        if high < 2**63 - 1:
            self._require(f"icmp sle i64 {number}, {high}")
        return number if kind == "i64" else self._f.emit_value(f"trunc i64 {number} to {kind}")

    def _float(self, number: str, kind: str) -> str:
        if kind == "double":
            return number
        rounded = self._f.emit_value(f"fptrunc double {number} to {kind}")
        exact = self._f.emit_value(f"fpext {kind} {rounded} to double")
        self._require(f"icmp eq i1 {self._is_infinite(number)}, {self._is_infinite(exact)}")
        return rounded

    def _is_infinite(self, number: str) -> str:
        magnitude = self._f.emit_value(self._f.intrinsic("fabs", "double", [("double", number)]))
        return self._f.emit_value(f"fcmp oeq double {magnitude}, {_INFINITY}")

    # arrays

    def _check_descriptions(self, objects: Sequence[str]) -> None:
        """Checks the rank, the data type and the flags of each array."""
        for object, parameter in zip(objects, self._signature.parameters, strict=True):
            if not isinstance(parameter, BufferParameter):
                continue
            self._require(f"icmp eq i32 {self._load(object, RANK, 'i32')}, {len(parameter.shape)}")
            self._require_same(self._load(object, DTYPE, "ptr"), parameter.dtype)
            flags = ALIGNED | (CONTIGUOUS if parameter.strides is None else 0) | (WRITEABLE if parameter.written else 0)
            actual = self._f.emit_value(f"and i32 {self._load(object, FLAGS, 'i32')}, {_signed(flags | WARNS)}")
            self._require(f"icmp eq i32 {actual}, {flags}")

    def _arguments(self, objects: Sequence[str], numbers: Sequence[str]) -> list[tuple[str, str]]:
        """The arguments of the function of the module: (LLVM type, operand)."""
        buffers: dict[int, _Buffer] = {}
        arguments: list[tuple[str, str]] = []
        for n, (type, parameter) in enumerate(
            zip(self._function.function_type.inputs, self._signature.parameters, strict=True)
        ):
            if isinstance(parameter, BufferParameter) and isinstance(type, MemRefType):
                buffers[n] = self._buffer(objects[n], parameter)
                offset = ["0"] if layout_of(type).offset is None else []
                values = [buffers[n].pointer, *buffers[n].components, *offset]
                arguments += zip(self._f.component_types(type), values, strict=True)
            else:
                arguments.append((register_type(type), numbers[n]))
        for first, second in exclusive_pairs(self._signature):
            a, b = buffers[first], buffers[second]
            before = self._f.emit_value(f"icmp ule i64 {a.end}, {b.begin}")
            after = self._f.emit_value(f"icmp ule i64 {b.end}, {a.begin}")
            self._require(f"or i1 {before}, {after}")
        return arguments

    def _buffer(self, object: str, parameter: BufferParameter) -> _Buffer:
        f, size = self._f, numpy_dtype(parameter.dtype).itemsize
        data = self._load(object, DATA, "ptr")
        shape = self._load(object, SHAPE, "ptr") if parameter.shape else ""
        extents = [self._load(shape, 8 * axis, "i64") for axis in range(len(parameter.shape))]
        for extent, expected in zip(extents, parameter.shape, strict=True):
            if expected is not None:
                self._require(f"icmp eq i64 {extent}, {expected}")
        begin = f.emit_value(f"ptrtoint ptr {data} to i64")
        if parameter.alignment > 1:
            self._require(f"icmp eq i64 {f.emit_value(f'urem i64 {begin}, {parameter.alignment}')}, 0")
        components = [extent for extent, known in zip(extents, parameter.shape, strict=True) if known is None]
        if parameter.strides is None:
            end = self._wrapping_add(begin, self._byte_count(extents, parameter.shape, size))
        else:
            array = self._load(object, STRIDES, "ptr") if parameter.strides else ""
            strides = [self._load(array, 8 * axis, "i64") for axis in range(len(parameter.strides))]
            components += self._open_strides(strides, parameter.strides, size)
            begin, end = self._span(begin, extents, strides, size)
        pointer = data
        if parameter.offset:
            pointer = f.emit_value(f"getelementptr i8, ptr {data}, i64 {-parameter.offset * size}")
        return _Buffer(pointer, tuple(components), begin, end)

    def _byte_count(self, extents: Sequence[str], expected: Sequence[int | None], size: int) -> str:
        """The bytes of a contiguous array. The product of the extents of an empty array may wrap around."""
        count = str(size * prod(known for known in expected if known is not None))
        for extent, known in zip(extents, expected, strict=True):
            if known is None:
                count = self._f.emit_value(f"mul i64 {count}, {extent}")
        return count

    def _open_strides(self, strides: Sequence[str], expected: Sequence[int | None], size: int) -> list[str]:
        """The dynamic strides in elements. Python accepts any stride of a dimension with at most one element."""
        result: list[str] = []
        for stride, known in zip(strides, expected, strict=True):
            if known is not None:
                self._require(f"icmp eq i64 {stride}, {known * size}")
                continue
            if size > 1:
                self._require(f"icmp eq i64 {self._f.emit_value(f'srem i64 {stride}, {size}')}, 0")
                stride = self._f.emit_value(f"sdiv i64 {stride}, {size}")
            result.append(stride)
        return result

    def _span(self, data: str, extents: Sequence[str], strides: Sequence[str], size: int) -> tuple[str, str]:
        """The first byte of a strided array and the byte after its last, of an empty array perhaps others."""
        begin, end = data, self._wrapping_add(data, str(size))
        for extent, stride in zip(extents, strides, strict=True):
            steps = self._wrapping_add(extent, "-1")
            distance = self._f.emit_value(f"mul i64 {steps}, {stride}")
            negative = self._f.emit_value(f"icmp slt i64 {distance}, 0")
            begin = self._wrapping_add(begin, self._f.emit_value(f"select i1 {negative}, i64 {distance}, i64 0"))
            end = self._wrapping_add(end, self._f.emit_value(f"select i1 {negative}, i64 0, i64 {distance}"))
        return begin, end

    def _wrapping_add(self, lhs: str, rhs: str) -> str:
        return self._f.emit_value(f"add i64 {lhs}, {rhs}")

    # the call

    def _call(self, arguments: list[tuple[str, str]]) -> str:
        """Calls the function of the module. Returns the object that the call returns."""
        f = self._f
        (type,) = self._function.function_type.outputs.data or (None,)
        memory = "" if type is None else f.emit_in_entry(f"alloca {llvm_memory_type(type)}, align 8")
        if type is not None:
            arguments = [*arguments, ("ptr", memory)]
        state = "" if self._signature.short else self._python("PyEval_SaveThread", "ptr")
        callee = global_symbol(function_name(self._signature.name))
        f.emit(f"%status = {call_instruction(callee, 'i32', arguments)} noinline")
        if not self._signature.short:
            f.emit(call_instruction(self._entry("PyEval_RestoreThread"), "void", [("ptr", state)]))
        done = f.fresh_label("done")
        f.branch_if(f.emit_value("icmp eq i32 %status, 0"), done, "failed", ", !prof !0")
        f.start_block(done)
        if type is None:
            return self._reference(self._entry("None"))
        return self._object(load_value(f, type, memory, f", align {byte_size(type)}"), register_type(type))

    def _reference(self, object: str) -> str:
        self._f.emit(call_instruction(self._entry("Py_IncRef"), "void", [("ptr", object)]))
        return object

    def _object(self, value: str, kind: str) -> str:
        """The object of Python of a result."""
        f, dtype = self._f, self._signature.result
        if dtype == "bool":
            chosen = f"select i1 {value}, ptr {self._entry('True')}, ptr {self._entry('False')}"
            return self._reference(f.emit_value(chosen))
        if kind in ("float", "double"):
            number = value if kind == "double" else f.emit_value(f"fpext {kind} {value} to double")
            return self._python("PyFloat_FromDouble", "ptr", ("double", number))
        is_signed = dtype is not None and dtype.startswith("int")
        number = value
        if kind == "ptr":
            number = f.emit_value(f"ptrtoint ptr {value} to i64")
        elif kind != "i64":
            number = f.emit_value(f"{'sext' if is_signed else 'zext'} {kind} {value} to i64")
        create = "PyLong_FromLongLong" if is_signed else "PyLong_FromUnsignedLongLong"
        return self._python(create, "ptr", ("i64", number))


def _type_name(parameter: RuntimeParameter) -> str:
    """The entry of the table with the type that native code accepts."""
    if isinstance(parameter, ScalarParameter):
        return "float" if parse_dtype(parameter.dtype).is_float else "int"
    return "ndarray"


def _signed(bits: int, width: int = 32) -> int:
    return bits - 2**width if bits >= 2 ** (width - 1) else bits


def _entry_text(table: str, name: str) -> str:
    return f"load ptr, ptr getelementptr (i8, ptr {table}, i64 {table_offset(name)})"


# Calls of Python

_FAIL, _CONVERT = "stepwell.fail_call", "stepwell.convert_call"


def _fail_text(table: str) -> str:
    """Calls the second object of `self` with the status and the arguments."""
    return f"""\
define internal ptr @{_FAIL}(ptr %self, i32 %status, ptr %arguments, i64 %count) nounwind cold {UNOPTIMIZED} {{
  %all = add i64 %count, 1
  %copy = alloca ptr, i64 %all
  %rest = getelementptr ptr, ptr %copy, i64 1
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %arguments, i64 %bytes, i1 false)
  %wide = sext i32 %status to i64
  %create = {_entry_text(table, "PyLong_FromLongLong")}
  %number = call ptr %create(i64 %wide)
  %none = icmp eq ptr %number, null
  br i1 %none, label %end, label %call
call:
  store ptr %number, ptr %copy
  %get = {_entry_text(table, "PyTuple_GetItem")}
  %function = call ptr %get(ptr %self, i64 1)
  %vectorcall = {_entry_text(table, "PyObject_Vectorcall")}
  %result = call ptr %vectorcall(ptr %function, ptr %copy, i64 %all, ptr null)
  %release = {_entry_text(table, "Py_DecRef")}
  call void %release(ptr %number)
  ret ptr %result
end:
  ret ptr null
}}"""


def _convert_text(table: str) -> str:
    """Calls the first object of `self` with the arguments."""
    return f"""\
define internal ptr @{_CONVERT}(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind cold {UNOPTIMIZED} {{
  %get = {_entry_text(table, "PyTuple_GetItem")}
  %function = call ptr %get(ptr %self, i64 0)
  %vectorcall = {_entry_text(table, "PyObject_Vectorcall")}
  %result = call ptr %vectorcall(ptr %function, ptr %arguments, i64 %count, ptr %names)
  ret ptr %result
}}"""
