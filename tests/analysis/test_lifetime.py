"""Whether iterations of a loop read elements of a buffer written by earlier iterations."""

import pytest

from stepwell.analysis.index import Analyzer
from stepwell.analysis.lifetime import is_fresh_in_each_iteration
from stepwell.dialects.tir import AllocBufferOp, ForOp, WhileOp
from stepwell.frontends.mlir import parse_mlir

HEAD = """
tir.func @main("A" %A: memref<8xf32>, "I" %I: memref<8xi32>, "n" %n: i32, "x" %x: f32, "p" %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %t = tir.alloc_buffer "T" : memref<8xf32>
"""
STORE_ALL = """
tir.for serial "j" %j0 : i32 in [0 +: 8] {
  tir.store %x, %t[%j0] : memref<8xf32>
}
"""


def is_fresh(body: str, loop: str = 'tir.for serial "i" %i : i32 in [0 +: 8] {') -> bool:
    """Whether no iteration of the first loop around `body` reads elements of T written by earlier iterations."""
    module = parse_mlir(f"{HEAD}{loop}\n{body}\n}}\n}}")
    module.verify()
    ops = list(module.op.walk())
    buffer = next(op for op in ops if isinstance(op, AllocBufferOp)).buffer
    return is_fresh_in_each_iteration(next(op for op in ops if isinstance(op, ForOp | WhileOp)), buffer, Analyzer())


