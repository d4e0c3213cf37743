"""Assembly with the lines of the source, and the counts of each loop: arithmetic, accesses to memory, vector width."""

from __future__ import annotations

import linecache
import os
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...core.errors import UnsupportedError
from .assembly import AssemblyFunction, Block, Instruction, NaturalLoop, Place, functions_of

_FMA = re.compile(r"vfn?m(add|sub)")
_SCALAR = re.compile(r"(?<!broadcast)(ss|sd|sh)$|^v?mov[dq]$|^vcvtt?s[dshi]")
_WIDTHS = {"%zmm": 512, "%ymm": 256, "%xmm": 128}
_NO_ACCESS = ("lea", "nop", "prefetch", "push", "pop", "call", "j", "ret")
_COMPARES = ("cmp", "test", "vptest", "vucomi", "vcomi", "ucomi", "comi", "bt", "kortest")
_MOVES = (
    "mov", "vmov", "kmov", "vextract", "vpextr", "vcvtps2ph", "vpmov", "vpscatter", "vscatter", "vcompress", "set",
)  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """Static counts of instructions.

    fmas: of multiplications with an addition.  stack: accesses to the stack, among the loads and stores.  width: of the
    widest vectors in bits, 0 without vectors.
    """

    instructions: int
    fmas: int
    loads: int
    stores: int
    stack: int
    width: int

    def __str__(self) -> str:
        vectors = f"vectors of {self.width} bits" if self.width else "no vectors"
        return (
            f"{self.instructions} instructions, {vectors}, {self.fmas} fma, {self.loads} loads, {self.stores} stores, "
            f"{self.stack} accesses to the stack"
        )


def count(blocks: Iterable[Block], has_frame: bool = False) -> Counts:
    """The counts of some blocks. has_frame: whether %rbp points to the stack."""
    instructions = [each for block in blocks for each in block.instructions]
    loads, stores = (sum(map(reads, instructions)), sum(map(writes, instructions)))
    return Counts(
        len(instructions),
        sum(_FMA.match(each.mnemonic) is not None for each in instructions),
        loads,
        stores,
        sum((reads(each) + writes(each)) * _is_on_stack(each, has_frame) for each in instructions),
        max(map(width, instructions), default=0),
    )


def _memory(instruction: Instruction) -> list[int]:
    """The positions of the operands in memory."""
    if instruction.mnemonic.startswith(_NO_ACCESS):
        return []
    return [n for n, each in enumerate(instruction.operands) if each[0] not in "$%"]


def writes(instruction: Instruction) -> bool:
    """Whether an instruction writes memory."""
    last = len(instruction.operands) - 1
    return last in _memory(instruction) and not instruction.mnemonic.startswith(_COMPARES)


def reads(instruction: Instruction) -> bool:
    """Whether an instruction reads memory."""
    places = _memory(instruction)
    return bool(places) and not (writes(instruction) and instruction.mnemonic.startswith(_MOVES))


def width(instruction: Instruction) -> int:
    """The width of the vectors of an instruction in bits, 0 for a scalar instruction."""
    if _SCALAR.search(instruction.mnemonic):
        return 0
    return max((bits for name, bits in _WIDTHS.items() if name in instruction.text), default=0)


def _is_on_stack(instruction: Instruction, has_frame: bool) -> bool:
    registers = ("(%rsp", "(%rbp") if has_frame else ("(%rsp",)
    return any(register in instruction.text for register in registers)


def annotate(text: str) -> str:
    """The functions of an assembly text that have places of the source, with comments: a table of loops before each
    function, the number of a loop at its first block, and each line of the source before its instructions.

    UnsupportedError for assembly without debug information, and for another processor than x86-64.
    """
    if platform.machine() != "x86_64":
        raise UnsupportedError(f"annotations are for x86-64, got {platform.machine()}")
    functions = [each for each in functions_of(text) if any(i.place for b in each.blocks for i in b.instructions)]
    if not functions:
        raise UnsupportedError("the assembly has no debug information, expected the target llvm -debug=1")
    return "\n\n".join("\n".join(_lines(function)) for function in functions) + "\n"


def _lines(function: AssemblyFunction) -> Iterator[str]:
    loops = sorted(function.loops, key=lambda loop: (loop.header, -len(loop.blocks)))
    first = {loop.header: number for number, loop in enumerate(loops, 1)}
    yield f"# {function.name}: {count(function.blocks, _has_frame(function))}"
    for number, loop in enumerate(loops, 1):
        yield f"#{'  ' * function.depth(loop)} loop {number}{_title(loop)}"
        yield f"#{'  ' * function.depth(loop)}   {count(function.own_blocks(loop), _has_frame(function))}"
    place = None
    for n, block in enumerate(function.blocks):
        yield from (f"{label}:" for label in block.labels)
        if n in first:
            yield f"\t# loop {first[n]}"
        for instruction in block.instructions:
            if instruction.place != place and instruction.place is not None:
                place = instruction.place
                yield f"\t# {_describe(place)}"
            yield f"\t{instruction.text}"


def _has_frame(function: AssemblyFunction) -> bool:
    return any(each.text == "movq\t%rsp, %rbp" for block in function.blocks for each in block.instructions)


def _title(loop: NaturalLoop) -> str:
    return "" if loop.place is None else f": {_describe(loop.place)}"


def _describe(place: Place) -> str:
    """A place with the text of its line, if the file can be read."""
    file = os.path.relpath(place.file) if os.path.isabs(place.file) else place.file
    source = linecache.getline(place.file, place.line).strip()
    return f"{min(file, place.file, key=len)}:{place.line}{f': {source}' if source else ''}"
