"""The conversion of the arguments of a compiled function to slots, with checks.

Checks all properties of a single argument; relations between sizes that share a symbol are asserted by the compiled
function itself.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ...core.arrays import is_masked_array, with_elements_of
from ...core.dtypes import DType, dtype_of_numpy, int_range, nearest_float, numpy_dtype, parse_dtype
from ...core.errors import ArgumentError, StepwellError
from .dlpack import from_dlpack
from .signature import BufferParameter, FunctionSignature, HandleParameter, RuntimeParameter, ScalarParameter

Array = np.ndarray[Any, Any]
Pack = Callable[[Any, list[int]], "Array | None"]
"""Appends the slots of one argument to a list; returns the argument as an array, or None if it is not an array."""


class ArgumentPacker:
    """Converts the arguments of a function to slots. Created once per function."""

    def __init__(self, signature: FunctionSignature) -> None:
        self._signature = signature
        self._packs = tuple(_pack_for(signature.name, parameter) for parameter in signature.parameters)
        self._pairs = exclusive_pairs(signature)

    def pack(self, arguments: Sequence[Any]) -> tuple[list[int], list[Array | None]]:
        """The slots of a call, and the arrays whose memory the slots point to, which must outlive the call. Raises
        ArgumentError for a wrong argument.
        """
        if len(arguments) != len(self._packs):
            raise ArgumentError(self._wrong_count(len(arguments)))
        slots: list[int] = []
        arrays: list[Array | None] = []
        try:
            for pack, argument in zip(self._packs, arguments, strict=True):
                arrays.append(pack(argument, slots))
        except StepwellError:
            raise
        except Exception as error:  # of the methods of an argument
            where = f"{self._signature.name}: argument {self._signature.parameters[len(arrays)].name}"
            raise ArgumentError(f"{where}: {type(error).__name__}: {error}") from error
        for first, second in self._pairs:
            a, b = arrays[first], arrays[second]
            if a is not None and b is not None and overlaps(a, b):
                raise ArgumentError(self._overlap(first, second))
        return slots, arrays

    def reject_names(self, named: Collection[str]) -> None:
        """Raises ArgumentError for arguments that are passed by name."""
        if named:
            names = ", ".join(parameter.name for parameter in self._signature.parameters)
            raise ArgumentError(
                f"{self._signature.name}: argument {next(iter(named))} is passed by name, expected {len(self._packs)} "
                f"arguments by position ({names})"
            )

    def _wrong_count(self, got: int) -> str:
        names = ", ".join(parameter.name for parameter in self._signature.parameters)
        return f"{self._signature.name}: expected {len(self._packs)} arguments ({names}), got {got}"

    def _overlap(self, first: int, second: int) -> str:
        names = [self._signature.parameters[index].name for index in (first, second)]
        return (
            f"{self._signature.name}: arguments {names[0]} and {names[1]} must not overlap, "
            "expected buffers that share no memory, got two views of the same bytes"
        )


def exclusive_pairs(signature: FunctionSignature) -> tuple[tuple[int, int], ...]:
    """The pairs of buffers, at least one of them written, that must not overlap; none unless native code relies on
    `noalias`.
    """
    if not signature.noalias:
        return ()
    buffers = [(index, p) for index, p in enumerate(signature.parameters) if isinstance(p, BufferParameter)]
    return tuple((i, j) for i, a in buffers for j, b in buffers if i < j and (a.written or b.written))


def overlaps(a: Array, b: Array) -> bool:
    """Whether two arrays share a byte; True as well if the exact test takes too long."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=1_000_000)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def _pack_for(function: str, parameter: RuntimeParameter) -> Pack:
    where = f"{function}: argument {parameter.name}"
    match parameter:
        case ScalarParameter():
            return _scalar_pack(where, parameter)
        case HandleParameter():
            return _handle_pack(where)
        case BufferParameter():
            return _BufferPack(where, parameter)


# scalars


def _scalar_pack(where: str, parameter: ScalarParameter) -> Pack:
    dtype = parse_dtype(parameter.dtype)
    bits = partial(_float_bits if dtype.is_float else _int_bits, where, dtype)

    def pack(value: Any, slots: list[int]) -> None:
        if is_masked_array(value):
            raise ArgumentError(f"{where}: expected {dtype}, got a masked array")
        slots.append(bits(value))

    return pack


def _int_bits(where: str, dtype: DType, value: Any) -> int:
    number: Any = value
    if isinstance(value, np.generic) and (value.dtype.isbuiltin == 2 or value.dtype == np.bool_):
        number = value.item()  # pyright: ignore[reportUnknownMemberType]
    try:
        number = operator.index(number)
    except TypeError:
        raise ArgumentError(f"{where}: expected {dtype}, got {describe_argument(value)}") from None
    low, high = int_range(dtype)
    if not low <= number <= high:
        raise ArgumentError(f"{where}: expected {dtype}, from {low} to {high}, got {number}")
    return number if number < 2**63 else number - 2**64


