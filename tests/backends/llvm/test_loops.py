"""Loops in LLVM IR: instructions that precede them, and the optimization that functions of vectors need."""

import re

import numpy as np
import pytest

from stepwell.backends.llvm.emitter import emit_module
from stepwell.backends.llvm.engine import UNFINISHED_LOOPS, ObjectCode, Processor

pytestmark = pytest.mark.usefixtures("compiles_anew")

NEST = """func.func @main(%a: memref<?xi64>, %n: index, %m: index, %k: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {{
    scf.for %j = %c0 to %c4 step %c1 {{
      {body}
      memref.store %y, %a[%c0] : memref<?xi64>
    }}
  }}
  func.return
}}"""
"""A store of %y in a nest of loops over %i and %j."""


def loops_of(text: str) -> list[str]:
    """The text before the first loop, that from each loop up to the next one, and that after the last loop."""
    body = text.partition("i32 @fn.main(")[2].partition("\n}")[0]
    return re.split(r"(?m)^(?:loop|done)\.\d+:$", body)


@pytest.mark.parametrize(
    ("body", "instruction", "depth"),
    [
        ("%x = arith.muli %n, %m : index", "mul i64", 0),
        ("%x = arith.muli %n, %i : index", "mul i64", 1),
        ("%x = arith.muli %j, %i : index", "mul i64", 2),
        ("%s = arith.addi %i, %n : index\n%x = arith.muli %s, %s : index", "mul i64", 1),
        ("%x = arith.divui %n, %m : index", "udiv i64", 2),
    ],
)
def test_an_instruction_precedes_the_loops_in_which_it_is_invariant(
    parse_upstream, body: str, instruction: str, depth: int
) -> None:
    text = emit_module(parse_upstream(NEST.format(body=f"{body}\n%y = arith.index_cast %x : index to i64"))).text
    before, outer, inner, *after = loops_of(text)
    counts = [part.count(f"{instruction} ") for part in (before, outer, inner, *after)]
    assert counts[depth] == sum(counts) == 1


def test_equal_invariant_instructions_are_one(parse_upstream) -> None:
    branch = "scf.yield %x{n} : index"
    body = (
        "%b = arith.cmpi slt, %i, %j : index\n%x = scf.if %b -> (index) {\n%x0 = arith.muli %n, %m : index\n"
        f"{branch.format(n=0)}\n}} else {{\n%x1 = arith.muli %n, %m : index\n{branch.format(n=1)}\n}}\n"
        "%y = arith.index_cast %x : index to i64"
    )
    text = emit_module(parse_upstream(NEST.format(body=body))).text
    assert text.count("mul i64") == 1
    assert "mul i64" in loops_of(text)[0]


def test_a_division_remains_under_its_condition(compile_text) -> None:
    body = (
        "%b = arith.cmpi ne, %k, %c0 : index\n%x = scf.if %b -> (index) {\n%q = arith.divui %n, %k : index\n"
        "scf.yield %q : index\n} else {\nscf.yield %c1 : index\n}\n%y = arith.index_cast %x : index to i64"
    )
    main = compile_text(NEST.format(body=body))["main"]
    for divisor, expected in ((0, 1), (3, 4)):
        array = np.zeros(1, np.int64)
        main(array, 12, 2, divisor)
        assert array[0] == expected


LOOP = """func.func @main(%a: memref<4096xf32>, %b: memref<4096xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %trips = arith.constant {trips} : index
  %s = memref.alloca() : memref<16xf32>
  scf.for %i = %c0 to {extent} step {step} {{
    {body}
  }}
  func.return
}}"""
FUNCTIONS = """\
func.func private @far(%i: index) attributes {stepwell.noinline} {
  func.return
}
func.func private @near(%i: index) {
  func.return
}
"""
SCALARS = "%x = memref.load %a[%i] : memref<4096xf32>\nmemref.store %x, %b[%i] : memref<4096xf32>"
VECTORS = (
    "%x = vector.load %a[%i] : memref<4096xf32>, vector<8xf32>\n"
    "vector.store %x, %b[%i] : memref<4096xf32>, vector<8xf32>"
)


OUTER = "scf.for %k = %c0 to %n step %c8 {{\n{}\n}}"


@pytest.mark.parametrize(
    ("body", "is_scalar"),
    [
        (VECTORS, False),
        (SCALARS, True),
        (OUTER.format(VECTORS.replace("%i", "%k")), False),
        (OUTER.format(SCALARS.replace("%i", "%k")), True),
        (
            "%x = vector.load %a[%i] : memref<4096xf32>, vector<8xf32>\n"
            "%y = vector.reduction <add>, %x : vector<8xf32> into f32\nmemref.store %y, %b[%i] : memref<4096xf32>",
            True,
        ),
        ("func.call @far(%i) : (index) -> ()", False),
        ("func.call @near(%i) : (index) -> ()", True),
    ],
)
def test_functions_with_loops_of_scalars_are_marked(parse_upstream, body: str, is_scalar: bool) -> None:
    text = emit_module(parse_upstream(FUNCTIONS + LOOP.format(trips=512, extent="%n", step="%c1", body=body))).text
    assert (f'"{UNFINISHED_LOOPS}"' in text) is is_scalar


def test_a_loop_of_scalars_becomes_vectors_and_a_tile_registers(parse_upstream) -> None:
    scalars = emit_module(parse_upstream(LOOP.format(trips=4096, extent="%trips", step="%c1", body=SCALARS)))
    assert re.search(r"store <\d+ x float>", ObjectCode.of([scalars.text], Processor.host()).optimized_text)
    tile = """\
scf.for %k = %c0 to %n step %c8 {
  %t = vector.load %s[%c8] : memref<16xf32>, vector<8xf32>
  %u = vector.load %a[%k] : memref<4096xf32>, vector<8xf32>
  %v = arith.addf %t, %u : vector<8xf32>
  vector.store %v, %s[%c8] : memref<16xf32>, vector<8xf32>
}
%w = vector.load %s[%c8] : memref<16xf32>, vector<8xf32>
vector.store %w, %b[%i] : memref<4096xf32>, vector<8xf32>"""
    vectors = emit_module(parse_upstream(LOOP.format(trips=4096, extent="%n", step="%c8", body=tile)))
    assert UNFINISHED_LOOPS not in vectors.text
    optimized = ObjectCode.of([vectors.text], Processor.host()).optimized_text
    assert "alloca [16 x float]" not in optimized
    assert re.search(r"phi <8 x float>", optimized)
