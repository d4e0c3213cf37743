"""Names and strings of a program never become code: in every generated text they are an identifier or a literal."""

import ast
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.printer import Printer

from stepwell import Module, Schedule
from stepwell.backends.build import build
from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.oracle import run_oracle
from stepwell.backends.runtime.packed import register_func
from stepwell.core.errors import ParseError, ScheduleError, StepwellError, UnsupportedError
from stepwell.core.identifiers import is_c_identifier, symbol_of
from stepwell.dialects.tir import AssertOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule.trace import replay_script
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.names import FRAGMENTS, names, rename
from stepwell.tools.testing.strategies import programs, tir_modules


@given(module=tir_modules(Features(threads=True)), name=names())
def test_mlir_text_keeps_every_name(module: Module, name: Callable[[], str]) -> None:
    program = rename(module, name).module
    again = parse_mlir(str(program))
    assert [op.properties for op in again.op.walk()] == [op.properties for op in program.op.walk()]


@pytest.mark.parametrize("style", ["classic", "0.27"])
@given(data=st.data(), name=names())
def test_tvmscript_of_any_name_reads_back(style: str, data: st.DataObject, name: Callable[[], str]) -> None:
    module = data.draw(tir_modules(Features(threads=True, legacy=style == "classic")))
    script = rename(module, name).module.script(style)
    assert parse_tvmscript(script).script(style) == script


@given(program=programs(Features()), name=names())
def test_programs_of_any_name_compute_the_same(program: tuple[Module, dict[str, Any]], name: Callable[[], str]) -> None:
    module, arguments = program
    renamed = rename(module, name)
    main = renamed.symbols["main"]
    expected = oracle_results(module, arguments)
    assert_same(oracle_results(renamed.module, arguments, main), expected)
    assert_same(results(build(renamed.module)[main], arguments), expected)


MESSAGES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"key": ["text", 1]})
    C = T.alloc_buffer((8,), "float32")
    T.attr(0, "pragma_key", "text")
    for i in T.serial(8, annotations={"key": "text"}):
        with T.block("first"):
            v = T.axis.spatial(8, i)
            T.block_attr({"key": "text", "list": ["a", "b"]})
            C[v] = A[v] * T.float32(2)
    for i in range(8):
        with T.block("second"):
            v = T.axis.spatial(8, i)
            x: T.float32 = C[v] + T.float32(1)
            assert x < T.float32(100), "message"
            T.evaluate(T.call_packed("packed", x, v))
            B[v] = x
"""

KERNEL = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    C = T.alloc_buffer((64,), "float32", scope="shared")
    for b in T.thread_binding(2, "blockIdx.x"):
        for t in T.thread_binding(32, "threadIdx.x", annotations={"key": "text"}):
            with T.block("first"):
                v = T.axis.spatial(64, b * 32 + t)
                C[v] = A[v] * T.float32(2)
            for k in T.unroll(1):
                with T.block("second"):
                    v = T.axis.spatial(64, b * 32 + t)
                    x: T.float32 = C[v] + T.float32(1)
                    B[v] = x
"""


def fragments(first: int) -> Callable[[], str]:
    """A source of names that contain the fragments in turn."""
    texts: Iterator[tuple[int, str]] = enumerate(islice(cycle(FRAGMENTS), first, None))
    return lambda: "{1}{0}".format(*next(texts))


@pytest.mark.parametrize("first", range(0, len(FRAGMENTS), 20))
def test_strings_of_every_kind_are_literals(first: int) -> None:
    program = rename(parse_tvmscript(MESSAGES), fragments(first))
    calls: list[tuple[float, int]] = []
    register_func(program.symbols["packed"], lambda x, v: calls.append((x, v)), override=True)
    data = np.arange(8, dtype=np.float32)
    main = program.symbols["main"]
    (message,) = (op.message.data for op in program.module.op.walk() if isinstance(op, AssertOp))
    for run in (lambda *arguments: run_oracle(program.module, main, arguments), build(program.module)[main]):
        result = np.zeros(8, np.float32)
        run(data, result)
        assert np.array_equal(result, data * 2 + 1)
        assert calls == [(2 * i + 1, i) for i in range(8)]
        calls.clear()
        with pytest.raises(StepwellError) as caught:
            run(data * 100, result)
        assert message in str(caught.value)
        calls.clear()
    again = parse_mlir(str(program.module))
    assert [op.properties for op in again.op.walk()] == [op.properties for op in program.module.op.walk()]


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(8, len(FRAGMENTS), 8))])
def test_kernels_of_any_name_compute_the_same(first: int) -> None:
    program = rename(parse_tvmscript(KERNEL), fragments(first))
    compiled = build(program.module, target="cuda-emulated")[program.symbols["main"]]
    data, result = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    compiled(data, result)
    assert np.array_equal(result, data * 2 + 1)


