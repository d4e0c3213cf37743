"""Intrinsics of LLVM for the instructions of processors: their types, the features they require, and their meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .dtypes import int_range, parse_dtype

Lanes: TypeAlias = Sequence[int]


@dataclass(frozen=True)
class LlvmIntrinsic:
    """A function of LLVM on vectors, without side effects.

    operands, result: the data types, `uint8x64`; an operand may have any data type of as many bits.  features: the
    features of the processor that the instruction requires, by LLVM's names.  meaning: the lanes of the result, from
    those of the operands.
    """

    operands: tuple[str, ...]
    result: str
    features: frozenset[str]
    meaning: Callable[..., list[int]]


def _products(left: Lanes, right: Lanes) -> list[int]:
    return [a * b for a, b in zip(left, right, strict=True)]


def _sums(values: Lanes, count: int) -> list[int]:
    """The sums of neighbours, `count` at a time."""
    return [sum(values[n : n + count]) for n in range(0, len(values), count)]


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _byte_products(sums: Lanes, left: Lanes, right: Lanes) -> list[int]:
    """Each of the sums, plus the products of four bytes, wrapped."""
    added = _sums(_products(left, right), 4)
    return [_wrapped(value + more, 32) for value, more in zip(sums, added, strict=True)]


def _saturated_pairs(left: Lanes, right: Lanes) -> list[int]:
    """The sums of the products of two bytes, saturated to 16 bits."""
    least, most = int_range(parse_dtype("int16"))
    return [max(least, min(most, value)) for value in _sums(_products(left, right), 2)]


def _pairs(left: Lanes, right: Lanes) -> list[int]:
    """The sums of the products of two integers of 16 bits, wrapped."""
    return [_wrapped(value, 32) for value in _sums(_products(left, right), 2)]


def _vnni(lanes: int) -> LlvmIntrinsic:
    operands = (f"int32x{lanes}", f"uint8x{4 * lanes}", f"int8x{4 * lanes}")
    features = frozenset({"avx512vnni"} if lanes == 16 else {"avx512vnni", "avx512vl"})
    return LlvmIntrinsic(operands, f"int32x{lanes}", features, _byte_products)


def _multiply_add(lanes: int, feature: str) -> LlvmIntrinsic:
    return LlvmIntrinsic((f"int16x{2 * lanes}",) * 2, f"int32x{lanes}", frozenset({feature}), _pairs)


def _multiply_add_bytes(lanes: int, feature: str) -> LlvmIntrinsic:
    operands = (f"uint8x{2 * lanes}", f"int8x{2 * lanes}")
    return LlvmIntrinsic(operands, f"int16x{lanes}", frozenset({feature}), _saturated_pairs)


LLVM_INTRINSICS = {
    **{f"llvm.x86.avx512.vpdpbusd.{32 * lanes}": _vnni(lanes) for lanes in (4, 8, 16)},
    "llvm.x86.sse2.pmadd.wd": _multiply_add(4, "sse2"),
    "llvm.x86.avx2.pmadd.wd": _multiply_add(8, "avx2"),
    "llvm.x86.avx512.pmaddw.d.512": _multiply_add(16, "avx512bw"),
    "llvm.x86.ssse3.pmadd.ub.sw.128": _multiply_add_bytes(8, "ssse3"),
    "llvm.x86.avx2.pmadd.ub.sw": _multiply_add_bytes(16, "avx2"),
    "llvm.x86.avx512.pmaddubs.w.512": _multiply_add_bytes(32, "avx512bw"),
}
"""The intrinsics that programs may call, by name: sums of products of bytes and of integers of 16 bits (Intel 64 and
IA-32 Architectures Software Developer's Manual, volume 2: VPDPBUSD, PMADDWD, PMADDUBSW)."""
