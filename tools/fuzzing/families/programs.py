"""Families of programs of loops: texts of TVMScript, passes, and native code."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from xdsl.context import Context

from ....backends.build import build
from ....core.errors import UnsupportedError
from ....dialects.tir import FuncOp
from ....dialects.tir.tree import treeify
from ....frontends.mlir import parse_mlir
from ....frontends.tvm.ir.module import PrimFunc
from ....frontends.tvmscript import parse_tvmscript
from ....module import Module
from ....transforms import PASSES, get_all_passes
from ...testing.attachment import assert_uses_are_attached
from ...testing.comparison import assert_same
from ...testing.environment import Features
from ...testing.execution import arguments_of_smaller, interpreter_results, oracle_results, results
from ...testing.meanings import installed_operations
from ...testing.names import names, rename
from ...testing.strategies import programs, tir_modules
from ..case import Case
from ..mutation import check_text, mutate

_NOT_RUN = ("tir-check-bounds", "tir-check-launches", "tir-lower-extension-scalars")
"""Passes that change no program, or lower operations to those of a target, which the oracle does not run."""
TIR_PASSES = tuple(name for name in PASSES if name.startswith("tir-") and name not in _NOT_RUN)
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "tir-vectorize-loops": [{"vector_bytes": 8}, {"vector_bytes": 8, "masks": True}, {"max_lanes": 3}],
}
"""Options of passes by which small programs reach more of their code."""
_BLOCKS_FIRST = ("tir-resolve-blocks", "tir-lower-match-buffers")
STYLES = ("classic", "0.27")
PRINTABLE = Features(threads=True, libm=True, legacy=False)
"""The features of programs that both styles of TVMScript can state."""


def check_tvmscript(data: st.DataObject, case: Case) -> None:
    """A mutated program is a program that round-trips, or a ParseError."""
    rng, modules = data.draw(st.randoms(use_true_random=False)), tir_modules(PRINTABLE)
    texts = [data.draw(modules).script(rng.choice(STYLES)) for _ in range(2)]
    text = mutate(rng, texts)
    case.check_program(text, check_text)


def check_tir_pass(data: st.DataObject, case: Case) -> None:
    """A pass on a random program leaves a program that verifies and computes the same."""
    features = Features(threads=True, libm=True, operations=installed_operations())
    module, arguments = data.draw(programs(features))
    name = data.draw(st.sampled_from(TIR_PASSES))
    options = data.draw(st.sampled_from([{}, *OPTIONS.get(name, [])]))

    def check(program: Module) -> None:
        after = program.clone()
        try:
            for each in _BLOCKS_FIRST if name not in _BLOCKS_FIRST else ():
                get_all_passes()[each]()().apply(Context(), after.op)
            get_all_passes()[name]()(**options).apply(Context(), after.op)
        except UnsupportedError:
            return
        after.verify()
        assert_uses_are_attached(after)
        fitting = arguments_of_smaller(program, arguments)
        assert_same(oracle_results(after, fitting), oracle_results(program, fitting))

    case.check_program(module, check, f"{name} {options}")


def check_native(data: st.DataObject, case: Case) -> None:
    """Native code and the interpreter compute exactly what the oracle computes."""
    module, arguments = data.draw(programs(Features(operations=installed_operations())))

    def check(program: Module) -> None:
        fitting = arguments_of_smaller(program, arguments)
        expected = oracle_results(program, fitting)
        assert_same(results(build(program)["main"], fitting), expected)
        assert_same(interpreter_results(program, fitting), expected)

    case.check_program(module, check)


def check_texts(data: st.DataObject, case: Case) -> None:
    """MLIR text, TVMScript and TVM's nodes are read back as the same program."""
    module = data.draw(tir_modules(PRINTABLE))
    case.check_program(module, _check_mlir, "mlir")
    for style in STYLES:
        case.check_program(module, partial(_check_script, style=style), style)
    case.check_program(module, _check_nodes, "nodes")


def _check_mlir(module: Module) -> None:
    assert str(parse_mlir(str(module))) == str(module)


def _check_script(module: Module, style: str) -> None:
    script = module.script(style)
    assert parse_tvmscript(script).script(style) == script


def _check_nodes(module: Module) -> None:
    for op in [op for op in module.clone().op.body.block.ops if isinstance(op, FuncOp)]:
        treeify(op)
        func = PrimFunc(op)
        assert func.with_body(func.body).script("0.27") == func.script("0.27")


def check_names(data: st.DataObject, case: Case) -> None:
    """A program with names that other languages give a meaning reads back and computes the same."""
    drawn: tuple[Module, dict[str, Any]] = data.draw(programs(Features(legacy=False)))
    module, arguments = drawn
    renamed = rename(module, data.draw(names()))
    main = renamed.symbols["main"]
    case.show(renamed.module, "mlir")
    again = parse_mlir(str(renamed.module))
    assert [op.properties for op in again.op.walk()] == [op.properties for op in renamed.module.op.walk()]
    for style in STYLES:
        script = renamed.module.script(style)
        case.show(script, style)
        assert parse_tvmscript(script).script(style) == script
    case.show(renamed.module)
    expected = oracle_results(module, arguments)
    assert_same(oracle_results(renamed.module, arguments, main), expected)
    assert_same(results(build(renamed.module)[main], arguments), expected)
