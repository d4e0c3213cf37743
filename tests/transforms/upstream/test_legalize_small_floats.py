"""The effect of the pass on every operation."""

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.arith import ExtFOp, TruncFOp
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.parser import Parser

from stepwell.transforms.upstream.legalize_small_floats import LegalizeSmallFloatsPass


def legalize(text: str) -> ModuleOp:
    ctx = Context()
    for name, load in get_all_dialects().items():
        ctx.register_dialect(name, load)
    module = Parser(ctx, text).parse_module()
    for op in module.walk():
        op.location = FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(5))
    LegalizeSmallFloatsPass().apply(ctx, module)
    module.verify()
    return module


BODIES = {
    "arith.divf": "%r = arith.divf %a, %b fastmath<nnan> : {}",
    "arith.maximumf": "%r = arith.maximumf %a, %b : {}",
    "arith.cmpf": "%r = arith.cmpf olt, %a, %b : {}",
    "arith.fptosi": "%r = arith.fptosi %a : {} to i8",
    "arith.uitofp": "%n = arith.constant 3 : i8\n%r = arith.uitofp %n : i8 to {}",
    "math.exp": "%r = math.exp %a : {}",
    "math.atan2": "%r = math.atan2 %a, %b : {}",
    "math.fma": "%r = math.fma %a, %b, %a : {}",
    "math.fpowi": "%n = arith.constant 3 : i32\n%r = math.fpowi %a, %n : {}, i32",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_no_arithmetic_on_half_floats_is_left(name: str, kind: str) -> None:
    module = legalize(f"func.func @f(%a: {kind}, %b: {kind}) {{ {BODIES[name].format(kind)}\n func.return }}")
    (op,) = [op for op in module.walk() if op.name == name]
    wide = "f64" if name == "math.fma" else "f32"
    assert kind not in {str(value.type) for value in (*op.operands, *op.results)}
    assert wide in {str(value.type) for value in (*op.operands, *op.results)}
    for left in module.walk():
        if isinstance(left, ExtFOp | TruncFOp):
            assert str(left.location) == str(op.location)
            assert "k.py" in str(left.location)


def test_flags_and_attributes_stay() -> None:
    module = legalize("""func.func @f(%a: f16) -> f16 {
      %r = arith.addf %a, %a fastmath<reassoc> {note = "kept"} : f16
      func.return %r : f16
    }""")
    (op,) = [op for op in module.walk() if op.name == "arith.addf"]
    assert "reassoc" in str(op)
    assert op.attributes["note"] == StringAttr("kept")


def test_running_it_again_changes_nothing() -> None:
    module = legalize("func.func @f(%a: bf16) -> bf16 { %r = math.sqrt %a : bf16\n func.return %r : bf16 }")
    before = str(module)
    LegalizeSmallFloatsPass().apply(Context(), module)
    assert str(module) == before


def test_reductions_accumulate_in_f32() -> None:
    module = legalize("""func.func @f(%a: vector<4xf16>, %b: f16) -> f16 {
      %r = vector.reduction <add>, %a, %b : vector<4xf16> into f16
      func.return %r : f16
    }""")
    (op,) = [op for op in module.walk() if op.name == "vector.reduction"]
    assert [str(value.type) for value in (*op.operands, *op.results)] == ["vector<4xf32>", "f32", "f32"]
