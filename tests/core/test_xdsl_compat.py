"""Extensions of xDSL 0.74: arith on vectors, gpu.shuffle, and threads."""

import sys
import threading
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import AffineMapAttr, Builtin, ModuleOp, VectorType, f32, i1, i8
from xdsl.dialects.test import TestOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.core import xdsl_compat  # noqa: F401
from stepwell.dialects import mlir_context

TEXT = """\
builtin.module {
  func.func @f(%a: vector<4xf32>, %b: vector<4xi8>, %c: i1, %x: f32) {
    %m = arith.cmpf olt, %a, %a : vector<4xf32>
    %s = arith.select %m, %a, %a : vector<4xi1>, vector<4xf32>
    %t = arith.select %c, %a, %a : vector<4xf32>
    %u = arith.select %c, %x, %x : f32
    %e = arith.extsi %b : vector<4xi8> to vector<4xi32>
    %v = arith.sitofp %e : vector<4xi32> to vector<4xf32>
    %g = arith.fptoui %v : vector<4xf32> to vector<4xi8>
    %h = arith.cmpi eq, %g, %g : vector<4xi8>
    %n = arith.trunci %g : vector<4xi8> to vector<4xi1>
    func.return
  }
}"""


def _parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_vector_forms_verify_and_round_trip() -> None:
    module = _parse(TEXT)
    module.verify()
    assert str(module) == TEXT


def test_vector_forms_round_trip_in_generic_syntax() -> None:
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(_parse(TEXT))
    assert str(_parse(text.getvalue())) == TEXT


def test_comparing_vectors_gives_a_bool_for_each_lane() -> None:
    value = TestOp(result_types=[VectorType(f32, [4])]).results[0]
    op = arith.CmpfOp(value, value, "olt")
    assert op.result.type == VectorType(i1, [4])
    assert op.result.owner is op


def test_a_single_bool_for_two_vectors_is_refused() -> None:
    value = TestOp(result_types=[VectorType(i8, [4])]).results[0]
    op = arith.CmpiOp.create(
        operands=[value, value], result_types=[i1], properties=arith.CmpiOp(value, value, "eq").properties
    )
    with pytest.raises(VerifyException, match="gives vector<4xi1>, got i1"):
        op.verify()


@pytest.mark.parametrize("op", [arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp])
def test_a_resize_to_the_same_width_is_refused(op: type[arith.ExtSIOp]) -> None:
    value = TestOp(result_types=[VectorType(i8, [4])]).results[0]
    with pytest.raises(VerifyException, match="Destination bit-width must be"):
        op(value, VectorType(i8, [4])).verify()  # pyright: ignore[reportArgumentType]


SHUFFLE = """\
builtin.module {
  func.func @f(%x: f16, %n: i32) {
    %y, %valid = gpu.shuffle down %x, %n, %n : f16
    %z, %valid_1 = gpu.shuffle idx %n, %n, %n : i32
    func.return
  }
}"""


def _shuffles(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, func.Func, gpu.GPU):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_shuffles_round_trip() -> None:
    module = _shuffles(SHUFFLE)
    module.verify()
    assert str(module) == SHUFFLE
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    assert (
        '"gpu.shuffle"(%x, %n, %n) <{mode = #gpu<shuffle_mode down>}> : (f16, i32, i32) -> (f16, i1)'
        in stream.getvalue()
    )
    assert str(_shuffles(stream.getvalue())) == SHUFFLE


def test_a_shuffle_gives_what_it_exchanges() -> None:
    generic = '%y, %v = "gpu.shuffle"(%x, %n, %n) <{mode = #gpu<shuffle_mode up>}> : (f16, i32, i32) -> (f32, i1)'
    module = _shuffles(SHUFFLE.replace("%y, %valid = gpu.shuffle down %x, %n, %n : f16", generic))
    with pytest.raises(VerifyException):
        module.verify()


def test_modules_are_parsed_in_threads() -> None:
    text = """func.func @main(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %n step %c1 {
        }
      }
      func.return
    }"""
    found: list[str] = []

    def parse() -> None:
        for _ in range(20):
            found.append(str(Parser(mlir_context(), text).parse_module()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=parse) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == 80
    assert len(set(found)) == 1


def test_semi_affine_maps_are_read_and_printed() -> None:
    text = (
        "affine_map<(d0, d1)[s0, s1] -> ((d0 * s0), (s0 * s1), (d0 floordiv (s0 * s1)), (d1 mod s0), (d1 ceildiv s0))>"
    )
    attribute = Parser(mlir_context(), text).parse_attribute()
    assert str(attribute) == text
    assert isinstance(attribute, AffineMapAttr)
    assert attribute.data.eval([7, 9], [2, 3]) == (14, 6, 1, 1, 5)


def test_a_product_of_dimensions_is_no_semi_affine_map() -> None:
    for expression in ("d0 * d1", "d0 floordiv d1", "s0 mod d0"):
        with pytest.raises(NotImplementedError):
            Parser(mlir_context(), f"affine_map<(d0, d1)[s0] -> ({expression})>").parse_attribute()
