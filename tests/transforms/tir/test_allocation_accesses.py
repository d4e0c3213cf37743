"""Updates of vectors of private allocations, of which a mask excludes lanes."""

import numpy as np
import pytest

import stepwell
from stepwell.backends.passes import apply_passes
from stepwell.dialects.tir import StoreOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module

PASS = "tir-promote-elements"
SUMS = """
@T.prim_func
def main(A: T.Buffer((20,), "float32"), n: T.int32, B: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    sums = T.alloc_buffer((8,), "float32")
    sums[0:8] = T.Broadcast(T.float32(0), 8)
    for k in range(3):
        sums.vstore(
            [T.Ramp(0, 1, 8)],
            sums.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8))
            + A.vload([T.Ramp(k * 8, 1, 8)], predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8)),
            predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8),
        )
    B[0:8] = sums[0:8]
"""


def masked_stores(module: Module) -> int:
    """The number of stores with masks after the pass."""
    module = apply_passes(module, PASS)
    return sum(isinstance(op, StoreOp) and op.predicate is not None for op in module.op.walk())


def test_an_update_with_a_mask_selects_its_lanes() -> None:
    module = parse_tvmscript(SUMS)
    assert masked_stores(module) == 0
    text = apply_passes(module, PASS).script()
    assert "T.Select(T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8)," in text
    assert "A.vload([T.Ramp(k * 8, 1, 8)], predicate=" in text


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 20])
def test_lanes_without_the_mask_keep_their_values(n: int) -> None:
    a = np.arange(20, dtype="float32")
    rows = np.zeros(24, "float32")
    rows[:n] = a[:n]
    out = np.full(8, -1, "float32")
    stepwell.build(parse_tvmscript(SUMS))(a, n, out)
    np.testing.assert_array_equal(out, rows.reshape(3, 8).sum(0))


UPDATED = "sums.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(k * 8, 1, 8)"


@pytest.mark.parametrize(
    ("replaced", "masked"),
    [
        ({"(8,)": "(7,)", "0:8": "0:7", "T.float32(0), 8": "T.float32(0), 7"}, 1),
        ({UPDATED: UPDATED.replace("sums", "rows"), "sums = ": "rows = T.alloc_buffer((8,))\n    sums = "}, 1),
        ({UPDATED: UPDATED.replace("k * 8", "k")}, 1),
        ({UPDATED: UPDATED.replace("Ramp(0", "Ramp(1", 1), "(8,)": "(9,)"}, 1),
        ({"sums.vload([T.Ramp(0, 1, 8)]": "sums.vload([T.Ramp(0, 0, 8)]", "[T.Ramp(0, 1, 8)]": "[T.Ramp(0, 0, 8)]"}, 1),
        ({"range(3)": "T.parallel(3)"}, 1),
        ({"    sums[0:8] = T.Broadcast(T.float32(0), 8)\n": ""}, 1),
        ({"sums[0:8] = T": "sums[0:4] = T", "T.float32(0), 8": "T.float32(0), 4"}, 1),
    ],
    ids=[
        "outside",
        "no update",
        "another mask",
        "another place",
        "one element",
        "concurrent iterations",
        "no values",
        "values of some lanes",
    ],
)
def test_other_stores_keep_their_masks(replaced: dict[str, str], masked: int) -> None:
    text = SUMS
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    assert masked_stores(parse_tvmscript(text)) == masked


def test_first_stores_of_numbers_have_no_masks() -> None:
    text = """
    @T.prim_func
    def main(n: T.int32, B: T.Buffer((8,), "float32")):
        rows = T.alloc_buffer((8,), "float32")
        rows.vstore([T.Ramp(0, 1, 8)], T.Broadcast(T.float32(2), 8), predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))
        for k in range(8):
            if k < n:
                B[k] = rows[k]
        others = T.alloc_buffer((8,), "float32")
        others.vstore([T.Ramp(0, 1, 8)], T.Broadcast(T.float32(3), 8), predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))
        for k in range(8):
            if k < n:
                B[k] = B[k] * others[k]
    """
    assert masked_stores(parse_tvmscript(text)) == 0
    assert masked_stores(parse_tvmscript(text.replace("(0, 1, 8)]", "(1, 1, 8)]"))) == 2
    out = np.zeros(8, "float32")
    stepwell.build(parse_tvmscript(text))(3, out)
    np.testing.assert_array_equal(out, [6, 6, 6, 0, 0, 0, 0, 0])
