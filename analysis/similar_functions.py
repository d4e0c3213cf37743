"""Functions that are equal but for one number: an extent of loops, axes and parameters, and multiples of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..dialects.tir import AccessOp, AllocBufferOp, BlockOp, ForOp, FuncOp, MatchBufferOp
from ..dialects.tir.base import DYNAMIC, static_values

LEAST_EXTENT = 16
"""The least number by which similar functions may differ, or of which a multiple does: loops of fewer iterations are
better known."""

ExtentOwner: TypeAlias = BlockArgument | AllocBufferOp | MatchBufferOp | ForOp | BlockOp | AccessOp
"""A parameter or operation that has extents."""


@dataclass(frozen=True)
class ExtentPlace:
    """The place of an extent in a function: a loop (number 0), or the number of a dimension of a parameter or a buffer,
    of an axis of a block, or of a dimension of a declared region. factor: of the extent that the place has a multiple
    of."""

    owner: ExtentOwner
    number: int
    factor: int = 1


@dataclass(frozen=True)
class Family:
    """Functions that are equal but for a number and multiples of it, as a number of channels and of blocks of channels.

    extents: the number of each function.  places: those of the number and of its multiples in the first function.
    """

    functions: Sequence[FuncOp]
    extents: Sequence[int]
    places: Sequence[ExtentPlace]


def families(functions: Iterable[FuncOp]) -> Iterator[Family]:
    """The families among some functions: each function is in one of them at most."""
    for group in _groups(functions):
        yield from _families_of(group)


def factors_by_owner(places: Iterable[ExtentPlace]) -> dict[ExtentOwner, dict[int, int]]:
    """The factors of the extents of each operation or parameter, by the numbers of the extents."""
    factors: dict[ExtentOwner, dict[int, int]] = {}
    for place in places:
        factors.setdefault(place.owner, {})[place.number] = place.factor
    return factors


def have_one_extent(pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether pairs of different extents of two functions are one pair, not too small, and multiples of it.

    pairs: not empty.
    """
    least = min(pairs)
    return min(max(pairs)) >= LEAST_EXTENT and all((a % least[0], b) == (0, a // least[0] * least[1]) for a, b in pairs)


def differing_extents(functions: Iterable[FuncOp]) -> Iterator[tuple[FuncOp, FuncOp, list[tuple[int, int]]]]:
    """Pairs of functions that are equal but for extents, the first function of each group and another, with the pairs
    of different extents, each once, in order."""
    for first, *others in _groups(functions):
        for other in others:
            pairs = zip(first.extents, other.extents, strict=True)
            yield first.func, other.func, list(dict.fromkeys((a, b) for a, b in pairs if a != b))


def _groups(functions: Iterable[FuncOp]) -> Iterable[list[_Description]]:
    """The functions in groups that are equal but for extents, in order, without functions that are alone.

    Only functions with equal kinds of operations are described: most functions of a program have others.
    """
    kinds = [(func, tuple(map(type, func.walk()))) for func in functions]
    count = Counter(kind for _, kind in kinds)
    groups: dict[Hashable, list[_Description]] = {}
    for func, kind in kinds:
        if count[kind] > 1:
            description = _Description(func)
            groups.setdefault(tuple(description.text), []).append(description)
    return [group for group in groups.values() if len(group) > 1]


def _families_of(group: Sequence[_Description]) -> Iterator[Family]:
    """The families among functions that differ in extents only: the largest family with the first function, then those
    of the others."""
    rest = list(group)
    while len(rest) > 1:
        first, *others = rest
        similar: dict[tuple[int, ...], list[_Description]] = {}
        for other in others:
            positions = tuple(n for n, (a, b) in enumerate(zip(first.extents, other.extents, strict=True)) if a != b)
            pairs = {(first.extents[n], other.extents[n]) for n in positions}
            if pairs and have_one_extent(pairs):
                similar.setdefault(positions, []).append(other)
        rest = others
        if similar:
            positions, members = max(similar.items(), key=lambda item: len(item[1]))
            family = [first, *members]
            least = min(positions, key=lambda n: first.extents[n])
            extents = [each.extents[least] for each in family]
            places = [replace(first.places[n], factor=first.extents[n] // extents[0]) for n in positions]
            yield Family([each.func for each in family], extents, places)
            taken = set(map(id, members))
            rest = [each for each in others if id(each) not in taken]


@dataclass
class _Description:
    """A function as a text without its extents that may be values, and these `extents`.

    places: those of the extents, in order: dimensions of parameters in row-major order, loops that are neither unrolled
    nor vectorized, axes and declared regions; in functions with parameters of dynamic shape, dimensions of all buffers:
    their code has loops of dynamic extents in any case.
    """

    func: FuncOp
    text: list[Hashable] = field(default_factory=list[Hashable])
    places: list[ExtentPlace] = field(default_factory=list[ExtentPlace])
    extents: list[int] = field(default_factory=list[int])
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def __post_init__(self) -> None:
        func = self.func
        self._is_dynamic = any(isinstance(op, MatchBufferOp) for op in func.body.block.ops)
        self.text += [func.func_attrs, func.result_type, *func.attributes.items()]
        self._block(func.body.block)

    def _block(self, block: Block) -> None:
        for argument in block.args:
            self._numbers[argument] = len(self._numbers)
            if block is self.func.body.block:
                self._buffer(argument, argument.type)
            else:
                self.text.append(argument.type)
        for op in block.ops:
            self._operation(op)

    def _buffer(self, owner: BlockArgument | AllocBufferOp | MatchBufferOp, type: Attribute) -> None:
        """Adds the type of a buffer."""
        if isinstance(type, MemRefType) and isinstance(type.layout, NoneAttr):
            shape = type.get_shape()
            self.text += [type.element_type, type.memory_space, len(shape)]
            for dim, extent in enumerate(shape):
                self._extent(owner, dim, extent)
        else:
            self.text.append(type)

    def _operation(self, op: Operation) -> None:
        self.text += [type(op), *[self._numbers[operand] for operand in op.operands]]
        for result in op.results:
            self._numbers[result] = len(self._numbers)
            if isinstance(op, AllocBufferOp | MatchBufferOp) and self._is_dynamic:
                self._buffer(op, result.type)
            else:
                self.text.append(result.type)
        self.text += [*op.attributes.items(), len(op.regions)]
        open_name = self._open_extents(op)
        if op.properties:
            self.text += [item for item in op.properties.items() if item[0] != open_name]
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
            self.text.append("end")

    def _open_extents(self, op: Operation) -> str | None:
        """Adds the extents of an operation. Returns the name of the property that has them."""
        match op:
            case ForOp() if op.kind.data in ("serial", "parallel"):
                low, extent, step = static_values(op.static_bounds)  # pyright: ignore[reportArgumentType]
                self.text += [low, step]
                self._extent(op, 0, extent)
                return "static_bounds"
            case BlockOp():
                bounds = static_values(op.static_domains)  # pyright: ignore[reportArgumentType]
                self.text += bounds[::2]
                for axis, extent in enumerate(bounds[1::2]):
                    self._extent(op, axis, extent)
                return "static_domains"
            case AccessOp():
                for dim, extent in enumerate(static_values(op.static_extents)):  # pyright: ignore[reportArgumentType]
                    self._extent(op, dim, extent)
                return "static_extents"
            case _:
                return None

    def _extent(self, owner: ExtentOwner, number: int, extent: int) -> None:
        if extent == DYNAMIC:
            self.text.append(DYNAMIC)
        self.places.append(ExtentPlace(owner, number))
        self.extents.append(extent)
