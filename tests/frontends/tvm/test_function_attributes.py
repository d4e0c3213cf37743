"""Attributes of functions: `func.attrs`, `with_attr`, targets among them."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false

from typing import Any

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import script
from stepwell.frontends.tvm.script import tir as T


@T.prim_func
def scale(A: T.Buffer((4,), "float32")):
    A[0] = T.float32(2)


def test_a_function_has_its_name_as_symbol() -> None:
    func: Any = scale
    assert func.attrs["global_symbol"] == "scale"
    assert "global_symbol" not in func.script()
    assert tvm.IRModule({"main": func})["main"].attrs["global_symbol"] == "main"
    named = func.with_attr("global_symbol", "other")
    assert named.attrs["global_symbol"] == "other"
    assert '"global_symbol": "other"' in tvm.IRModule({"main": named}).script()


def test_the_module_of_scripts_is_a_name_of_decorators() -> None:
    @script.ir_module
    class Programs:
        @script.tir.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(1)

    program: Any = Programs
    assert list(program) == ["main"]


def test_a_function_without_a_symbol_is_private() -> None:
    func: Any = scale
    private = func.without_attr("global_symbol")
    assert "global_symbol" not in private.attrs
    assert "private=True" in private.script()
    assert private.with_attr("global_symbol", "scale").attrs["global_symbol"] == "scale"


def test_a_target_is_an_attribute() -> None:
    func: Any = scale
    target = tvm.target.Target("llvm -mcpu=skylake", host="llvm")
    marked = func.with_attr("target", target)
    assert marked.attrs["target"] == target
    assert tvm.script.from_source(marked.script()).attrs["target"] == target
    tvm.ir.assert_structural_equal(tvm.script.from_source(marked.script()), marked)
    assert not tvm.ir.structural_equal(marked, func)
