"""Parameters by name as bytes, in TVM's format: `save_param_dict`, `load_param_dict`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import plain_array
from ...core.dtypes import numpy_dtype, parse_dtype
from ...core.errors import LoadError, OptionError
from .nd import HostArray, NDArray

_LIST, _ARRAY = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
"""The first numbers of a file, and of an array in it."""
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
_BOOLS = ((1, 1), (6, 8))
"""The codes and bits of `bool`, in TVM until and since v0.21."""
_CPU = (1, 0)


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Arrays by name as bytes. OptionError for an array of a type without whole bytes."""
    names = [name.encode() for name in params]
    parts = [struct.pack("<3Q", _LIST, 0, len(names))]
    parts += [struct.pack("<Q", len(name)) + name for name in names]
    parts.append(struct.pack("<Q", len(names)))
    parts += [array_bytes(plain_array(value), name) for name, value in params.items()]
    return b"".join(parts)


def array_bytes(values: np.ndarray[Any, Any], name: str = "data") -> bytes:
    """An array as bytes. name: that of the array in errors.  OptionError for an array of a type without whole bytes."""
    kind = parse_dtype(values.dtype.name)
    if not kind.is_bool and (kind.kind not in _CODES or kind.bits < 8):
        raise OptionError(f"parameter {name} of {values.dtype.name}, expected a type of whole bytes")
    code, bits = _BOOLS[0] if kind.is_bool else (_CODES[kind.kind], kind.bits)
    head = struct.pack("<2Q3i2BH", _ARRAY, 0, *_CPU, values.ndim, code, bits, 1)
    data = np.ascontiguousarray(values).tobytes()
    return head + struct.pack(f"<{values.ndim + 1}q", *values.shape, len(data)) + data


def read_array_bytes(data: bytes) -> np.ndarray[Any, Any]:
    """The array of `array_bytes`. LoadError for other bytes."""
    return _read_array(_Reader(data), "data")


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.place = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.place + count > len(self.data):
            raise LoadError(f"parameters: {len(self.data)} bytes, expected more")
        self.place += count
        return self.data[self.place - count : self.place]

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """The arrays by name of `save_param_dict`, here or in TVM. LoadError for other bytes."""
    reader = _Reader(bytes(param_bytes))
    magic, _, count = reader.numbers("3Q")
    if magic != _LIST:
        raise LoadError("parameters: expected the bytes of save_param_dict")
    names = [reader.take(reader.numbers("Q")[0]).decode() for _ in range(count)]
    if reader.numbers("Q")[0] != count:
        raise LoadError(f"parameters: {count} names of another number of arrays")
    return {name: HostArray(_read_array(reader, name)) for name in names}


def _read_array(reader: _Reader, name: str) -> np.ndarray[Any, Any]:
    magic, _, _, _, rank, code, bits, lanes = reader.numbers("2Q3i2BH")
    kinds = {number: kind for kind, number in _CODES.items()}
    if magic != _ARRAY or lanes != 1 or rank < 0 or ((code, bits) not in _BOOLS and code not in kinds):
        raise LoadError(f"parameter {name}: expected an array of numbers")
    shape = reader.numbers(f"{rank}q")
    dtype = numpy_dtype(parse_dtype("bool" if (code, bits) in _BOOLS else f"{kinds[code]}{bits}"))
    size = reader.numbers("q")[0]
    if size != dtype.itemsize * int(np.prod(shape)):
        raise LoadError(f"parameter {name}: {size} bytes, expected {shape} of {dtype.name}")
    return np.frombuffer(reader.take(size), dtype).reshape(shape).copy()


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Writes arrays by name to a file."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, NDArray]:
    """The arrays by name of a file. LoadError for another file."""
    return load_param_dict(Path(path).read_bytes())
