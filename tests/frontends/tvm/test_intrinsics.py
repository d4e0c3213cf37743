"""Intrinsics of users, and rules for intrinsics: `tvm.ir.register_op_attr`, `tvm.ir.register_intrin_lowering`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.expressions.intrinsic_names import IntrinsicName
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import intrinsics, te
from stepwell.frontends.tvm.ir import register_intrin_lowering, register_op_attr
from stepwell.frontends.tvm.target import register_intrin_rule

NUMBERS = np.linspace(0.5, 4, 8, dtype=np.float32)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry is empty before each test."""
    monkeypatch.setattr(intrinsics, "_NAMES", set[str]())
    monkeypatch.setattr(intrinsics, "_LOWERINGS", {})


def run(function: Callable[[Any], Any], target: str = "llvm") -> Any:
    """The result of a function on each of the numbers."""
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: function(a[i]), name="b")
    schedule = te.create_schedule(b.op)
    if target != "llvm":
        schedule[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    result = np.zeros(8, np.float32)
    tvm.build(schedule, [a, b], target)(NUMBERS, result)
    return result


def call(name: str) -> Callable[[Any], Any]:
    return lambda x: tvm.tir.call_intrin("float32", f"tir.{name}", x)


def test_a_rule_replaces_an_intrinsic_on_its_target() -> None:
    seen: list[str] = []

    def rule(op: Any) -> Any:
        assert isinstance(op, tvm.tir.Call)
        assert isinstance(op.op, IntrinsicName)
        seen.append(op.op.name)
        assert op.name == "exp"
        return op.args[0] * 2.0

    register_intrin_lowering("tir.exp", target="cuda", f=rule, level=99)
    np.testing.assert_allclose(run(te.exp, "cuda-emulated"), np.exp(NUMBERS), rtol=1e-6)
    assert not seen
    register_intrin_lowering("tir.exp", target="llvm", f=rule, level=99)
    np.testing.assert_array_equal(run(te.exp), NUMBERS * 2)
    assert seen == ["tir.exp"]


@pytest.mark.parametrize("target", ["llvm", "cuda-emulated"])
def test_a_user_names_an_intrinsic(target: str) -> None:
    register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    register_intrin_lowering("tir.mylog", "default", f=lambda op: tvm.tir.log(op.args[0]))
    np.testing.assert_allclose(run(call("mylog"), target), np.log(NUMBERS), rtol=1e-5)


def test_a_rule_of_v0_6_is_overridden_on_request() -> None:
    register_intrin_rule("llvm", "twice", lambda op: op.args[0] * 2.0)
    with pytest.raises(OptionError, match="expected override=True"):
        register_intrin_rule("llvm", "twice", lambda op: op.args[0] * 3.0)
    register_intrin_rule("llvm", "twice", lambda op: op.args[0] * 3.0, override=True)
    np.testing.assert_array_equal(run(call("twice")), NUMBERS * 3)


def test_a_rule_that_returns_the_call_keeps_it() -> None:
    register_intrin_lowering("tir.sqrt", "llvm", f=lambda op: op)
    np.testing.assert_allclose(run(te.sqrt), np.sqrt(NUMBERS), rtol=1e-6)


def test_what_has_no_rule_is_an_error() -> None:
    with pytest.raises(TeError, match=r"no intrinsic .tir\.mylog."):
        run(call("mylog"))
    register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    with pytest.raises(UnsupportedError, match=r"intrinsic tir\.mylog: no rule for target llvm"):
        run(call("mylog"))
    register_intrin_lowering("tir.mylog", "llvm", f=lambda op: op.args[0].astype("float64"))
    with pytest.raises(TeError, match="an expression of float64, expected float32"):
        run(call("mylog"))


def test_effects_besides_pure_and_unknown_operators_are_refused() -> None:
    with pytest.raises(OptionError, match=r"other\.operator"):
        register_op_attr("other.operator", "FTVMAlterOpLayout", object())
    with pytest.raises(OptionError, match=r"expected CallEffectKind\.Pure"):
        register_op_attr("tir.store", "TCallEffectKind", tvm.tir.CallEffectKind.UpdateState)


def test_functions_on_numbers_are_operators() -> None:
    x = te.var("x", "float32")
    exp = tvm.ir.Op.get("tir.exp")
    calls: list[Any] = [te.exp(x), tvm.tir.call_intrin("float32", exp, x), tvm.tir.Call("float32", exp, [x])]
    for made in calls:
        assert made.op.same_as(exp)
        assert made.op == exp
        assert made.op.name == "tir.exp"
    others: list[Any] = [te.log(x), te.power(x, x)]
    assert not others[0].op.same_as(exp)
    assert others[1].op == tvm.ir.Op.get("tir.pow")
    with pytest.raises(TeError, match="no intrinsic 'nothing'"):
        tvm.tir.call_intrin("float32", tvm.ir.Op.get("tir.nothing"), x)


def test_numbers_convert_to_expressions() -> None:
    x = te.var("x")
    assert tvm.tir.convert(x) is x
    assert tvm.tir.convert(2).dtype == "int32"
    k = te.reduce_axis((0, 4), "k")
    assert tvm.tir.convert(k) is k.var
    with pytest.raises(TeError):
        tvm.tir.convert([1])
