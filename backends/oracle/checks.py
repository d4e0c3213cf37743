"""The run-time support of generated code: checks and their messages, packed calls, buffers of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn

import numpy as np

from ...core.assertions import failure_error, fill_message
from ...core.dtypes import int_range, numpy_dtype, parse_dtype, wrap_int
from ...core.errors import ArgumentError, ExecutionError, LinkError
from ...core.printing import print_line
from ..runtime.memory import array_at
from ..runtime.packed import get_global_func
from .memory import Fault, Memory, Pointer, Races, View, allocate, compact_strides, constant
from .numerics import maximum, minimum, round_to

MAX_ROUNDS = 10_000_000
"""The maximum number of iterations of the `while` loops of a call, in total."""

Packed = Mapping[str, Callable[..., Any]]
"""Packed functions by name."""


@dataclass
class Run:
    """The state of one call of a compiled function. packed: the functions for `tir.call_packed`; None:
    the registered ones.
    """

    packed: Packed | None
    races: Races = field(default_factory=Races)
    rounds: int = 0

    def another_round(self) -> None:
        """Counts an iteration of a `while` loop. Raises Fault beyond `MAX_ROUNDS`."""
        self.rounds += 1
        if self.rounds > MAX_ROUNDS:
            raise Fault(f"while does not end: gave up after {MAX_ROUNDS} rounds")

    def call_packed(self, name: str, args: Sequence[Any], dtype: str | None) -> Any:
        """Calls a packed function; returns its result as a value of `dtype`."""
        function = get_global_func(name) if self.packed is None else self.packed.get(name)
        if function is None:
            raise LinkError(f"packed function {name!r} is not registered")
        try:
            result = function(*(outside(a) for a in args))
        except Exception as error:
            raise ExecutionError(f"packed function {name!r} failed: {type(error).__name__}: {error}") from error
        for view in args:
            if isinstance(view, View):
                mark_written(view)
        if dtype is None:
            return None
        try:
            return inside(result, dtype, "")
        except (ArgumentError, TypeError, ValueError):
            message = f"packed function {name!r}: expected a result of type {dtype}, got {result!r}"
            raise ExecutionError(message) from None


def outside(value: Any) -> Any:
    """A value as an argument of a packed function."""
    match value:
        case View():
            return value.array()
        case Pointer():
            return value.address
        case _:
            return value


def inside(value: Any, dtype: str, what: str) -> Any:
    """A Python or numpy number as a value of `dtype` in generated code. Raises ArgumentError if it does not fit."""
    if dtype == "handle":
        return value
    kind = parse_dtype(dtype)
    if kind.is_float:
        return round_to(kind, float(value))
    number = int(value)
    if number != wrap_int(number, kind):
        raise ArgumentError(f"{what} is {number}, which does not fit {dtype}")
    return bool(number) if kind.is_bool else number


def mark_written(view: View) -> None:
    """Marks every element of a buffer as written."""
    written = view.memory.written
    for k in view.entries():
        written[k] = 1


def read_all(run: Run, view: View, strand: int) -> None:
    """Records a possible read of a whole buffer by a call."""
    for k in view.entries():
        run.races.read(view.memory, k, strand, view.memory.name, ())


def write_all(run: Run, view: View, strand: int) -> None:
    """Records a possible write of a whole buffer by a call."""
    for k in view.entries():
        run.races.write(view.memory, k, strand, view.memory.name, ())


# Faults


def fault(message: str) -> NoReturn:
    raise Fault(message)


def out_of_bounds(name: str, index: Sequence[int], shape: Sequence[int]) -> NoReturn:
    where = f"{name}[{', '.join(map(str, index))}]"
    for d, (i, n) in enumerate(zip(index, shape, strict=True)):
        if not 0 <= i < n:
            raise Fault(f"{where} is out of bounds: index {i} of dimension {d}, expected 0 <= index < {n}")
    raise Fault(f"{where} lies outside of the memory of {name}")


def uninitialized(name: str, index: Sequence[int]) -> NoReturn:
    raise Fault(f"{name}[{', '.join(map(str, index))}] is read, but was never written")


def is_same(old: Any, new: Any) -> bool:
    """Whether a store of `new` leaves an element unchanged. All NaNs are equal."""
    return bool(old == new) or (old != old and new != new)


def write_to_constant(name: str) -> NoReturn:
    raise Fault(f"{name} is constant, but is written")


def failed(kind: str, message: str, *values: Any) -> NoReturn:
    """Raises the error of a failed `tir.assert`."""
    raise failure_error(kind, fill_message(message, values))


# Buffers of parameters


def extent(buffer: View | Pointer, dimension: int, name: str, symbol: str, dtype: str) -> int:
    """The size that binds a symbol."""
    if not isinstance(buffer, View):
        raise ArgumentError(f"{name}: {symbol} cannot be told from a pointer")
    return _symbol(buffer.shape, dimension, "shape", name, symbol, dtype)


def stride(buffer: View | Pointer, dimension: int, name: str, symbol: str, dtype: str) -> int:
    """The stride that binds a symbol."""
    if not isinstance(buffer, View):
        raise ArgumentError(f"{name}: {symbol} cannot be told from a pointer")
    return _symbol(buffer.strides, dimension, "strides", name, symbol, dtype)


def _symbol(numbers: Sequence[int], dimension: int, what: str, name: str, symbol: str, dtype: str) -> int:
    if dimension >= len(numbers):
        raise ArgumentError(f"{name}: expected at least {dimension + 1} dimensions, got {len(numbers)}")
    if numbers[dimension] > int_range(parse_dtype(dtype))[1]:
        raise ArgumentError(
            f"{name}: {what}[{dimension}] is {numbers[dimension]}, which does not fit {symbol}: {dtype}"
        )
    return numbers[dimension]


def check_elements(buffer: View | Pointer, name: str, limit: int) -> None:
    """Checks the number of elements of an argument with symbolic extents; an extent of 0 counts as 1."""
    if isinstance(buffer, View) and prod(max(n, 1) for n in buffer.shape) >= limit:
        raise ArgumentError(f"{name}: expected fewer than {limit} elements")


def offset_of(buffer: View | Pointer) -> int:
    """The offset that binds a symbol."""
    return buffer.offset if isinstance(buffer, View) else 0


def pointer(value: View | Pointer | int | None) -> Pointer | int | None:
    """The pointer in an argument for a handle."""
    if isinstance(value, View):
        return Pointer(value.memory, value.offset * numpy_dtype(value.dtype).itemsize)
    return value


def address(value: Pointer | int | None) -> int:
    """The address of a pointer as a number."""
    return value.address if isinstance(value, Pointer) else value or 0


def memory_behind(value: Pointer | int | None, name: str, size: int) -> Pointer:
    """A pointer with a known memory. A raw address is assumed to have `size` accessible bytes."""
    if isinstance(value, Pointer):
        return value
    if not value:
        raise Fault(f"{name} looks behind a null pointer")
    raw = array_at(value, (size,), None, np.dtype(np.uint8))
    return Pointer(Memory(name, raw, 1, bytearray(b"\1" * size)))


def match_buffer(
    buffer: View | Pointer | None,
    name: str,
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> View:
    """An argument as the buffer that a parameter declares. Raises ArgumentError for a mismatch.

    strides: in elements; None: compact and row-major.
    """
    if buffer is None:
        raise ArgumentError(f"{name}: expected a buffer, got a null pointer")
    if isinstance(buffer, Pointer):
        return View(buffer.memory, dtype, shape, strides or compact_strides(shape), buffer.element(dtype))
    if buffer.dtype != dtype:
        raise ArgumentError(f"{name}: dtype is {buffer.dtype}, expected {dtype}")
    if len(buffer.shape) != len(shape):
        raise ArgumentError(f"{name}: has {len(buffer.shape)} dimensions, expected {len(shape)}")
    for d, (got, expected) in enumerate(zip(buffer.shape, shape, strict=True)):
        if got != expected:
            raise ArgumentError(f"{name}: shape[{d}] is {got}, expected {expected}")
    if 0 not in shape:
        expected_strides = compact_strides(shape) if strides is None else strides
        for d, (got, expected) in enumerate(zip(buffer.strides, expected_strides, strict=True)):
            if got != expected and shape[d] != 1:
                raise ArgumentError(f"{name}: strides[{d}] is {got} elements, expected {expected}")
    return buffer


def check_noalias(callee: str, views: Sequence[tuple[str, bool, View | Pointer]]) -> None:
    """Raises Fault if a buffer that `callee` writes overlaps another argument. views: name, written, buffer."""
    spans = [(name, written, v.bytes()) for name, written, v in views if isinstance(v, View)]
    for i, (name, written, (start, end)) in enumerate(spans):
        for other, other_written, (other_start, other_end) in spans[:i]:
            if (written or other_written) and start < other_end and other_start < end:
                raise Fault(f"{callee} promises that its buffers do not overlap, but {other} and {name} do")


_ATOMIC: Mapping[str, Callable[[Any, Any], Any]] = {"add": np.add, "min": minimum, "max": maximum}


def atomic(kind: str, dtype: str, where: Pointer | int | None, value: Any) -> Any:
    """Adds a number to an element, or stores the minimum or maximum; returns the previous value."""
    scalar = numpy_dtype(dtype)
    pointer = memory_behind(where, f"atomic {kind}", scalar.itemsize)
    memory, start, end = pointer.memory, pointer.offset, pointer.offset + scalar.itemsize
    if not 0 <= start <= end <= memory.size:
        raise Fault(f"an atomic operation on byte {start} of {memory.name}, which has {memory.size}")
    if memory.constant:
        raise Fault(f"an atomic operation on {memory.name}, which is constant")
    if not all(memory.written[start // memory.unit : -(-end // memory.unit)]):
        name = f"element {pointer.element(dtype)} of {memory.name}"
        raise Fault(f"an atomic operation on {name}, which was never written")
    element = memory.raw[start:end].view(scalar)
    old = element[0].item()
    with np.errstate(all="ignore"):
        element[0] = _ATOMIC[kind](element[0], scalar.type(value))
    return old


NAMESPACE: dict[str, Any] = {
    f.__name__: f
    for f in (
        address,
        allocate,
        atomic,
        check_elements,
        check_noalias,
        constant,
        extent,
        failed,
        fault,
        is_same,
        match_buffer,
        memory_behind,
        offset_of,
        out_of_bounds,
        pointer,
        print_line,
        read_all,
        stride,
        uninitialized,
        write_all,
        write_to_constant,
    )
} | {"np": np, "Memory": Memory, "Pointer": Pointer, "View": View}
"""The names available to generated code besides `numerics`."""
