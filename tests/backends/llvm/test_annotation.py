"""Annotated assembly: the loops of functions, counts of instructions, and lines of the source."""

import platform
import re
from pathlib import Path

import pytest

import stepwell
from stepwell.backends.llvm.annotation import Counts, count
from stepwell.backends.llvm.assembly import AssemblyFunction, Block, Instruction, functions_of
from stepwell.core.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="annotations are for x86-64")

PRODUCT = """\
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(64):
        for k in range(64):
            for j in T.vectorized(64):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


def function(*lines: str) -> AssemblyFunction:
    text = "\n".join(line if line.endswith(":") else f"\t{line.replace(' ', chr(9), 1)}" for line in lines)
    (result,) = functions_of(f"\t.type\tf,@function\nf:\n{text}\n.Lfunc_end0:\n")
    return result


def headers(result: AssemblyFunction) -> list[tuple[str, int]]:
    """The last label and the depth of each loop."""
    return [(result.blocks[loop.header].labels[-1], result.depth(loop)) for loop in result.loops]


def test_nested_loops_are_found_from_outside_to_inside() -> None:
    nest = function(
        "xorl %eax, %eax", ".L1:", "xorl %ebx, %ebx", ".L2:", "incq %rbx", "cmpq $8, %rbx", "jne .L2", "incq %rax",
        "cmpq $8, %rax", "jne .L1", "retq",
    )  # fmt: skip
    assert headers(nest) == [(".L1", 1), (".L2", 2)]
    outer, inner = nest.loops
    assert [i.text for block in nest.own_blocks(outer) for i in block.instructions] == [
        "xorl\t%ebx, %ebx", "incq\t%rax", "cmpq\t$8, %rax", "jne\t.L1",
    ]  # fmt: skip
    assert len(nest.own_blocks(inner)) == 1


def test_a_branch_back_that_another_path_avoids_is_no_loop() -> None:
    # .L2 follows the return: a rare path that joins the frequent path before it
    assert headers(function("testl %eax, %eax", "jne .L2", ".L1:", "retq", ".L2:", "incq %rbx", "jmp .L1")) == []


def test_code_that_is_not_reached_has_no_loop() -> None:
    assert headers(function("retq", ".L1:", "incq %rbx", "jmp .L1")) == []


def test_two_branches_to_one_block_are_one_loop() -> None:
    result = function(".L1:", "incq %rbx", "je .L1", "cmpq $3, %rbx", "jne .L1", "retq")
    assert headers(result) == [(".L1", 1)]
    assert len(result.loops[0].blocks) == 2


@pytest.mark.parametrize(
    ("text", "loads", "stores", "stack", "width"),
    [
        ("vmovups (%rdi,%rax,4), %zmm0", 1, 0, 0, 512),
        ("vmovaps %ymm1, 64(%rsp)", 0, 1, 1, 256),
        ("vmovss 16(%rsp), %xmm0", 1, 0, 1, 0),
        ("vbroadcastss -4(%rdi), %xmm1", 1, 0, 0, 128),
        ("vaddss (%rdi), %xmm0, %xmm0", 1, 0, 0, 0),
        ("addq $5, (%rdi)", 1, 1, 0, 0),
        ("incq (%rdi)", 1, 1, 0, 0),
        ("cmpq $5, (%rdi)", 1, 0, 0, 0),
        ("leaq 1(,%rbx,8), %r12", 0, 0, 0, 0),
        ("movq $5, %rax", 0, 0, 0, 0),
        ("vfmadd231ps (%rsi), %zmm1, %zmm0", 1, 0, 0, 512),
        ("vfmadd231ps (%rsi){1to16}, %zmm1, %zmm0 {%k1}", 1, 0, 0, 512),
        ("vmovups %zmm0, (%rdi) {%k1}", 0, 1, 0, 512),
        ("callq *%rax", 0, 0, 0, 0),
        ("movl table(%rip), %eax", 1, 0, 0, 0),
        ("prefetcht0 (%rdi)", 0, 0, 0, 0),
    ],
)
def test_instructions_are_counted(text: str, loads: int, stores: int, stack: int, width: int) -> None:
    counts = count([Block([], [Instruction(text.replace(" ", "\t", 1), None)])])
    assert counts == Counts(1, int("fmadd" in text), loads, stores, stack, width)


def test_the_frame_pointer_points_to_the_stack_in_functions_that_set_it() -> None:
    block = Block([], [Instruction("movq\t%rax, -8(%rbp)", None)])
    assert (count([block]).stack, count([block], has_frame=True).stack) == (0, 1)


def test_a_product_has_its_loops_with_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "product.py").write_text(PRODUCT)
    mod = stepwell.parse_tvmscript(PRODUCT, filename="product.py")
    text = stepwell.build(mod, target="llvm -debug=1 -mcpu=haswell -mattr=+fma -fast-math-contract=1", schedule=False)
    annotated = text.source("asm", annotate=True)
    table = [line for line in annotated.splitlines() if line.startswith("#")]
    assert table[0].startswith("# fn.main: ")
    assert any(re.fullmatch(r"#  +loop \d+: product\.py:5: for k in range\(64\):", line) for line in table)
    (product,) = [line for line in table[1:] if not re.search(r" 0 fma| loop \d", line)]
    assert "vectors of 256 bits" in product
    assert "\t# product.py:7: C[i, j] = C[i, j] + A[i, k] * B[k, j]\n" in annotated
    assert re.search(r"^\.LBB\S+:\n\t# loop 1$", annotated, re.MULTILINE)
    assert ".cfi" not in annotated


def test_errors() -> None:
    lib = stepwell.build(stepwell.parse_tvmscript(PRODUCT))
    with pytest.raises(UnsupportedError, match="no debug information, expected the target llvm -debug=1"):
        lib.source("asm", annotate=True)
    with pytest.raises(ArgumentError, match="annotations are for the source 'asm', got 'llvm'"):
        lib.source("llvm", annotate=True)
