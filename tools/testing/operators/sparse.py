"""Samples of operators on sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from .sampling import Array, Draw, Sample, numbers

_DTYPES = ("float32", "float64", "int32")


def _matrix(draw: Draw, rows: int, columns: int, block: Sequence[int], dtype: str) -> list[Array]:
    """The elements or blocks, columns and rows of a sparse matrix; the columns of a row are in any order."""
    chosen = [draw(st.lists(st.integers(0, columns - 1), unique=True, max_size=columns)) for _ in range(rows)]
    kind = draw(st.sampled_from(("int32", "int64")))
    indices = np.array([each for row in chosen for each in row], kind)
    indptr = np.cumsum([0, *map(len, chosen)]).astype(kind)
    return [numbers(draw, (len(indices), *block), dtype, -4, 4), indices, indptr]


@st.composite
def products(draw: Draw, form: str) -> Sample:
    """A dense operand, and a matrix. form: a matrix of two dimensions, or the layout of images."""
    dtype, rows, columns = draw(st.sampled_from(_DTYPES)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if form == "matrix":
        block, attributes = draw(st.sampled_from(((), (height, width)))), {"sparse_lhs": draw(st.booleans())}
    else:
        block, attributes = draw(st.sampled_from(((height,), (height, width)))), {"layout": form}
    count = columns * (block[1] if len(block) > 1 else 1)
    outer = [draw(st.integers(0 if form == "matrix" else 1, 3)) for _ in range(1 if form == "matrix" else 3)]
    at = form.index("C") if form != "matrix" else 1
    dense = numbers(draw, (*outer[:at], count, *outer[at:]), dtype, -4, 4)
    return Sample([dense, *_matrix(draw, rows, columns, block, dtype)], attributes)


@st.composite
def sums(draw: Draw) -> Sample:
    dtype, rows, columns = draw(st.sampled_from(_DTYPES)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    dense = numbers(draw, (rows, columns), dtype)
    return Sample([dense, *_matrix(draw, rows, columns, (), dtype)], {})


@st.composite
def squares(draw: Draw) -> Sample:
    size = draw(st.integers(1, 5))
    return Sample(_matrix(draw, size, size, (), draw(st.sampled_from(_DTYPES))), {})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.sparse_dense": products("matrix"),
    "nn.sparse_conv2d": st.one_of(products("NHWC"), products("NCHW")),
    "nn.sparse_add": sums(),
    "nn.sparse_transpose": squares(),
}
