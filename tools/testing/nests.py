"""Loop nests of the blocks of random programs: plain, split, fused, shifted, reversed, with conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .choices import Choices, flag, pick

LETTERS = "ijklmnop"

Extent = int | str
"""A constant, or a symbolic size, which is at least 2: `n`, or a product such as `n * 3`."""


@dataclass
class Nest:
    """A block, with the constraints on its loops.

    spatial, reduced: extents of its axes, named `vi`, `vj`, ...; all domains start at 0.  body, init: lines of text.
    where: a condition with `{0}`, `{1}`, ... for the values of axes.  in_order: whether instances must run in
    lexicographic order of the axes.  is_parallel: whether all instances may run concurrently.  first: the number of
    letters already in use.
    """

    name: str
    spatial: tuple[Extent, ...]
    reduced: tuple[Extent, ...] = ()
    body: list[str] = field(default_factory=list[str])
    init: list[str] = field(default_factory=list[str])
    where: str | None = None
    in_order: bool = False
    is_parallel: bool = False
    first: int = 0

    @property
    def extents(self) -> tuple[Extent, ...]:
        return self.spatial + self.reduced

    @property
    def axes(self) -> list[str]:
        return axes(len(self.extents), self.first)


def axes(count: int, first: int = 0) -> list[str]:
    """The names of `count` axes, after the first `first` names."""
    return [f"v{letter}" for letter in LETTERS[first : first + count]]


@dataclass
class _Loop:
    name: str
    start: int
    stop: Extent
    kind: str = "serial"


class NestWriter:
    """Writes blocks in loop nests.

    index: the data type of loops and axes.  plain: exactly one loop for each axis, from 0.
    """

    def __init__(self, choices: Choices, index: str, *, plain: bool):
        self.choices = choices
        self.index = index
        self.plain = plain

    def number(self, extent: Extent) -> str:
        """An extent as a literal of the index type."""
        return f"T.int64({extent})" if self.index == "int64" and isinstance(extent, int) else str(extent)

    def lines(self, nest: Nest, outer: Sequence[str] = ()) -> list[str]:
        """The lines of a block in its loop nest.

        outer: existing enclosing loops, each from 0 to the extent of one of the first axes.
        """
        loops: list[_Loop] = []
        bindings = list(outer)
        conditions: list[str] = []
        n = len(outer)
        while n < len(nest.extents):
            n += self._axis(nest, n, loops, bindings, conditions)
        if not nest.in_order and not self.plain and flag(self.choices, 4):
            loops = [loops.pop(self.choices.integer(0, len(loops) - 1)) for _ in range(len(loops))]
        if not self.plain and loops and flag(self.choices, 8):
            self._choose_kind(nest, loops)
        if nest.where is not None:
            conditions.append(nest.where.format(*bindings))
        return self._block_lines(nest, loops, bindings, conditions)

    def _axis(self, nest: Nest, n: int, loops: list[_Loop], bindings: list[str], conditions: list[str]) -> int:
        """Adds loops for the next axis or the next two axes; returns the number of axes."""
        letter, extent = LETTERS[nest.first + n], nest.extents[n]
        shape = 0 if self.plain or not flag(self.choices, 3) else self.choices.integer(0, 4)
        following = nest.extents[n + 1] if n + 1 < len(nest.extents) else None
        same_kind = (n < len(nest.spatial)) == (n + 1 < len(nest.spatial))
        if shape == 1:
            loops.append(_Loop(letter, (start := self.choices.integer(1, 3)), self._plus(extent, start)))
            bindings.append(f"{letter} - {start}")
        elif shape == 2 and isinstance(extent, int):
            inner = self.choices.integer(2, 3)
            loops += [_Loop(f"{letter}_0", 0, -(-extent // inner)), _Loop(f"{letter}_1", 0, inner)]
            bindings.append(f"{letter}_0 * {inner} + {letter}_1")
            if extent % inner:
                conditions.append(f"{bindings[-1]} < {extent}")
        elif shape == 3 and n < len(nest.spatial) and not nest.in_order:
            loops.append(_Loop(letter, 0, extent))
            bindings.append(f"{extent} - 1 - {letter}")
        elif shape == 4 and isinstance(extent, int) and isinstance(following, int) and same_kind:
            loops.append(_Loop(letter, 0, extent * following))
            bindings += [f"{letter} // {following}", f"{letter} % {following}"]
            return 2
        else:
            loops.append(_Loop(letter, 0, extent))
            bindings.append(letter)
        return 1

    def _plus(self, extent: Extent, start: int) -> Extent:
        return extent + start if isinstance(extent, int) else f"{extent} + {start}"

    def _choose_kind(self, nest: Nest, loops: list[_Loop]) -> None:
        loop = pick(self.choices, loops)
        kinds = ["unroll", *(["parallel", "vectorized"] if nest.is_parallel else [])]
        kind = pick(self.choices, kinds)
        if (kind == "parallel" or isinstance(loop.stop, int)) and (kind != "vectorized" or loop is loops[-1]):
            loop.kind = kind

    def _block_lines(self, nest: Nest, loops: list[_Loop], bindings: list[str], conditions: list[str]) -> list[str]:
        lines: list[str] = []
        for loop in loops:
            start = f"{self.number(loop.start)}, " if loop.start else ""
            lines.append(_indent_below(lines, f"for {loop.name} in T.{loop.kind}({start}{self.number(loop.stop)}):"))
        if conditions and not self.plain and flag(self.choices, 3):
            lines.append(_indent_below(lines, f"if {' and '.join(conditions)}:"))
            conditions = []
        lines.append(_indent_below(lines, f'with T.block("{nest.name}"):'))
        inside: list[str] = []
        for n, (axis, binding) in enumerate(zip(nest.axes, bindings, strict=True)):
            kind = "spatial" if n < len(nest.spatial) else "reduce"
            inside.append(f"{axis} = T.axis.{kind}({self.number(nest.extents[n])}, {binding})")
        if conditions:
            inside.append(f"T.where({' and '.join(conditions)})")
        if nest.init:
            inside += ["with T.init():", *indent(nest.init)]
        return lines + indent([*inside, *nest.body], len(lines))


def indent(lines: Sequence[str], depth: int = 1) -> list[str]:
    """Indents lines by `depth` levels."""
    return [f"{'    ' * depth}{line}" for line in lines]


def _indent_below(lines: list[str], line: str) -> str:
    return f"{'    ' * len(lines)}{line}"