FRESH = {
    "never read": "tir.store %x, %t[%i] : memref<8xf32>",
    "written and read at one place": """
        tir.store %x, %t[%c0] : memref<8xf32>
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "written whole, read anywhere": f"""{STORE_ALL}
        %at = tir.load %I[%i] : memref<8xi32>
        %y = tir.load %t[%at] : memref<8xf32>""",
    "written and read at a place that is fixed in an iteration": """
        %at = tir.load %I[%i] : memref<8xi32>
        tir.store %x, %t[%at] : memref<8xf32>
        %y = tir.load %t[%at] : memref<8xf32>""",
    "written on both paths": """
        tir.if %p {
          tir.store %x, %t[%c0] : memref<8xf32>
        } else {
          tir.store %x, %t[%c0] : memref<8xf32>
        }
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "written and read under one condition": """
        tir.if %p {
          tir.store %x, %t[%c0] : memref<8xf32>
        }
        %y = tir.if_then_else %p {
          %z = tir.load %t[%c0] : memref<8xf32>
          tir.yield %z : f32
        } else {
          tir.yield %x : f32
        } : f32""",
    "accumulated after a start": """
        tir.store %x, %t[%c0] : memref<8xf32>
        tir.for serial "k" %k : i32 in [0 +: %n] {
          %y = tir.load %t[%c0] : memref<8xf32>
          tir.store %y, %t[%c0] : memref<8xf32>
        }""",
    "started in the first round of an inner loop": """
        tir.for serial "k" %k : i32 in [0 +: 8] {
          %first = arith.cmpi eq, %k, %c0 : i32
          tir.if %first {
            tir.store %x, %t[%i] : memref<8xf32>
          }
          %y = tir.load %t[%i] : memref<8xf32>
          tir.store %y, %t[%i] : memref<8xf32>
        }""",
    "a shifted window": """
        tir.for serial "k" %k : i32 in [0 +: 8] {
          tir.store %x, %t[%k] : memref<8xf32>
        }
        tir.for serial "k" %k : i32 in [0 +: 7] {
          %next = arith.addi %k, %c1 : i32
          %y = tir.load %t[%next] : memref<8xf32>
        }""",
    "every second element": """
        tir.for serial "k" %k : i32 in [0 +: 8] step 2 {
          tir.store %x, %t[%k] : memref<8xf32>
        }
        tir.for serial "k" %k : i32 in [0 +: 4] {
          %twice = arith.muli %k, %c2 : i32
          %y = tir.load %t[%twice] : memref<8xf32>
        }""",
    "vectors": """
        %r = tir.ramp %c0, %c1 : vector<8xi32>
        %v = vector.broadcast %x : f32 to vector<8xf32>
        tir.store %v, %t[%r : vector<8xi32>] : memref<8xf32>
        %y = tir.load %t[%i] : memref<8xf32>""",
    "read in a while behind a write": """
        tir.store %x, %t[%c0] : memref<8xf32>
        tir.while {
          %y = tir.load %t[%c0] : memref<8xf32>
          tir.yield %p : i1
        } do {
        }""",
}
STALE = {
    "read before it is written": """
        %y = tir.load %t[%c0] : memref<8xf32>
        tir.store %x, %t[%c0] : memref<8xf32>""",
    "read one element more than is written": """
        tir.for serial "j" %j : i32 in [0 +: 7] {
          tir.store %x, %t[%j] : memref<8xf32>
        }
        tir.for serial "j" %j : i32 in [0 +: 8] {
          %y = tir.load %t[%j] : memref<8xf32>
        }""",
    "written under a condition only": """
        tir.if %p {
          tir.store %x, %t[%c0] : memref<8xf32>
        }
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "written where an index of the data says": """
        tir.for serial "j" %j : i32 in [0 +: 8] {
          %at = tir.load %I[%j] : memref<8xi32>
          tir.store %x, %t[%at] : memref<8xf32>
        }
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "written on one path, read on the other": """
        tir.if %p {
          tir.store %x, %t[%c0] : memref<8xf32>
        } else {
          %y = tir.load %t[%c0] : memref<8xf32>
        }""",
    "the first round of an inner loop reads what the one before writes behind it": """
        tir.for serial "k" %k : i32 in [0 +: 7] {
          %next = arith.addi %k, %c1 : i32
          tir.store %x, %t[%next] : memref<8xf32>
          %y = tir.load %t[%k] : memref<8xf32>
        }""",
    "written in a while only": """
        tir.while {
          tir.yield %p : i1
        } do {
          tir.store %x, %t[%c0] : memref<8xf32>
        }
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "written as often as a symbol says": """
        tir.for serial "j" %j : i32 in [0 +: %n] {
          tir.store %x, %t[%j] : memref<8xf32>
        }
        %y = tir.load %t[%c0] : memref<8xf32>""",
    "some lanes only": """
        %r = tir.ramp %c0, %c1 : vector<8xi32>
        %q = vector.broadcast %p : i1 to vector<8xi1>
        %v = vector.broadcast %x : f32 to vector<8xf32>
        tir.store %v, %t[%r : vector<8xi32>] if %q : vector<8xi1> : memref<8xf32>
        %y = tir.load %t[%i] : memref<8xf32>""",
    "used by a call": """
        tir.store %x, %t[%c0] : memref<8xf32>
        tir.call_extern "f"(%t) : memref<8xf32>""",
    "kept as a pointer": """
        %p0 = tir.buffer_data %t : memref<8xf32> -> !tir.handle<f32>""",
    "the second round of an inner loop reads what the third writes": """
        tir.for serial "k" %k : i32 in [0 +: 7] {
          %next = arith.addi %k, %c1 : i32
          %y = tir.load %t[%next] : memref<8xf32>
          tir.store %x, %t[%k] : memref<8xf32>
        }""",
    "an index that may wrap": """
        %m = arith.muli %n, %n : i32
        %m1 = arith.addi %m, %c1 : i32
        tir.store %x, %t[%m] : memref<8xf32>
        %y = tir.load %t[%m1] : memref<8xf32>""",
}


@pytest.mark.parametrize("body", FRESH.values(), ids=FRESH.keys())
def test_an_iteration_that_writes_what_it_reads_needs_no_other(body: str) -> None:
    assert is_fresh(body)


@pytest.mark.parametrize("body", STALE.values(), ids=STALE.keys())
def test_an_iteration_that_may_read_something_else_needs_the_others(body: str) -> None:
    assert not is_fresh(body)


def test_rounds_of_a_while_are_told_apart_too() -> None:
    loop = "tir.while {\n tir.yield %p : i1\n } do {"
    assert is_fresh("tir.store %x, %t[%c0] : memref<8xf32>\n %y = tir.load %t[%c0] : memref<8xf32>", loop)
    assert not is_fresh("%y = tir.load %t[%c0] : memref<8xf32>\n tir.store %x, %t[%c0] : memref<8xf32>", loop)
