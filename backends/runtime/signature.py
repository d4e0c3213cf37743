"""What a compiled function takes and gives, as the runtime must know it to check and pass arguments.

Native code receives one array of 8-byte slots. A scalar takes one slot (its bits in the low bytes), a handle one; a
buffer takes its address, then every size and every stride (in elements) that its type leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScalarParameter:
    """A number passed by value. `dtype` as numpy calls it."""

    name: str
    dtype: str

    @property
    def slot_count(self) -> int:
        return 1


@dataclass(frozen=True)
class HandleParameter:
    """An address that nobody looks behind."""

    name: str

    @property
    def slot_count(self) -> int:
        return 1


@dataclass(frozen=True)
class BufferParameter:
    """A strided array of elements of type `dtype` (as numpy calls it).

    `shape`: extents, None where each call decides. `strides`: in elements, None where each call decides; the whole is
    None for C-contiguous. `offset`: elements between the address that native code gets and the first element.
    `written`: native code may write it. `alignment`: bytes that must divide the address, if more than those of `dtype`.
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


Parameter = ScalarParameter | HandleParameter | BufferParameter


@dataclass(frozen=True)
class Failure:
    """What a positive status of native code stands for. `argument`: the caller passed something wrong."""

    message: str
    argument: bool = False


@dataclass(frozen=True)
class FunctionSignature:
    """A function that Python may call. `result`: dtype of what it returns, "handle" for an address, None for nothing.
    `noalias`: native code relies on written buffers to share no byte with another buffer."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None = None
    noalias: bool = False

    @property
    def slot_count(self) -> int:
        """Slots of one call; the result takes one more after them."""
        return sum(parameter.slot_count for parameter in self.parameters)


@dataclass(frozen=True)
class PackedSignature:
    """A Python function that native code calls: its registered name, and what native code passes and expects.
    In its slots every size and stride of a buffer is present, static or not."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None = None
