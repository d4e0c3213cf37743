"""Errors of the verifier: the place, the constraint and the text of the operation."""

import pytest
from xdsl.dialects.builtin import StringAttr

import stepwell
from stepwell.core.excerpts import excerpt

TEXT = """\
tir.func @main("A" %A: memref<8xf32>, "i" %i: i32) {
  tir.for serial "j" %j : i32 in [0 +: 8] {
    %x = tir.load %A[%i] : memref<8xf32>
    tir.store %x, %A[%j] : memref<8xf32>
  }
}
"""


def test_an_excerpt_has_the_names_of_the_program() -> None:
    module = stepwell.parse_mlir(TEXT)
    texts = {op.name: excerpt(op) for op in module.op.walk()}
    assert texts["tir.store"] == "tir.store %x, %A[%j] : memref<8xf32>"
    assert texts["tir.for"] == 'tir.for serial "j" %j : i32 in [0 +: 8] {'


def test_an_operation_that_its_syntax_cannot_express_has_the_generic_form() -> None:
    module = stepwell.parse_mlir(TEXT)
    (loop,) = (op for op in module.op.walk() if op.name == "tir.for")
    del loop.properties["static_bounds"]
    assert excerpt(loop) == '"tir.for"() <{loop_var = "j", kind = "serial"}> ({'


def test_a_violation_has_the_place_the_constraint_and_the_text() -> None:
    module = stepwell.parse_mlir(TEXT.replace("%A[%j]", "%A[%j, %j]"), filename="program.mlir")
    with pytest.raises(stepwell.VerifyError) as error:
        module.verify()
    assert str(error.value) == (
        "program.mlir:4:5: error: tir.store: (C1) 2 indices for a buffer of rank 1\n"
        "    tir.store %x, %A[%j, %j] : memref<8xf32>"
    )


def test_a_violation_of_an_upstream_operation_shows_no_generic_program() -> None:
    text = "func.func @f(%x: f32) -> f32 {\n  %y = arith.addf %x, %x : f32\n  func.return %y : f32\n}\n"
    module = stepwell.parse_mlir(text, filename="program.mlir")
    (addition,) = (op for op in module.op.walk() if op.name == "arith.addf")
    addition.properties["fastmath"] = StringAttr("none")
    with pytest.raises(stepwell.VerifyError, match=r"^program.mlir:2:3: error: arith.addf: .*\n    .*arith.addf.*$"):
        module.verify()


def test_a_use_before_the_definition_is_shown() -> None:
    module = stepwell.parse_mlir(TEXT, filename="program.mlir")
    load, store = (op for op in module.op.walk() if op.name in ("tir.load", "tir.store"))
    load.detach()
    assert store.parent is not None
    store.parent.insert_ops_after([load], store)
    with pytest.raises(stepwell.VerifyError) as error:
        module.verify()
    assert str(error.value) == (
        "program.mlir:4:5: error: operand 0 of tir.store is used before it is defined, or outside of where it is\n"
        "    tir.store %x, %A[%j] : memref<8xf32>"
    )


def test_a_violation_that_no_single_operation_has_is_reported() -> None:
    text = '"func.func"() <{sym_name = "f", function_type = () -> ()}> ({\n^bb0:\n}) : () -> ()'
    with pytest.raises(stepwell.VerifyError, match="contains empty block"):
        stepwell.parse_mlir(text).verify()
