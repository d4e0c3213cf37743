"""The fields of a compiled graph as JSON values, and its constants as the bytes of a file.

Constants are mapped into memory, not read, so that processes which run the same graph share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy, numpy_dtype
from ...transforms.relay.plan_memory import ALIGNMENT
from ..saving.format import Archive, Chunks
from .steps import Array, Branch, Step, Steps, TensorSpec

CONSTANTS = "constants.bin"


def read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an `Executable` that are stored as JSON."""
    tensors = [(_read_spec(**each), each["offset"]) for each in fields["tensors"]]
    return {
        "inputs": tuple(_read_spec(**each) for each in fields["inputs"]),
        "outputs": tuple(_read_spec(**each) for each in fields["outputs"]),
        "entry": fields["entry"],
        "workspace": fields["workspace"],
        "unshared": fields["unshared"],
        "tensors": tuple(tensors),
        "steps": _read_steps(fields["steps"]),
        "returned": tuple(fields["returned"]),
    }


def _read_spec(name: str, shape: list[Any], dtype: str, **_offset: int) -> TensorSpec:
    return TensorSpec(name, tuple(shape), dtype)


def _read_steps(steps: list[dict[str, Any]]) -> Steps:
    return tuple(_read_branch(**each) if "condition" in each else _read_step(**each) for each in steps)


def _read_branch(condition: int, then: list[dict[str, Any]], orelse: list[dict[str, Any]]) -> Branch:
    return Branch(condition, _read_steps(then), _read_steps(orelse))


def _read_step(kernel: str, sizes: list[str], inputs: list[int], outputs: list[int]) -> Step:
    return Step(kernel, tuple(sizes), tuple(inputs), tuple(outputs))


# Constants, consecutive, each at a multiple of `ALIGNMENT`


def _constant_offsets(constants: Mapping[str, Array]) -> Iterator[tuple[str, Array, int]]:
    """Yields the name, array and byte offset of each constant."""
    offset = 0
    for name, array in constants.items():
        yield name, array, offset
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT


def describe_constants(constants: Mapping[str, Array]) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(array.shape), "dtype": dtype_of_numpy(array.dtype).name, "offset": offset}
        for name, array, offset in _constant_offsets(constants)
    ]


def constant_chunks(constants: Mapping[str, Array]) -> Chunks:
    for array in constants.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % ALIGNMENT)


def read_constants(archive: Archive) -> dict[str, Array]:
    memory = archive.bytes_of(CONSTANTS)
    constants: dict[str, Array] = {}
    for entry in archive.content["graph"]["constants"]:
        shape, dtype, offset = tuple(entry["shape"]), numpy_dtype(entry["dtype"]), entry["offset"]
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        constants[entry["name"]] = memory[offset : offset + size].view(dtype).reshape(shape)
    return constants