def _float_bits(where: str, dtype: DType, value: Any) -> int:
    if not isinstance(value, int | float) and not _is_real(value):
        raise ArgumentError(f"{where}: expected {dtype}, got {describe_argument(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if nearest_float(number, dtype) is None or (isinstance(value, int) and math.isinf(number)):
        raise ArgumentError(f"{where}: expected {dtype}, got {value}, which is out of its range")
    return int.from_bytes(np.array(number, numpy_dtype(dtype)).tobytes(), "little")


def _is_real(value: Any) -> bool:
    """Whether `value` is a numpy scalar or 0-d array of a supported data type."""
    if not isinstance(value, np.generic | np.ndarray) or value.shape != ():
        return False
    try:
        dtype_of_numpy(value.dtype)
    except ValueError:
        return False
    return True


# handles


def _handle_pack(where: str) -> Pack:
    def pack(value: Any, slots: list[int]) -> None:
        slots.append(_address(where, value))

    return pack


_POINTERS = (ctypes._Pointer, ctypes._CFuncPtr)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def _address(where: str, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, ctypes.c_void_p | ctypes.c_char_p) or isinstance(value, _POINTERS):
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    if isinstance(value, ctypes.Array | ctypes.Structure):
        return ctypes.addressof(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(
            f"{where}: expected an address (int or ctypes pointer), got {describe_argument(value)}"
        ) from None
    if not 0 <= number < 2**64:
        raise ArgumentError(f"{where}: expected an address, from 0 to 2**64 - 1, got {number}")
    return number if number < 2**63 else number - 2**64


# arrays


class _BufferPack:
    """Checks an array argument. The path of a correct argument is kept short: every call pays for it."""

    def __init__(self, where: str, parameter: BufferParameter) -> None:
        self._where = where
        self._parameter = parameter
        self._dtype = numpy_dtype(parameter.dtype)
        self._rank = len(parameter.shape)
        self._static = None not in parameter.shape
        self._open_axes = tuple(axis for axis, extent in enumerate(parameter.shape) if extent is None)
        self._fixed_axes = tuple((axis, extent) for axis, extent in enumerate(parameter.shape) if extent is not None)
        self._alignment = parameter.alignment
        self._bytes_before = parameter.offset * self._dtype.itemsize

    def __call__(self, value: Any, slots: list[int]) -> Array:
        array = value if type(value) is np.ndarray else self._convert(value)
        if array.dtype != self._dtype and (array := with_elements_of(array, self._dtype)).dtype != self._dtype:
            self._fail(f"elements of type {self._parameter.dtype}", str(array.dtype))
        shape = array.shape
        if self._static:
            if shape != self._parameter.shape:
                self._wrong_shape(shape)
        else:
            self._check_open_shape(shape)
        flags = array.flags
        if self._parameter.strides is None and not flags.c_contiguous:
            self._fail("a C-contiguous array", f"strides {array.strides} (bytes) for shape {shape}")
        address = array.ctypes.data
        if not flags.aligned:
            past = address % self._dtype.alignment
            self._fail(f"elements aligned to {self._dtype.alignment} bytes", f"an address {past} past one")
        if past := address % self._alignment:
            self._fail(f"memory aligned to {self._alignment} bytes", f"an address {past} past one")
        if self._parameter.written and not flags.writeable:
            self._fail("a writeable array", "a read-only one")
        slots.append(address - self._bytes_before)
        slots.extend([shape[axis] for axis in self._open_axes])
        if self._parameter.strides is not None:
            slots.extend(self._open_strides(array, self._parameter.strides))
        return array

    def _convert(self, value: Any) -> Array:
        if isinstance(value, np.ndarray):
            if is_masked_array(value):
                self._fail("an array without a mask", "a masked array (`filled()` is a copy without a mask)")
            return value.view(np.ndarray)
        if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__") and not isinstance(value, np.generic):
            try:
                return from_dlpack(value)
            except ArgumentError as error:
                raise ArgumentError(f"{self._where}: {error}") from error.__cause__
        self._fail(f"an array of {self._parameter.dtype}", describe_argument(value))

    def _check_open_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != self._rank or any(shape[axis] != extent for axis, extent in self._fixed_axes):
            self._wrong_shape(shape)

    def _wrong_shape(self, shape: tuple[int, ...]) -> None:
        expected = "(" + ", ".join("?" if extent is None else str(extent) for extent in self._parameter.shape)
        expected += ",)" if self._rank == 1 else ")"
        if len(shape) != self._rank:
            self._fail(f"{self._rank} dimensions, shape {expected}", f"{len(shape)} dimensions, shape {shape}")
        self._fail(f"shape {expected}", str(shape))

    def _open_strides(self, array: Array, expected: tuple[int | None, ...]) -> list[int]:
        """The dynamic strides, in elements. A dimension with one element, or an empty array, may have any stride."""
        result: list[int] = []
        for axis, (stride, wanted) in enumerate(zip(array.strides, expected, strict=True)):
            elements, rest = divmod(stride, self._dtype.itemsize)
            if array.shape[axis] <= 1 or array.size == 0:
                elements, rest = (elements if wanted is None else wanted), 0
            if rest or (wanted is not None and elements != wanted):
                what = f"{wanted} elements" if wanted is not None else f"a multiple of {self._dtype.itemsize} bytes"
                self._fail(f"stride {axis} to be {what}", f"{stride} bytes")
            if wanted is None:
                result.append(elements)
        return result

    def _fail(self, expected: str, got: str) -> NoReturn:
        raise ArgumentError(f"{self._where}: expected {expected}, got {got}")


def describe_argument(value: Any) -> str:
    """An argument in an error message: its type, and its shape or short value."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value) if isinstance(value, bool | int | float | str | None) else ""
    return f"{type(value).__name__}{' ' + text if 0 < len(text) < 30 else ''}"
