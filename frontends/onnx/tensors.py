"""Conversion of ONNX's tensors to arrays, without a copy where numpy can view the data."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..models.errors import error_location
from ..models.limits import MOST_DIMENSIONS
from ..models.types import Array, dtype_name
from .errors import OnnxError, OnnxUnsupportedError, require_utf8

# The size in bits of an element, for data types with several elements in a byte.
_PACKED = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2, "float6_e2m3fn": 6, "float6_e3m2fn": 6}

_LONGEST_PATH = 4095  # Linux's PATH_MAX, without the NUL
_LONGEST_NUMBER = 19  # the digits of 2**63 - 1
_MOST_ELEMENTS = 2**58  # numpy counts bytes, at most 16 for an element, in 64 bits


def read_tensor(tensor: TensorProto, folder: Path | None) -> Array:
    """The read-only array of a tensor. External data is read from `folder`.

    Raises OnnxError for missing data, and for data that does not match the shape.
    """
    with error_location(f"tensor '{require_utf8(tensor.name)}'" if tensor.name else "tensor"):
        array = _array(tensor, element_type(tensor.data_type), _shape(tensor), folder)
    array.flags.writeable = False
    return array


def element_type(code: int) -> np.dtype[Any]:
    """The numpy data type for ONNX's code of a data type; `object` for strings."""
    if code == TensorProto.UNDEFINED or code not in TensorProto.DataType.values():
        raise OnnxError(f"unknown data type {code} (expected one of ONNX's TensorProto.DataType)")
    return np.dtype(helper.tensor_dtype_to_np_dtype(code))


def _shape(tensor: TensorProto) -> tuple[int, ...]:
    if len(tensor.dims) > MOST_DIMENSIONS:
        raise OnnxError(f"expected {MOST_DIMENSIONS} dimensions at most, got {len(tensor.dims)}")
    if any(extent < 0 for extent in tensor.dims):
        raise OnnxError(f"expected extents of at least 0, got {list(tensor.dims)}")
    if math.prod(extent for extent in tensor.dims if extent) >= _MOST_ELEMENTS:
        raise OnnxError(f"expected extents of an array that memory can hold, got {list(tensor.dims)}")
    return tuple(tensor.dims)


def _array(tensor: TensorProto, dtype: np.dtype[Any], shape: tuple[int, ...], folder: Path | None) -> Array:
    if tensor.HasField("segment"):
        raise OnnxUnsupportedError("tensors in segments are not supported")
    if tensor.data_location == TensorProto.EXTERNAL:
        return _view_elements(_external_bytes(tensor, _byte_count(dtype, shape), folder), dtype, shape)
    if tensor.HasField("raw_data"):
        data = tensor.raw_data
        if len(data) != _byte_count(dtype, shape):
            raise OnnxError(f"expected {_byte_count(dtype, shape)} bytes for {_words(dtype, shape)}, got {len(data)}")
        return _view_elements(np.frombuffer(data, np.uint8), dtype, shape)
    return _from_fields(tensor, dtype, shape)


def _from_fields(tensor: TensorProto, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    field = helper.tensor_dtype_to_field(tensor.data_type)
    got, count = len(getattr(tensor, field)), math.prod(shape)
    if dtype.kind == "c":
        count *= 2
    if _PACKED.get(dtype_name(dtype), 8) < 5:  # numbers of 6 bits are packed in raw data only
        count = _byte_count(dtype, shape)
    if got != count:
        raise OnnxError(f"expected {count} numbers in {field} for {_words(dtype, shape)}, got {got}")
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, OverflowError) as error:
        raise OnnxError(f"{field} holds no {dtype_name(dtype)}: {error}") from error


def _byte_count(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    if dtype == np.dtype(object):
        raise OnnxError("expected strings in string_data, got raw or external data")
    bits = _PACKED.get(dtype_name(dtype), 8 * dtype.itemsize)
    return -(-math.prod(shape) * bits // 8)


def _words(dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    return f"{dtype_name(dtype)}{list(shape)}"


def _view_elements(data: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Views bytes as elements of a data type; copies packed elements and unaligned data."""
    if dtype_name(dtype) in _PACKED:
        tensor = TensorProto(data_type=helper.np_dtype_to_tensor_dtype(dtype), dims=shape, raw_data=data.tobytes())
        return numpy_helper.to_array(tensor)
    array = data.view(dtype.newbyteorder("<")).reshape(shape)
    return array if array.flags.aligned else array.copy()


def _external_bytes(tensor: TensorProto, size: int, folder: Path | None) -> Array:
    entries = {require_utf8(entry.key): require_utf8(entry.value) for entry in tensor.external_data}
    if "location" not in entries:
        raise OnnxError("external data without a location")
    path = _external_path(entries["location"], folder)
    offset, length = _number(entries, "offset", 0), _number(entries, "length", size)
    if length != size:
        raise OnnxError(f"expected {size} bytes of external data, got a length of {length}")
    held = path.stat().st_size
    if offset + size > held:
        raise OnnxError(f"expected {size} bytes at {offset} in '{entries['location']}', got a file of {held} bytes")
    if size == 0:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r", offset, (size,)))


def _external_path(location: str, folder: Path | None) -> Path:
    """The file of external data. Raises OnnxError unless it lies in the folder of the model."""
    if folder is None:
        raise OnnxError(f"external data in '{location}', but a model given as bytes has no folder (pass folder=)")
    if "\0" in location or len(os.fsencode(location)) > _LONGEST_PATH:
        raise OnnxError(f"external data: expected a path of at most {_LONGEST_PATH} bytes as location, without NUL")
    path = (folder / location).resolve()
    if Path(location).is_absolute() or not path.is_relative_to(folder.resolve()):
        raise OnnxError(f"external data in '{location}', expected a file inside of the model's folder")
    if not path.is_file():
        raise OnnxError(f"external data in '{location}', which is not there")
    return path


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        raise OnnxError(f"external data: expected a number of bytes as {key}, got '{text[: 2 * _LONGEST_NUMBER]}'")
    return int(text)
