"""Functions and modules as TVMScript."""

import json
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from stepwell.core.errors import UnsupportedError
from stepwell.dialects.text import print_function, print_tvmscript
from stepwell.dialects.tir import FuncOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

CORPUS = Path(__file__).parents[2] / "data" / "corpus"
PROGRAMS = sorted(path.name.removesuffix(".tvm.py") for path in (CORPUS / "tvmscript").glob("*.tvm.py"))
SCHEDULES = [json.loads(line) for line in (CORPUS / "schedules" / "schedules.jsonl").read_text().splitlines()]
SCHEDULED = list(dict.fromkeys(line[kind] for line in SCHEDULES for kind in ("in", "out")))
"""The programs of all lines, each once."""


def classic_text(name: str) -> str:
    """A program of the corpus, rewritten by hand in the older syntax, with TVM's header of that time."""
    text = (CORPUS / "tvmscript" / f"{name}.classic.py").read_text().rstrip("\n")
    text = text.replace(
        "# from tvm.script import tir as T\n\n@tvm.script.ir_module",
        "\n".join(["# from tvm.script import ir as I", "# from tvm.script import tir as T", "", "@I.ir_module"]),
    )
    return text.replace(": T.let[T.int32] =", ": T.int32 =").replace(": T.let[T.float32] =", ": T.float32 =")


def test_an_unknown_style_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown style 'clasic', did you mean 'classic'\? \(known: classic, 0.27\)"):
        print_tvmscript(ModuleOp([]), style="clasic")


def test_an_empty_module_is_a_class_that_passes():
    assert print_tvmscript(ModuleOp([])).endswith("@I.ir_module\nclass Module:\n    pass")


def test_a_module_takes_its_own_name(mlir):
    assert "\nclass Mine:\n" in print_tvmscript(mlir("builtin.module @Mine {\n}"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_corpus_prints_as_tvm_printed_it(name: str):
    today = (CORPUS / "tvmscript" / f"{name}.tvm.py").read_text().rstrip("\n")
    module = parse_tvmscript(today)
    assert module.script("0.27") == today
    assert module.script() == classic_text(name)
    older = parse_tvmscript((CORPUS / "tvmscript" / f"{name}.classic.py").read_text())
    assert older.script() == module.script()
    assert parse_tvmscript(module.script()).script() == module.script()


@pytest.mark.parametrize("part", range(6))
def test_a_scheduled_program_prints_as_tvm_printed_it(part: int):
    for text in SCHEDULED[part::6]:
        assert parse_tvmscript(text).script("0.27") == text.rstrip("\n")


@pytest.mark.parametrize("clean_up", [CanonicalizePass, CommonSubexpressionElimination, DeadCodeElimination])
@pytest.mark.parametrize("name", ["conv2d_nhwc", "gather_nd", "matmul_i8_i32", "reduce_argmax_0", "resize_bilinear"])
def test_upstream_clean_ups_do_not_change_the_text(name: str, clean_up: type):
    module = parse_tvmscript((CORPUS / "tvmscript" / f"{name}.tvm.py").read_text())
    text = module.script()
    clean_up().apply(Context(), module.op)
    assert module.script() == text


def test_one_function_prints_so_that_it_can_be_read_alone(mlir):
    (function,) = mlir('tir.func @f("x" %x: i32) -> i32 {\n  tir.return %x : i32\n}').body.block.ops
    assert isinstance(function, FuncOp)
    text = print_function(function)
    assert text == "# from tvm.script import tir as T\n\n@T.prim_func\ndef f(x: T.int32) -> T.int32:\n    T.ret(x)"
    assert str(parse_tvmscript(text).functions["f"]) == str(function)


def test_an_empty_function_passes(mlir):
    text = print_tvmscript(mlir('tir.func @f("x" %x: i32) {\n}'))
    assert text.endswith("def f(x: T.int32):\n        pass")


def test_a_module_with_functions_of_another_landing_is_refused(mlir):
    with pytest.raises(UnsupportedError, match=r"^func.func has no form in TVMScript"):
        print_tvmscript(mlir("func.func @f() {\n  func.return\n}"))


def test_a_parameter_whose_size_nothing_names_is_refused():
    module = parse_mlir('tir.func @f("A" %A: memref<?xf32>) {\n}').op  # does not verify
    with pytest.raises(UnsupportedError, match=r"parameter A: a size that nothing names, expected a handle and"):
        print_tvmscript(module)


def test_output_does_not_depend_on_what_was_printed_before(mlir):
    text = (CORPUS / "tvmscript" / "matmul.tvm.py").read_text()
    module = parse_tvmscript(text)
    assert module.script() == module.script() == module.clone().script()


def test_a_function_with_a_name_that_python_has_no_use_for_keeps_it_as_its_symbol(mlir):
    module = mlir("""
        tir.func @"my-fn"() {
        }
        tir.func private @lambda() {
        }
        tir.func @main() {
          tir.call @"my-fn"()
          tir.call @lambda()
        }""")
    lines = [line.strip() for line in print_tvmscript(module).split("\n")[4:] if line]
    assert lines == [
        "class Module:",
        "@T.prim_func",
        "def my_fn():",
        'T.func_attr({"global_symbol": "my-fn"})',
        "@T.prim_func(private=True)",
        "def lambda_1():",
        "pass",
        "@T.prim_func",
        "def main():",
        "cls.my_fn()",
        "cls.lambda_1()",
    ]
    text = print_tvmscript(module)
    assert parse_tvmscript(text).script() == text


def test_an_access_outside_of_a_block_is_refused(mlir):
    module = mlir('tir.func @f("A" %A: memref<8xf32>) {\n  tir.access reads %A[0 +: 8] : memref<8xf32>\n}')
    with pytest.raises(UnsupportedError, match=r"^tir.access outside of a tir.block has no form in TVMScript$"):
        print_tvmscript(module)
