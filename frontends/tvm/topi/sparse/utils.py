"""The module `tvm.topi.sparse.utils`: random matrices with blocks."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .....core.errors import ArgumentError
from ...absent import report_absent

__getattr__ = report_absent("tvm.topi.sparse.utils")


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> Any:
    """A matrix of scipy in BSR, with random blocks of numbers at random places. density: the share of its elements that
    the blocks hold. Needs scipy."""
    if m % bs_r or n % bs_c:
        raise ArgumentError(f"random_bsr_matrix: blocks of {bs_r} by {bs_c} in {m} by {n}, expected whole blocks")
    rows, columns = m // bs_r, n // bs_c
    count = int(int(density * m * n) / (bs_r * bs_c)) + 1
    chosen = np.random.choice(rows * columns, count, replace=False)
    blocks = np.zeros((rows, bs_r, columns, bs_c), dtype)
    blocks[chosen // columns, :, chosen % columns] = np.random.randn(count, bs_r, bs_c)
    return import_module("scipy.sparse").bsr_matrix(blocks.reshape(m, n), blocksize=(bs_r, bs_c))
