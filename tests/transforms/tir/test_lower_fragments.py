"""Matrix operations that no tensor core has are rejected, with their place."""

import numpy as np
import pytest

from stepwell import UnsupportedError, apply_passes, build, parse_tvmscript

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((16, 32), "{dtype}"), B: T.Buffer((16, 32), "{dtype}"), C: T.Buffer((16, 32), "float32")):
    X = T.alloc_buffer((16, 16), "{dtype}", scope="{scope}")
    Y = T.alloc_buffer({shape}, "{dtype}", scope="wmma.matrix_b")
    Z = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
    {start}
    T.tvm_load_matrix_sync(X.data, {size}, 0, T.address_of(A[0, 8]), 32, "{layout}")
    T.tvm_load_matrix_sync(Y.data, 16, 16, 16, 0, B.access_ptr("r"), 32, "row_major")
    T.tvm_mma_sync(Z.data, 0, X.data, 0, Y.data, 0, Z.data, 0)
    T.tvm_store_matrix_sync(Z.data, 16, 16, 16, 0, C.access_ptr("w", offset=2), 32, "row_major")
"""
DEFAULTS = {
    "dtype": "float16",
    "scope": "wmma.matrix_a",
    "shape": (16, 16),
    "start": "T.tvm_fill_fragment(Z.data, 16, 16, 16, 0, 0.0)",
    "size": "16, 16, 16",
    "layout": "row_major",
}


def test_loops_compute_the_product_on_a_processor_too() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (16, 32)).astype("float16") for _ in range(2))
    results = [np.zeros((16, 32), "float32") for _ in range(2)]
    for target, c in zip(("python", "llvm"), results, strict=True):
        build(parse_tvmscript(PROGRAM.format(**DEFAULTS)), target=target)(a, b, c)
        np.testing.assert_array_equal(c[:, 2:18], a[:, 8:24].astype("float32") @ b[:, :16].astype("float32"))
        assert not c[:, :2].any()
        assert not c[:, 18:].any()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"size": "16, 16, 8"}, "7:.*: the shape is 16x16x8, expected one of 16x16x16, 8x32x16, 32x8x16"),
        ({"size": "8, 32, 16"}, "7:.*: a buffer of 16x16 elements|9:.*: fragments of 8x32x16"),
        ({"layout": "diagonal"}, "the layout is 'diagonal', expected 'row_major' or 'col_major'"),
        ({"scope": "shared"}, "X is in memory 'shared', expected a fragment"),
        ({"scope": "wmma.matrix_b"}, "a fragment of wmma.matrix_b, expected wmma.matrix_a"),
        ({"dtype": "float64"}, "has elements of float64, expected float16, bfloat16, int8, uint8"),
        ({"dtype": "int8"}, "sums of float32, expected int32 for int8"),
        ({"shape": (16, 24)}, "a buffer of 16x24 elements, expected tiles of 16x16"),
        (
            {"start": "T.tvm_fill_fragment(Z.data, 32, 8, 16, 0, 0.0)"},
            "Z has fragments of 16x16x16, and of 32x8x16 before",
        ),
    ],
)
def test_operations_that_no_tensor_core_has_are_rejected(changes: dict[str, object], expected: str) -> None:
    mod = parse_tvmscript(PROGRAM.format(**{**DEFAULTS, **changes}))
    with pytest.raises(UnsupportedError, match=expected):
        apply_passes(mod, "tir-lower-match-buffers,tir-lower-fragments")


def test_a_factor_of_an_unknown_layout_is_rejected() -> None:
    text = """\
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "float16", scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "float16", scope="wmma.matrix_b")
    C = T.match_buffer(c, (16, 16), "float32", scope="wmma.accumulator")
    {fill}
    T.tvm_mma_sync(C.data, 0, A.data, 0, B.data, 0, C.data, 0)
"""
    with pytest.raises(UnsupportedError, match="no shape of the fragments in C, expected a load, fill or store"):
        build(parse_tvmscript(text.format(fill="")), target="python")
    fill = "\n    ".join(f"T.tvm_fill_fragment({name}.data, 16, 16, 16, 0, 0.0)" for name in "ABC")
    with pytest.raises(UnsupportedError, match="no layout of A, expected a load in this function"):
        build(parse_tvmscript(text.format(fill=fill)), target="python")
