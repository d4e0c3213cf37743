"""The structure of assembly text: functions, basic blocks and loops. Syntax: AT&T, x86-64."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import PurePath

_LABEL = re.compile(r'^("[^"]+"|[^\s:#]+):')
_STRING = r'"((?:[^"\\]|\\.)*)"'
_FILE = re.compile(rf"^\s*\.file\s+(\d+) {_STRING}(?: {_STRING})?")
_LOCATION = re.compile(r"^\s*\.loc\s+(\d+) (\d+)")
_FUNCTION = re.compile(r'^\s*\.type\s+("[^"]+"|[^\s,]+),@function')
_ENDS = ("ret", "ud2", "hlt")


@dataclass(frozen=True)
class Place:
    """A line of a source file."""

    file: str
    line: int


@dataclass(frozen=True)
class Instruction:
    """An instruction. text: without indentation, its parts separated by a tab.  place: the last known place of the
    source."""

    text: str
    place: Place | None

    @property
    def mnemonic(self) -> str:
        return self.text.split("\t")[0].split(" ")[-1]  # after prefixes such as `lock`

    @cached_property
    def operands(self) -> list[str]:
        """The operands, sources before the destination."""
        _, _, rest = self.text.partition("\t")
        parts, depth = [""], 0
        for char in rest.partition("#")[0].strip():
            depth += (char in "({") - (char in ")}")
            if char == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += char
        return [part.strip() for part in parts if part.strip()]


@dataclass
class Block:
    """A basic block. labels: its names."""

    labels: list[str]
    instructions: list[Instruction] = field(default_factory=list[Instruction])


@dataclass(frozen=True)
class NaturalLoop:
    """A loop of the control flow.

    header: the number of its first block.  blocks: the numbers of its blocks.  place: that of the branch to the header.
    """

    header: int
    blocks: frozenset[int]
    place: Place | None


@dataclass
class AssemblyFunction:
    """A function. blocks: in the order of the text."""

    name: str
    blocks: list[Block]

    @cached_property
    def successors(self) -> list[list[int]]:
        """The numbers of the blocks that may follow each block."""
        number = {label: n for n, block in enumerate(self.blocks) for label in block.labels}
        return [self._following(n, number) for n in range(len(self.blocks))]

    def _following(self, n: int, number: dict[str, int]) -> list[int]:
        result: list[int] = []
        for instruction in self.blocks[n].instructions:
            if instruction.mnemonic.startswith("j") and instruction.operands:
                result += [number[target] for target in instruction.operands[:1] if target in number]
        last = self.blocks[n].instructions[-1:]
        falls = not last or not last[0].mnemonic.startswith(("jmp", *_ENDS))
        return [*result, n + 1] if falls and n + 1 < len(self.blocks) else result

    @cached_property
    def loops(self) -> list[NaturalLoop]:
        """The loops, outer loops first: of all branches back to a block that dominates them."""
        backs: dict[int, list[int]] = {}
        for n, following in enumerate(self.successors):
            for header in following:
                if self._dominates(header, n):
                    backs.setdefault(header, []).append(n)
        loops = [NaturalLoop(header, self._body(header, ends), self._place(ends)) for header, ends in backs.items()]
        return sorted(loops, key=lambda loop: (-len(loop.blocks), loop.header))

    def _dominates(self, header: int, n: int) -> bool:
        """Whether every path to block `n` contains block `header`. No block dominates one that is not reached."""
        while n in self._dominators and n not in (0, header):
            n = self._dominators[n]
        return n == header and n in self._dominators

    @cached_property
    def _dominators(self) -> dict[int, int]:
        """The immediate dominator of each block that is reached, by the algorithm of Cooper, Harvey and Kennedy."""
        order = self._postorder()
        position = {n: place for place, n in enumerate(order)}
        result = {0: 0}

        def common(a: int, b: int) -> int:
            while a != b:
                while position[a] < position[b]:
                    a = result[a]
                while position[b] < position[a]:
                    b = result[b]
            return a

        changed = True
        while changed:
            changed = False
            for n in order[-2::-1]:
                known = [each for each in self._predecessors[n] if each in result]
                new = reduce(common, known)
                changed |= result.get(n) != new
                result[n] = new
        return result

    def _postorder(self) -> list[int]:
        """The blocks that are reached, each after those that are first reached from it; the first block is last."""
        order: list[int] = []
        seen, todo = {0}, [(0, iter(self.successors[0]))]
        while todo:
            n, following = todo[-1]
            unseen = next((each for each in following if each not in seen), None)
            if unseen is None:
                order.append(n)
                todo.pop()
            else:
                seen.add(unseen)
                todo.append((unseen, iter(self.successors[unseen])))
        return order

    @cached_property
    def _predecessors(self) -> list[list[int]]:
        result: list[list[int]] = [[] for _ in self.blocks]
        for n, following in enumerate(self.successors):
            for each in following:
                result[each].append(n)
        return result

    def _body(self, header: int, ends: Sequence[int]) -> frozenset[int]:
        """The blocks from which an end of the loop is reached without its header."""
        body, todo = {header}, list(ends)
        while todo:
            n = todo.pop()
            if n not in body:
                body.add(n)
                todo += self._predecessors[n]
        return frozenset(body)

    def _place(self, ends: Sequence[int]) -> Place | None:
        return next((each.place for n in ends for each in reversed(self.blocks[n].instructions) if each.place), None)

    def own_blocks(self, loop: NaturalLoop) -> list[Block]:
        """The blocks of a loop that are in none of its inner loops."""
        inner = [each.blocks for each in self.loops if each.blocks < loop.blocks]
        return [self.blocks[n] for n in sorted(loop.blocks) if not any(n in blocks for blocks in inner)]

    def depth(self, loop: NaturalLoop) -> int:
        """The number of loops around the blocks of a loop, itself among them."""
        return sum(loop.blocks <= each.blocks for each in self.loops)


def functions_of(text: str) -> Iterator[AssemblyFunction]:
    """The functions of the assembly of one or several units."""
    files: dict[str, str] = {}
    name, function, place = "", None, None
    for line in text.splitlines():
        if (match := _FILE.match(line)) is not None:
            files[match[1]] = str(PurePath(match[2], match[3])) if match[3] else match[2]
        elif (match := _FUNCTION.match(line)) is not None:
            name = match[1]
        elif (match := _LABEL.match(line)) is not None:
            label = match[1]
            if label == name:
                function, place = AssemblyFunction(name.strip('"'), [Block([label])]), None
            elif function is not None and label.startswith((".Lfunc_end", "Lfunc_end")):
                yield function
                function = None
            elif function is not None and not label.startswith((".Ltmp", ".Lfunc_begin")):
                _add_label(function, label)
        elif (match := _LOCATION.match(line)) is not None:
            place = Place(files[match[1]], int(match[2])) if match[2] != "0" else place
        elif function is not None and line.startswith("\t") and not line.startswith(("\t.", "\t#")):
            _add_instruction(function, Instruction(line.strip(), place))


def _add_label(function: AssemblyFunction, label: str) -> None:
    if function.blocks[-1].instructions:
        function.blocks.append(Block([]))
    function.blocks[-1].labels.append(label)


def _add_instruction(function: AssemblyFunction, instruction: Instruction) -> None:
    last = function.blocks[-1].instructions[-1:]
    if last and last[0].mnemonic.startswith(("j", *_ENDS)):
        function.blocks.append(Block([]))
    function.blocks[-1].instructions.append(instruction)
