"""Random kernels that multiply matrices by the matrix operations of warps, with arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...analysis.threads.fragments import COLUMNS, LAYOUTS, LEFT, RIGHT, SHAPES, SUMS, SUMS_OF
from ...core.dtypes import numpy_dtype

Draw = Callable[[st.SearchStrategy[Any]], Any]

TEXT = """
@T.prim_func
def main(A: T.Buffer({a}, "{dtype}"), B: T.Buffer({b}, "{dtype}"), C: T.Buffer({c}, "{sums}")):
    T.func_attr({{"tir.noalias": True}})
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for ty in T.thread_binding({warps}, thread="threadIdx.y"):
            Af = T.alloc_buffer({a_tiles}, "{dtype}", scope="{LEFT}")
            Bf = T.alloc_buffer({b_tiles}, "{dtype}", scope="{RIGHT}")
            Cf = T.alloc_buffer({c_tiles}, "{sums}", scope="{SUMS}")
{copies}{lanes}
{indent}for i, j in T.grid({rows}, {columns}):
{indent}    {start}
{indent}for k in range({depth}):
{indent}    for i in range({rows}):
{indent}        T.tvm_load_matrix_sync(Af.data, {shape}, i, {a_place}, {a[1]}, "{a_layout}")
{indent}    for j in range({columns}):
{indent}        T.tvm_load_matrix_sync(Bf.data, {shape}, j, {b_place}, {b[1]}, "{b_layout}")
{indent}    for i, j in T.grid({rows}, {columns}):
{indent}        T.tvm_mma_sync(Cf.data, i * {columns} + j, Af.data, i, Bf.data, j, Cf.data, i * {columns} + j)
{indent}for i, j in T.grid({rows}, {columns}):
{indent}    T.tvm_store_matrix_sync(Cf.data, {shape}, i * {columns} + j, {c_place}, {c[1]}, "{c_layout}")
"""
COPY = """
            {name}s = T.alloc_buffer({shape}, "{dtype}", scope="shared")
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                for n in range({steps}):
                    e: T.int32 = (n * {warps} + ty) * 32 + tx
                    if e < {size}:
                        {name}s[e // {width}, e % {width}] = {name}[e // {width}, e % {width}]
"""
LANES = """
            for lane in T.thread_binding(32, thread="threadIdx.x"):
"""


@dataclass(frozen=True)
class MatrixProgram:
    """A kernel that computes C = A @ B, or C += A @ B, by tiles.

    shape: of a product of tiles (m, n, k).  tiles: the numbers of tiles along m for each warp, n and k.  layouts: of A,
    B and C in memory.  pads: the additional elements of each row of memory.  is_shared: whether threads copy A and B to
    shared memory first.  is_flat: whether buffers of fragments have one dimension.  is_added: whether C is added to.
    in_lanes: whether the operations are in a loop over `threadIdx.x`.
    """

    shape: tuple[int, int, int]
    dtype: str
    sums: str
    tiles: tuple[int, int, int]
    warps: int
    layouts: tuple[str, str, str]
    pads: tuple[int, int, int]
    is_shared: bool
    is_flat: bool
    is_added: bool
    in_lanes: bool

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes of the whole product (m, n, k)."""
        m, n, k = (size * count for size, count in zip(self.shape, self.tiles, strict=True))
        return m * self.warps, n, k

    def memory(self) -> list[tuple[int, int]]:
        """The shapes of A, B and C in memory, whose rows are multiples of 16 bytes."""
        m, n, k = self.sizes
        shapes: list[tuple[int, int]] = []
        for rows, columns, layout, pad in zip((m, k, m), (k, n, n), self.layouts, self.pads, strict=True):
            rows, columns = (columns, rows) if layout == COLUMNS else (rows, columns)
            step = 16 // numpy_dtype(self.dtype).itemsize
            shapes.append((rows, -(-columns // step) * step + pad))
        return shapes

    def text(self) -> str:
        """The program in TVMScript."""
        m, n, k = self.shape
        rows, columns, depth = self.tiles
        a, b, c = self.memory()
        sources = ("As", "Bs") if self.is_shared else ("A", "B")
        line = f"(ty * {rows} + i) * {m}"
        places = [
            self._place(sources[0], line, f"k * {k}", 0),
            self._place(sources[1], f"k * {k}", f"j * {n}", 1),
            self._place("C", line, f"j * {n}", 2),
        ]
        shape, number = f"{m}, {n}, {k}", f"i * {columns} + j"
        start = f"T.tvm_fill_fragment(Cf.data, {shape}, {number}, T.cast(3, '{self.sums}'))"
        if self.is_added:
            start = f'T.tvm_load_matrix_sync(Cf.data, {shape}, {number}, {places[2]}, {c[1]}, "{self.layouts[2]}")'
        tiles = [self._tiles((m, k), rows, 0), self._tiles((k, n), columns, 1), self._tiles((m, n), rows * columns, 2)]
        copies = "".join(self._copy(name, each) for name, each in (("A", a), ("B", b))) if self.is_shared else ""
        return TEXT.format(
            a=a, b=b, c=c, dtype=self.dtype, sums=self.sums, warps=self.warps, LEFT=LEFT, RIGHT=RIGHT, SUMS=SUMS,
            a_tiles=tiles[0], b_tiles=tiles[1], c_tiles=tiles[2], copies=copies, lanes=LANES if self.in_lanes else "",
            indent=" " * (16 if self.in_lanes else 12), rows=rows, columns=columns, depth=depth, start=start,
            shape=shape, a_place=places[0], b_place=places[1], c_place=places[2], a_layout=self.layouts[0],
            b_layout=self.layouts[1], c_layout=self.layouts[2],
        )  # fmt: skip

    def _place(self, name: str, row: str, column: str, number: int) -> str:
        if self.layouts[number] == COLUMNS:
            row, column = column, row
        return f"T.address_of({name}[{row}, {column}])"

    def _tiles(self, matrix: tuple[int, int], count: int, number: int) -> tuple[int, ...]:
        """The shape of a buffer of fragments."""
        rows, columns = matrix
        if number < 2 and self.layouts[number] == COLUMNS:
            rows, columns = columns, rows
        return (count * rows * columns,) if self.is_flat else (count * rows, columns)

    def _copy(self, name: str, shape: tuple[int, int]) -> str:
        size = shape[0] * shape[1]
        steps = -(-size // (32 * self.warps))
        return COPY.format(
            name=name, shape=shape, dtype=self.dtype, steps=steps, warps=self.warps, size=size, width=shape[1]
        )

    def arguments(self, seed: int) -> list[np.ndarray[Any, Any]]:
        """Matrices of small integers, whose products have no rounding errors in any data type."""
        rng = np.random.default_rng(seed)
        least = 0 if self.dtype.startswith("u") else -2
        dtypes = (self.dtype, self.dtype, self.sums)
        return [
            rng.integers(least, 4, shape).astype(numpy_dtype(dtype))
            for shape, dtype in zip(self.memory(), dtypes, strict=True)
        ]

    def results(
        self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], c: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """The elements of C after a call, computed by numpy."""
        m, n, k = self.sizes
        left, right = self._matrix(a, 0, m, k), self._matrix(b, 1, k, n)
        result = c.copy()
        sums = self._matrix(result, 2, m, n)
        product = left.astype(np.float64) @ right.astype(np.float64)
        sums[:] = ((sums.astype(np.float64) if self.is_added else 3) + product).astype(result.dtype)
        return result

    def _matrix(self, array: np.ndarray[Any, Any], number: int, rows: int, columns: int) -> np.ndarray[Any, Any]:
        """The view of a matrix in memory."""
        if self.layouts[number] == COLUMNS:
            return array[:columns, :rows].T
        return array[:rows, :columns]


@st.composite
def matrix_programs(draw: Draw) -> MatrixProgram:
    """Draws a program."""
    dtype = draw(st.sampled_from(sorted(SUMS_OF)))
    sums = draw(st.sampled_from(SUMS_OF[dtype]))
    step = 16 // numpy_dtype(dtype).itemsize
    pad = st.sampled_from((0, step, 2 * step))
    return MatrixProgram(
        shape=draw(st.sampled_from(SHAPES)),
        dtype=dtype,
        sums=sums,
        tiles=(draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        warps=draw(st.integers(1, 2)),
        layouts=tuple(draw(st.sampled_from(LAYOUTS)) for _ in range(3)),  # pyright: ignore[reportArgumentType]
        pads=(draw(pad), draw(pad), draw(st.sampled_from((0, 8, 16)))),
        is_shared=draw(st.booleans()),
        is_flat=draw(st.booleans()),
        is_added=draw(st.booleans()),
        in_lanes=draw(st.booleans()),
    )