EXTERN = """
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for t in {loop}:
        A[t] = T.call_extern("float32", {name}, A[t])
"""


@pytest.mark.parametrize(
    ("target", "loop", "message"),
    [("llvm", "range(32)", "identifier of C"), ("cuda", 'T.thread_binding(32, "threadIdx.x")', "on the device")],
)
def test_a_c_function_is_called_by_an_identifier(target: str, loop: str, message: str) -> None:
    names = {*FRAGMENTS, "f(A)", "f;", "fn.main", "llvm.sqrt.f32", "std::max"}
    for name in sorted(name for name in names if not is_c_identifier(name)):
        module = parse_tvmscript(EXTERN.format(loop=loop, name=ascii(name)))
        with pytest.raises(UnsupportedError, match=message):
            build(module, target=target)


def test_no_c_function_has_the_name_of_the_runtime() -> None:
    for name in ("stepwell.poll", "stepwell.call_python", "stepwell.run_parallel"):
        with pytest.raises(UnsupportedError, match=f"'{name}': expected an identifier of C"):
            build(parse_tvmscript(EXTERN.format(loop="range(32)", name=repr(name))))


def test_symbols_of_distinct_names_are_distinct_and_printable() -> None:
    names = [*FRAGMENTS, "a%00", "a\0", "%", "%25", "a%2500"]
    symbols = [symbol_of("fn", name) for name in names]
    assert len(set(symbols)) == len(set(names))
    assert all(symbol.isascii() and symbol.isprintable() and not is_c_identifier(symbol) for symbol in symbols)


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=ascii)
def test_the_trace_of_a_schedule_is_python_with_the_same_strings(fragment: str) -> None:
    module = parse_tvmscript(MESSAGES)
    schedule = Schedule(module)
    block = schedule.get_block("first")
    schedule.annotate(block, f"k{fragment}", f"v{fragment}")
    text = str(schedule.trace)
    strings = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    assert {f"k{fragment}", f"v{fragment}"} <= strings
    again = Schedule(module)
    replay_script(again, text)
    assert str(again.mod) == str(schedule.mod)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_of_a_surrogate_pair_is_no_text(text: str) -> None:
    schedule = Schedule(parse_tvmscript(MESSAGES))
    with pytest.raises((ScheduleError, ValueError)):
        schedule.annotate(schedule.get_block("first"), "key", text)
    with pytest.raises(ParseError):
        parse_tvmscript(MESSAGES.replace("message", text))
    with pytest.raises(ParseError):
        parse_tvmscript(MESSAGES.replace("message", ascii(text)[1:-1]))
    with pytest.raises(ParseError):
        parse_tvmscript(MESSAGES.replace('"message"', "k"), extra_vars={"k": text})


ROWS = '#relay.sizes<"n">'
GRAPH = f"""
relay.func @main("x" %x: tensor<?x8xf32, {ROWS}>) {{
  %w = relay.constant "w" : tensor<3x8xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, {ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {ROWS}>
  relay.return %0 : tensor<?x3xf32, {ROWS}>
}}
"""


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, len(FRAGMENTS), 2))])
def test_graphs_and_their_files_take_tensors_of_any_name(first: int, tmp_path: Path) -> None:
    name = fragments(first)
    x, w = f"x{name()}", f"w{name()}"
    mod = parse_mlir(GRAPH.replace('"x"', _mlir_literal(x)).replace('"w"', _mlir_literal(w)))
    mod.constants[w] = np.ones((3, 8), np.float32)
    assert str(parse_mlir(str(mod))) == str(mod)
    build_graph(mod).save(tmp_path / "graph")
    assert {file.name for file in (tmp_path / "graph").iterdir()} == {
        "code.o", "constants.bin", "graph.mlir", "stepwell.json",
    }  # fmt: skip
    executor = GraphExecutor(Executable.load(tmp_path / "graph"))
    executor.run(**{x: np.ones((2, 8), np.float32)})
    assert np.array_equal(executor.get_output(0), np.full((2, 3), 8, np.float32))


def _mlir_literal(text: str) -> str:
    stream = StringIO()
    Printer(stream).print_string_literal(text)
    return stream.getvalue()
