"""print -> parse -> print is the identity, in MLIR text and in TVMScript."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.printer import Printer

from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.strategies import programs, tir_modules

EVERYTHING = Features(threads=True, libm=True)
STYLES = {"classic": EVERYTHING, "0.27": Features(threads=True, libm=True, legacy=False)}


def generic(module: Module) -> str:
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module.op)
    return text.getvalue()


@given(module=tir_modules(EVERYTHING))
def test_mlir_text_reads_back_as_what_was_printed(module: Module) -> None:
    text = str(module)
    again = parse_mlir(text)
    again.verify()
    assert str(again) == text


@given(module=tir_modules(EVERYTHING))
def test_generic_mlir_text_reads_back_as_what_was_printed(module: Module) -> None:
    again = parse_mlir(generic(module))
    again.verify()
    assert str(again) == str(module)


@pytest.mark.parametrize("style", STYLES)
@given(data=st.data())
def test_tvmscript_reads_back_as_what_was_printed(style: str, data: st.DataObject) -> None:
    module = data.draw(tir_modules(STYLES[style]))
    script = module.script(style)
    again = parse_tvmscript(script)
    again.verify()
    assert again.script(style) == script


@pytest.mark.parametrize("style", STYLES)
@given(data=st.data())
def test_tvmscript_computes_what_the_program_computes(style: str, data: st.DataObject) -> None:
    module, arguments = data.draw(programs(STYLES[style]))
    again = parse_tvmscript(module.script(style))
    assert_same(oracle_results(again, arguments), oracle_results(module, arguments))
