"""MLIR text: modules at any landing, and errors with their location."""

import pytest

import stepwell
from stepwell.core.diagnostics import location_of

GOOD = """\
tir.func @f("A" %A: memref<4xf32>) {
  %c = arith.constant 1.0 : f32
  %i = arith.constant 0 : i32
  tir.store %c, %A[%i] : memref<4xf32>
}
"""


def test_text_becomes_a_module_and_text_again() -> None:
    module = stepwell.parse_mlir(GOOD)
    assert str(stepwell.parse_mlir(str(module))) == str(module)


def test_upstream_landings_parse_too() -> None:
    module = stepwell.parse_mlir("func.func @f(%A: memref<4xf32>) {\n  func.return\n}\n")
    assert list(module) == ["f"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("tir.store %c", "tir.store %d"), "values used but not defined: [%d]"),
        (GOOD.replace("tir.store", "tir.stor"), "4:3: error: unknown operation 'tir.stor', did you mean 'tir.store'?"),
        (
            GOOD.replace("tir.store", "tri.store"),
            "4:3: error: unknown operation 'tri.store', did you mean 'tir.store'?",
        ),
        (GOOD.replace("tir.store", "stor"), "4:3: error: unknown operation 'stor'"),
        ("ub.undefine", "1:1: error: unknown operation 'ub.undefine' (there are ub.poison, ub.unreachable)"),
        (GOOD.replace("memref<4xf32>) {", "memref<4xf32> {"), "1:"),
        (GOOD.replace("1.0 : f32", "1.0 : i32"), "not valid for integer type"),
        (GOOD[:-3], "error: "),
        ("@!#$", "1:1: error: "),
        ("tir.ramp %a : i32", "1:"),
        ("%0 = tir.const 3 : f32", "1:"),
        ('tir.for serial "i" %i : i32 in [0 +: 4 {}', "1:"),
        ("%x = tir.load %a[] : f32", "1:"),
        ("tir.store %v, %a[] : i32", "1:"),
        ('%x = tir.intrinsic "exp10"() : () -> ()', ""),
        ("%s = tir.shuffle %a [0] : memref<4xf32> -> f32", ""),
        ("\x00", ""),
        ("func.func @f() { func.return", ""),
    ],
)
def test_an_error_says_where(text: str, message: str) -> None:
    with pytest.raises(stepwell.ParseError) as error:
        stepwell.parse_mlir(text, filename="program.mlir")
    assert str(error.value).startswith("program.mlir:")
    assert message in str(error.value)


def test_operations_have_the_locations_of_their_texts() -> None:
    module = stepwell.parse_mlir(GOOD, filename="program.mlir")
    places = {op.name: str(location_of(op)) for op in module.op.walk()}
    assert places["tir.func"] == "program.mlir:1:1"
    assert places["tir.store"] == "program.mlir:4:3"


def test_locations_of_the_text_stay() -> None:
    text = '"test.func"() : () -> () loc("other.py":7:9)\n'.replace("test.func", "func.return")
    (op,) = stepwell.parse_mlir(text).op.body.block.ops
    assert str(location_of(op)) == "other.py:7:9"


def test_a_violation_during_parsing_is_at_its_operation() -> None:
    text = "func.func @f(%x: f32) {\n  %y = arith.addi %x, %x : f32\n  func.return\n}\n"
    with pytest.raises(stepwell.ParseError) as error:
        stepwell.parse_mlir(text, filename="program.mlir")
    assert str(error.value).splitlines()[1:] == [
        "      %y = arith.addi %x, %x : f32",
        "      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~",
    ]
    assert str(error.value).startswith("program.mlir:2:3: error: arith.addi: ")
