"""Families of programs of loops: texts of TVMScript, passes, and native code."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from xdsl.context import Context

from ....backends.build import build
from ....backends.interpreter import interpret
from ....backends.oracle import run_oracle
from ....core.errors import UnsupportedError
from ....dialects.tir import FuncOp
from ....dialects.tir.tree import treeify
from ....frontends.mlir import parse_mlir
from ....frontends.tvm.ir.module import PrimFunc
from ....frontends.tvmscript import parse_tvmscript
from ....module import Module
from ....transforms import PASSES, get_all_passes
from ...testing.comparison import same
from ...testing.environment import Features
from ...testing.programs import copy_arguments
from ...testing.strategies import programs, tir_modules
from ..case import Case
from ..mutation import check_text, mutate

TIR_PASSES = tuple(name for name in PASSES if name.startswith("tir-") and not name.startswith("tir-check-"))
_BLOCKS_FIRST = ("tir-resolve-blocks", "tir-lower-match-buffers")
STYLES = ("classic", "0.27")
PRINTABLE = Features(threads=True, libm=True, legacy=False)
"""The features of programs that both styles of TVMScript can state."""


def run_on_oracle(module: Module, arguments: dict[str, Any]) -> list[Any]:
    """The arguments after a call of `main` by the oracle, and the returned value or 0."""
    values = copy_arguments(arguments)
    return [*values, run_oracle(module, "main", values) or 0]


def compare(arguments: dict[str, Any], got: list[Any], expected: list[Any]) -> None:
    """Raises AssertionError unless all arrays and the results are equal bit by bit."""
    for name, a, b in zip([*arguments, "the result"], got, expected, strict=True):
        assert same(a, b), f"{name}: {a!r}, expected {b!r}"


def check_tvmscript(data: st.DataObject, case: Case) -> None:
    """A mutated program is a program that round-trips, or a ParseError."""
    rng, modules = data.draw(st.randoms(use_true_random=False)), tir_modules(PRINTABLE)
    texts = [data.draw(modules).script(rng.choice(STYLES)) for _ in range(2)]
    text = mutate(rng, texts)
    case.show(text)
    error = check_text(text)
    assert error is None, error


def check_tir_pass(data: st.DataObject, case: Case) -> None:
    """A pass on a random program leaves a program that verifies and computes the same."""
    module, arguments = data.draw(programs(Features(threads=True, libm=True)))
    name = data.draw(st.sampled_from(TIR_PASSES))
    case.show(module, name)
    after = module.clone()
    try:
        for each in (*(_BLOCKS_FIRST if name not in _BLOCKS_FIRST else ()), name):
            get_all_passes()[each]()().apply(Context(), after.op)
    except UnsupportedError:
        return
    after.verify()
    compare(arguments, run_on_oracle(after, arguments), run_on_oracle(module, arguments))


def check_native(data: st.DataObject, case: Case) -> None:
    """Native code and the interpreter compute exactly what the oracle computes."""
    module, arguments = data.draw(programs(Features()))
    case.show(module)
    expected = run_on_oracle(module, arguments)
    for run in (lambda *values: build(module)["main"](*values), lambda *values: interpret(module, "main", values)):
        values = copy_arguments(arguments)
        compare(arguments, [*values, run(*values) or 0], expected)


def check_texts(data: st.DataObject, case: Case) -> None:
    """MLIR text, TVMScript and TVM's nodes are read back as the same program."""
    module = data.draw(tir_modules(PRINTABLE))
    case.show(module, "mlir")
    assert str(parse_mlir(str(module))) == str(module)
    for style in STYLES:
        script = module.script(style)
        case.show(script, style)
        assert parse_tvmscript(script).script(style) == script
    case.show(module, "nodes")
    for op in [op for op in module.op.body.block.ops if isinstance(op, FuncOp)]:
        treeify(op)
        func = PrimFunc(op)
        assert func.with_body(func.body).script("0.27") == func.script("0.27")
