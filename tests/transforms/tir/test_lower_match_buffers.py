"""`match_buffer` regions: results after the lowering, and refusals."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import ExecutionError, PassError, UnsupportedError
from stepwell.frontends.mlir import parse_mlir
from stepwell.module import Module
from stepwell.transforms.pipelines import run_pipeline
from stepwell.transforms.tir.lower_match_buffers import TirLowerMatchBuffersPass

GRID = np.arange(128, dtype="float32").reshape(8, 16)


def _lower(text: str) -> Module:
    module = parse_mlir(text)
    module.verify()
    lowered = run_pipeline(module, [TirLowerMatchBuffersPass()])
    lowered.verify()
    assert "tir.match_region" not in str(lowered)
    return lowered


def _run_both(text: str, *arguments: Any) -> list[Any]:
    """The arguments after a run of the lowered program, asserted to be equal to those of the original program."""
    outcomes = []
    for module in (parse_mlir(text), _lower(text)):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        run_oracle(module, "main", given)
        outcomes.append(given)
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(a, b)
    return outcomes[1]


def test_elements_of_boxes_of_boxes_are_those_of_the_buffer() -> None:
    text = """
    tir.func @main("A" %A: memref<8x16xf32>, "O" %O: memref<4xf32>, "k" %k: i32) {
      %B = tir.match_region "B" %A[%k +: 4, 4 +: 8] : memref<8x16xf32> -> memref<4x8xf32>
      tir.for serial "i" %i : i32 in [0 +: 4] {
        %row = tir.match_region "row" %B[%i, %k +: 4] : memref<4x8xf32> -> memref<4xf32>
        %x = tir.load %row[%i] : memref<4xf32>
        tir.store %x, %O[%i] : memref<4xf32>
        tir.store %x, %row[%k] : memref<4xf32>
      }
    }"""
    _, out, _ = _run_both(text, GRID, np.zeros(4, "float32"), 2)
    np.testing.assert_array_equal(out, [GRID[2 + i, 6 + i] for i in range(4)])


def test_strides_and_offset_of_a_box_lead_to_its_elements() -> None:
    text = """
    tir.func @main("A" %A: memref<8x16xf32>, "O" %O: memref<2xf32>, "k" %k: i32) {
      %s = tir.symbol "s" : i32
      %o = tir.symbol "o" : i32
      %layout = tir.match_region "B" %A[%k +: 4, 4 +: 4] strides [%s] offset [%o] : memref<8x16xf32> -> memref<4x4xf32, strided<[?, 1], offset: ?>>
      %p = tir.buffer_data %layout : memref<4x4xf32, strided<[?, 1], offset: ?>> -> !tir.handle<f32>
      %flat = tir.decl_buffer "flat" %p : !tir.handle<f32> -> memref<128xf32>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %at = arith.addi %o, %s : i32
      %x = tir.load %flat[%at] : memref<128xf32>
      tir.store %x, %O[%c0] : memref<2xf32>
      %y = tir.load %layout[%c1, %c0] : memref<4x4xf32, strided<[?, 1], offset: ?>>
      tir.store %y, %O[%c1] : memref<2xf32>
    }"""  # noqa: E501
    _, out, _ = _run_both(text, GRID, np.zeros(2, "float32"), 3)
    assert list(out) == [GRID[4, 4]] * 2


def test_what_a_box_says_of_its_extents_is_checked() -> None:
    text = """
    tir.func @main("A" %A: memref<16xf32>, "n" %n: i32) {
      %B = tir.match_region "B" %A[0 +: %n] : memref<16xf32> -> memref<4xf32>
    }"""
    lowered = _lower(text)
    run_oracle(lowered, "main", [np.zeros(16, "float32"), 4])
    with pytest.raises(ExecutionError, match=r"B: shape\[0\] must be 4"):
        run_oracle(lowered, "main", [np.zeros(16, "float32"), 5])


def _module(body: str) -> str:
    return f"""
    tir.func @main("A" %A: memref<8x16xf32>, "k" %k: i32) {{
      {body}
    }}
    tir.func private @callee("A" %A: memref<4x4xf32>) {{
    }}"""


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            '%B = tir.match_region "B" %A[0 +: 8, 0 +: 4] : memref<8x16xf32> -> memref<8x8xf32>',
            PassError,
            r"B: shape\[1\] is 4, expected 8",
        ),
        (
            '%B = tir.match_region "B" %A[0 +: 8, 0 +: 4] : memref<8x16xf32> -> memref<8x4xf32, strided<[4, 1]>>',
            PassError,
            r"B: strides\[0\] is 16, expected 4",
        ),
        (
            '%B = tir.match_region "B" %A[0 +: 8, 0 +: 4] : memref<8x16xf32> -> memref<4xf32>',
            PassError,
            r"B: the box has 2 dimensions, expected 1",
        ),
        (
            '%B = tir.match_region "B" %A[0 +: 4, 0 +: 4] : memref<8x16xf32> -> memref<4x4xf32>\n'
            "tir.call @callee(%B) : memref<4x4xf32>",
            UnsupportedError,
            r"tir\.call: B is not contiguous, give the strides it is to have",
        ),
    ],
)
def test_a_box_that_cannot_be_what_it_says_is_refused(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run_pipeline(parse_mlir(_module(body)), [TirLowerMatchBuffersPass()])
