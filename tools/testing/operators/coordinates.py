"""Samples of operators on coordinates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .indexing import random_indices
from .sampling import ALL, EXTENTS, FLOATS, INTEGERS, NUMBERS, SHAPES, SIGNED, Draw, Sample, numbers


@st.composite
def grid_samples(draw: Draw) -> Sample:
    dtype = draw(st.sampled_from(ALL))
    shapes = draw(st.lists(st.one_of(st.just(()), EXTENTS.map(lambda n: (n,))), min_size=1, max_size=3))
    return Sample([numbers(draw, shape, dtype) for shape in shapes], {"indexing": draw(st.sampled_from(("ij", "xy")))})


@st.composite
def unravel_samples(draw: Draw) -> Sample:
    extents = draw(st.lists(st.integers(1, 5), max_size=4))
    indices = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), 0, 100)
    return Sample([indices, np.asarray(extents, draw(st.sampled_from(("int32", "int64"))))])


@st.composite
def adv_index_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(ALL)))
    shape = draw(SHAPES)
    places = list[np.ndarray]()
    for _ in range(draw(st.integers(1, data.ndim))):
        kept = tuple(1 if draw(st.booleans()) else size for size in shape)
        places.append(random_indices(draw, kept[draw(st.integers(0, len(kept))) :]))
    return Sample([data, *places])


@st.composite
def permutation_samples(draw: Draw) -> Sample:
    order = draw(st.permutations(range(draw(EXTENTS))))
    if draw(st.booleans()):
        return Sample([random_indices(draw, (len(order),))])
    return Sample([np.asarray(order, draw(st.sampled_from(SIGNED)))])


@st.composite
def sparse_samples(draw: Draw) -> Sample:
    dtype = draw(st.sampled_from(NUMBERS))
    shape = draw(SHAPES.filter(bool))
    rows = draw(st.sampled_from((0, 1, 4)))
    if len(shape) == 1 and draw(st.booleans()):
        indices = random_indices(draw, (rows,) if draw(st.booleans()) else ())
    else:
        indices = random_indices(draw, (rows, len(shape)))
    values = numbers(draw, indices.shape[:1] if draw(st.booleans()) else (), dtype)
    return Sample(
        [indices, values, numbers(draw, (), draw(st.sampled_from(("int32", dtype))))], {"output_shape": shape}
    )


@st.composite
def sparse_shapes(draw: Draw) -> Sample:
    """Indices of elements of a tensor, its shape, and the same sizes with others merged or split."""
    old = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    new = [*old, 1] if draw(st.booleans()) else draw(st.permutations(old))
    if len(new) > 1 and draw(st.booleans()):
        new = [new[0] * new[1], *new[2:]]
    if draw(st.booleans()):
        new = [*new]
        new[draw(st.integers(0, len(new) - 1))] = -1
    rows = draw(st.sampled_from((0, 1, 5)))
    places = np.random.default_rng(draw(st.integers(0, 2**16))).integers(0, old, (rows, len(old)))
    kinds = [draw(st.sampled_from(("int32", "int64"))) for _ in range(3)]
    return Sample([np.asarray(each, kind) for each, kind in zip((places, old, new), kinds, strict=True)])


@st.composite
def diagonal_samples(draw: Draw) -> Sample:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    low, high = sorted(draw(st.integers(1 - rows, columns - 1)) for _ in range(2))
    longest = max(min(columns - max(k, 0), rows + min(k, 0)) for k in range(low, high + 1))
    outer, dtype = draw(SHAPES)[:1], draw(st.sampled_from(ALL))
    shape = (*outer, *([high - low + 1] if low < high else []), longest)
    sides = {"super_diag_right_align": draw(st.booleans()), "sub_diag_right_align": draw(st.booleans())}
    data = numbers(draw, (*outer, rows, columns), dtype)
    return Sample([data, numbers(draw, shape, dtype)], {"k1": low, "k2": high, **sides})


@st.composite
def loss_samples(draw: Draw) -> Sample:
    dtype, classes = draw(st.sampled_from(FLOATS[1:])), draw(st.integers(1, 4))
    batch, *rest = (draw(st.sampled_from((1, 2, 3))), *draw(SHAPES)[:2])
    data = numbers(draw, (batch, classes, *rest), dtype, -2, 2)
    targets = numbers(draw, (batch, *rest), draw(st.sampled_from(SIGNED)), -1, classes)
    weights = numbers(draw, (classes,), dtype, 1, 2)
    reduction = draw(st.sampled_from(("none", "sum", "mean")))
    return Sample([data, targets, weights], {"reduction": reduction, "ignore_index": draw(st.integers(-2, classes))})


@st.composite
def product_samples(draw: Draw) -> Sample:
    multiplier = draw(st.integers(-(2**31), 2**31 - 1))
    data = numbers(draw, draw(SHAPES), "int32", -(2**20), 2**20)
    return Sample([data], {"multiplier": multiplier, "shift": draw(st.integers(-30, 8))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "adv_index": adv_index_samples(),
    "fixed_point_multiply": product_samples(),
    "invert_permutation": permutation_samples(),
    "matrix_set_diag": diagonal_samples(),
    "meshgrid": grid_samples(),
    "nn.nll_loss": loss_samples(),
    "sparse_reshape": sparse_shapes(),
    "sparse_to_dense": sparse_samples(),
    "unravel_index": unravel_samples(),
}
