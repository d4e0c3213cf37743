"""Programs printed with underlined lines."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import Operation

from stepwell.core.errors import OptionError
from stepwell.dialects.text import print_function, print_marked
from stepwell.dialects.tir import AccessOp, AllocBufferOp, BlockOp, ForOp, FuncOp, InitOp, LoadOp, StoreOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.strategies import programs

OpT = TypeVar("OpT", bound=Operation)

PROGRAMS = sorted((Path(__file__).parents[2] / "data" / "printed").glob("*.py"))

MATMUL = """
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    D = T.alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, 8):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.where(i + j < 30)
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vi, vj]
"""


@pytest.fixture
def matmul() -> FuncOp:
    return of(parse_tvmscript(MATMUL).op, FuncOp)[0]


def of(op: Operation, kind: type[OpT]) -> list[OpT]:
    return [inner for inner in op.walk() if isinstance(inner, kind)]


def underlined(text: str) -> list[str]:
    """The parts of lines that are underlined by `^^^`."""
    lines = text.split("\n")
    found: list[str] = []
    for above, line in pairwise(lines):
        if (marked := line.lstrip()).startswith("^"):
            start = len(line) - len(marked)
            found.append(above[start : start + len(marked.split(" ")[0])])
    return found


def test_a_marked_loop_of_a_grid_has_a_line_of_its_own(matmul: FuncOp):
    text = print_marked(matmul, {of(matmul, ForOp)[1]: "cannot be parallel"}, context=1)
    assert (
        text
        == """\
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    ...
    for i in range(16):
        for j in range(16):
        ^^^^^^^^^^^^^^^^^^^ cannot be parallel
            for k in range(8):
    ..."""
    )


def test_one_access_of_a_line_is_underlined_and_texts_of_several_lines_are_aligned(matmul: FuncOp):
    block = of(matmul, BlockOp)[0]
    marks = {block.accesses[1]: "read here\nand only here", block.variables[2]: "the reduction"}
    assert (
        print_marked(block, marks, context=0)
        == """\
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    ...
    for i, j, k in T.grid(16, 16, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.reduce(8, k)
            ^^^^^^^^^^^^^^^^^^^^^^^^ the reduction
            T.where(i + j < 30)
            T.reads(A[vi, vk], B[vk, vj])
                               ^^^^^^^^^ read here
                                         and only here
    ..."""
    )


def test_without_context_the_whole_function_is_kept(matmul: FuncOp):
    plain = print_function(matmul).split("\n")
    marked = print_marked(matmul, [of(matmul, StoreOp)[2]]).split("\n")
    start = plain.index("@T.prim_func")
    assert [line for line in marked if "^" not in line] == plain[start:]
    assert underlined("\n".join(marked)) == ["C[vi, vj] = D[vi, vj]"]


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (lambda f: of(f, AllocBufferOp)[0], "D = T.alloc_buffer((16, 16))"),
        (lambda f: of(f, AllocBufferOp)[0].buffer, "D = T.alloc_buffer((16, 16))"),
        (lambda f: of(f, BlockOp)[1], 'with T.block("C"):'),
        (lambda f: of(f, InitOp)[0], "with T.init():"),
        (lambda f: of(f, ForOp)[2].variable, "for k in range(8):"),
        (lambda f: of(f, BlockOp)[1].variables[0], "vi = T.axis.spatial(16, i)"),
        (lambda f: of(f, BlockOp)[0].predicate, "T.where(i + j < 30)"),
        (lambda f: of(f, AccessOp)[-1], "C[vi, vj]"),
        (lambda f: of(f, LoadOp)[-1], "C[vi, vj] = D[vi, vj]"),
        (lambda f: f, "def main(A: T.Buffer((16, 8)"),
        (lambda f: f.body.block.args[0], "def main(A: T.Buffer((16, 8)"),
    ],
)
def test_what_is_marked_is_underlined(matmul: FuncOp, find: Callable[[FuncOp], Any], text: str):
    (found,) = underlined(print_marked(matmul, [find(matmul)]))
    assert found.startswith(text)


def test_two_marks_of_one_line_are_two_underlines(matmul: FuncOp):
    reads = of(matmul, BlockOp)[0].accesses[:2]
    text = print_marked(matmul, dict.fromkeys(reads, "both"))
    assert underlined(text)[0] == "A[vi, vk]"
    assert text.count("^^^^^^^^^ both") == 2


def test_marks_that_share_a_place_share_an_underline(matmul: FuncOp):
    store = of(matmul, StoreOp)[2]
    text = print_marked(matmul, {store: "written", of(matmul, LoadOp)[-1]: "read"}, context=0)
    assert text.count("^^^ written\n") == 1
    assert text.endswith(" read")


def test_an_operation_between_functions_shows_its_module(matmul: FuncOp):
    module = matmul.parent_op()
    assert module is not None
    assert (
        print_marked(module, [module], context=0)
        == """\
@I.ir_module
class Module:
^^^^^^^^^^^^^
    ..."""
    )


def test_a_program_without_marks_is_kept(matmul: FuncOp):
    assert "..." not in print_marked(matmul, [], context=0)


def test_what_has_no_tvmscript_is_shown_as_mlir():
    module = parse_mlir("""
        tir.func @main("A" %A: memref<?xf32>) {
          %0 = arith.constant 0 : i32
          %1 = arith.constant 1.0 : f32
          tir.store %1, %A[%0] : memref<?xf32>
        }""").op  # does not verify
    text = print_marked(module, {of(module, StoreOp)[0]: "here"}, context=1)
    assert (
        text
        == """\
builtin.module {
    tir.func @main("A" %A: memref<?xf32>) {
        %0 = arith.constant 0 : i32
        %1 = arith.constant 1.000000e+00 : f32
        tir.store %1, %A[%0] : memref<?xf32>
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here
    }
}"""
    )


def test_a_loop_outside_of_any_function_is_shown(matmul: FuncOp):
    loop = of(matmul, ForOp)[3]
    loop.detach()
    assert underlined(print_marked(loop, [loop]))[0].startswith("tir.for")


def test_an_unknown_style_is_refused(matmul: FuncOp):
    with pytest.raises(OptionError, match="unknown style 'clasic', did you mean 'classic'"):
        print_marked(matmul, [], style="clasic")


def check_mark(op: Operation, plain: str) -> None:
    """Checks that marking `op` prints one underline, and preserves the other lines of the function, except loops and
    axes printed separately."""
    text = print_marked(op, {op: "MARK"})
    assert text.count("^ MARK") == 1
    assert len(text) > len(plain)
    assert print_marked(op, {op: "MARK"}, context=0).count("^ MARK") == 1


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_everything_in_a_program_can_be_marked(path: Path, step: int):
    for function in of(parse_tvmscript(path.read_text()).op, FuncOp):
        plain = print_marked(function, [])
        for op in list(function.walk())[::step]:
            check_mark(op, plain)


@given(programs(), st.data())
def test_everything_in_a_random_program_can_be_marked(program: Any, data: st.DataObject):
    module, _ = program
    function = data.draw(st.sampled_from(of(module.op, FuncOp)))
    check_mark(data.draw(st.sampled_from(list(function.walk()))), print_marked(function, []))
