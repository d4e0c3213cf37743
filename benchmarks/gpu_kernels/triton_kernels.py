"""The same programs in Triton, for comparison where it is installed. Each takes tensors of torch."""

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def _add(a, b, c, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i) + tl.load(b + i))


def add(a: Any, b: Any, c: Any) -> None:
    _add[(a.numel() // 1024,)](a, b, c, BLOCK=1024)


@triton.jit
def _transpose(a, b, size, TILE: tl.constexpr):
    i = tl.program_id(1) * TILE + tl.arange(0, TILE)
    j = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tile = tl.load(a + i[:, None] * size + j[None, :])
    tl.store(b + j[:, None] * size + i[None, :], tl.trans(tile))


def transpose(a: Any, b: Any) -> None:
    size = a.shape[0]
    _transpose[(size // 32, size // 32)](a, b, size, TILE=32)


@triton.jit
def _row_sum(a, b, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(b + row, tl.sum(tl.load(a + row * COLUMNS + tl.arange(0, COLUMNS))))


def row_sum(a: Any, b: Any) -> None:
    _row_sum[(a.shape[0],)](a, b, COLUMNS=a.shape[1], num_warps=8)


@triton.jit
def _column_sum(a, b, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    j = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    i = tl.arange(0, ROWS)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for at in range(0, rows, ROWS):
        total += tl.load(a + (at + i)[:, None] * COLUMNS + j[None, :])
    tl.store(b + j, tl.sum(total, axis=0))


def column_sum(a: Any, b: Any) -> None:
    _column_sum[(a.shape[1] // 32,)](a, b, a.shape[0], COLUMNS=a.shape[1], ROWS=64, WIDTH=32, num_warps=8)


@triton.jit
def _softmax(a, b, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    values = tl.load(a + at)
    powers = tl.exp(values - tl.max(values))
    tl.store(b + at, powers / tl.sum(powers))


def softmax(a: Any, b: Any) -> None:
    _softmax[(a.shape[0],)](a, b, COLUMNS=a.shape[1], num_warps=8)


@triton.jit
def _gemm(a, b, c, size, TILE: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(1) * TILE + tl.arange(0, TILE)
    j = tl.program_id(0) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, STEP)
    total = tl.zeros((TILE, TILE), tl.float32)
    for at in range(0, size, STEP):
        left = tl.load(a + i[:, None] * size + (at + k)[None, :])
        right = tl.load(b + (at + k)[:, None] * size + j[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + i[:, None] * size + j[None, :], total)


def gemm(a: Any, b: Any, c: Any) -> None:
    size = a.shape[0]
    _gemm[(size // 64, size // 64)](a, b, c, size, TILE=64, STEP=16)


def seconds(run: Any, number: int, repeat: int) -> float:
    """The least mean of `number` runs."""
    run()
    times = []
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(number):
            run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1000 / number)
    return sorted(times)[len(times) // 2]
