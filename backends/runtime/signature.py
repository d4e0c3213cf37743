"""The signature of a compiled function, from which the runtime checks and passes arguments.

Native code receives one array of 8-byte slots. A scalar takes one slot (its bits in the low bytes), a handle one; a
buffer takes its address, then every dynamic size and every dynamic stride (in elements) of its type.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScalarParameter:
    """A number passed by value. `dtype`: in numpy's spelling."""

    name: str
    dtype: str

    @property
    def slot_count(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}"


@dataclass(frozen=True)
class HandleParameter:
    """An opaque address."""

    name: str

    @property
    def slot_count(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"{self.name}: handle"


@dataclass(frozen=True)
class BufferParameter:
    """A strided array of elements of type `dtype` (in numpy's spelling).

    `shape`: extents, None for dynamic extents. `strides`: in elements, None for dynamic strides; None as a whole for
    C-contiguous. `offset`: elements between the address that native code receives and the first element. `written`:
    native code may write it. `alignment`: bytes that must divide the address, if more than those of `dtype`.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None = None
    offset: int = 0
    written: bool = True
    alignment: int = 1

    @property
    def slot_count(self) -> int:
        return 1 + self.shape.count(None) + (self.strides or ()).count(None)

    def __str__(self) -> str:
        sizes = ", ".join("?" if extent is None else str(extent) for extent in self.shape)
        return f"{self.name}: {self.dtype}[{sizes}]"


RuntimeParameter = ScalarParameter | HandleParameter | BufferParameter


OUT_OF_MEMORY = "out of memory for"
"""The prefix of the message of a failed allocation; the buffer follows."""


@dataclass(frozen=True)
class Failure:
    """The meaning of a positive status of native code. `argument`: the caller passed a wrong argument."""

    message: str
    argument: bool = False


@dataclass(frozen=True)
class FunctionSignature:
    """A function that Python may call. `result`: data type of its result, "handle" for an address, None for no result.
    `noalias`: native code relies on written buffers to share no byte with another buffer. `direct`: Python calls native
    code that checks the arguments (`python_calls.py`). `short`: a call certainly ends within microseconds.
    """

    name: str
    parameters: tuple[RuntimeParameter, ...]
    result: str | None = None
    noalias: bool = False
    direct: bool = False
    short: bool = False

    @property
    def slot_count(self) -> int:
        """The number of slots of a call; the result takes another slot after these."""
        return sum(parameter.slot_count for parameter in self.parameters)


@dataclass(frozen=True)
class PackedSignature:
    """A Python function that native code calls: its registered name, its parameters and its result. Its slots contain
    every size and stride of a buffer, static or not.
    """

    name: str
    parameters: tuple[RuntimeParameter, ...]
    result: str | None = None
