"""Random choices, whose decisions are recorded so that a replay of the trace repeats them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import comb, prod
from random import Random

from ...analysis.names import block_name, loop_name
from ...analysis.scopes import (
    BlockScope,
    child_blocks,
    depends_on,
    enclosing_scope,
    loops_around,
    lowest_common_ancestor,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import (
    INFERRED,
    SampleCategoricalOp,
    SampleComputeLocationOp,
    SamplePartitionedTileOp,
    SamplePerfectTileOp,
)
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ..handles import BlockLike, ExprRV, LoopRV
from ..recorder import Recorder
from ..rewriting.init_nests import is_reduction_axis
from ..state import INLINE, ROOT, ComputeLocation, SampledTargets, State, applies

_ANY = -1
"""The greatest innermost factor that denotes no limit."""
_AT_ROOT, _INLINED = -1, -2
"""The decisions of `sample_compute_location` that denote no loop."""


class Sampling(Recorder):
    """Random choices. Without a decision, a choice is drawn from the random numbers of the schedule (`seed`)."""

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """Choose one of several integers.

        probs: the probability of each candidate.  decision: the position of the chosen candidate; drawn if None.
        Returns a number that `split`, `annotate` and others accept. ScheduleError if the lists differ in length, a
        probability is negative, or the position does not exist.
        """
        return self.record(
            SampleCategoricalOp, candidates=list(candidates), probs=[float(p) for p in probs], decision=decision
        )[0]

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[ExprRV]:
        """Choose factors whose product is the extent of a loop, uniformly among all such lists.

        n: the number of factors.  max_innermost_factor: the maximum of the last factor that is drawn, -1 for any.
        decision: the factors to use.
        A loop with a symbolic extent has one list: -1, which `split` infers, and then 1. ScheduleError if a decision is
        not such a list.
        """
        return self.record(
            SamplePerfectTileOp,
            loop=loop,
            n=n,
            max_innermost_factor=max_innermost_factor,
            decision=None if decision is None else [int(factor) for factor in decision],
        )

    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """Choose factors whose product is the extent of a loop, where the product of the last ones is a multiple of a
        number; uniformly among all such lists.

        n: the number of factors.  partition_pos: the position of the first of the last factors.  innerpart_factor: the
        number.  decision: the factors to use.
        A loop with a symbolic extent, or one that is no multiple of the number, has one list: -1, which `split` infers,
        and then 1. ScheduleError if a decision is not such a list.
        """
        return self.record(
            SamplePartitionedTileOp,
            loop=loop,
            n=n,
            partition_pos=partition_pos,
            innerpart_factor=innerpart_factor,
            decision=None if decision is None else [int(factor) for factor in decision],
        )

    def sample_compute_location(self, block: BlockLike, decision: int | None = None) -> LoopRV:
        """Choose a loop around all consumers of a block, for `compute_at`; or the current location, or none.

        decision: the index of the loop among those around the consumers, outermost 0; -1 for the current location (then
        `compute_at` does nothing), -2 for no location (then `compute_at` inlines the block). Of the loops with several
        iterations, those before the first reduction loop are drawn, and the reduction loops up to the next spatial
        loop. `compute_at` checks whether the block may move there. ScheduleError if there is no such loop, or it
        encloses the block.
        """
        return self.record(SampleComputeLocationOp, block=self._block(block), decision=decision)[0]


@applies(SampleCategoricalOp)
def sample_categorical(state: State, candidates: list[int], probs: list[float], decision: int | None) -> SampledTargets:
    if not candidates or len(candidates) != len(probs):
        raise ScheduleError(f"{len(candidates)} candidates and {len(probs)} probabilities, expected one for each")
    if min(probs) < 0 or sum(probs) <= 0:
        raise ScheduleError(f"probabilities {probs}: expected numbers that are not negative, some of them positive")
    if decision is None:
        decision = state.random.choices(range(len(candidates)), probs)[0]
    if not 0 <= decision < len(candidates):
        raise ScheduleError(f"decision {decision}: expected a position from 0 to {len(candidates) - 1}")
    return SampledTargets([candidates[decision]], decision)


@applies(SamplePerfectTileOp)
def sample_perfect_tile(
    state: State, loop: ForOp, n: int, max_innermost_factor: int, decision: list[int] | None
) -> SampledTargets:
    extent = loop.mixed_bounds[1]
    if n < 1 or (max_innermost_factor < 1 and max_innermost_factor != _ANY):
        raise ScheduleError(f"n = {n}, max_innermost_factor = {max_innermost_factor}: expected positive numbers")
    if not isinstance(extent, int):
        return _sample_inferred_tile(loop, n, decision, "is not a known number")
    most = extent if max_innermost_factor == _ANY else max_innermost_factor
    return _tile(loop, n, draw_tiles(state.random, extent, n, most) if decision is None else decision)


@applies(SamplePartitionedTileOp)
def sample_partitioned_tile(
    state: State, loop: ForOp, n: int, partition_pos: int, innerpart_factor: int, decision: list[int] | None
) -> SampledTargets:
    extent = loop.mixed_bounds[1]
    if n < 1 or innerpart_factor < 1 or not 0 <= partition_pos < n:
        raise ScheduleError(
            f"n = {n}, partition_pos = {partition_pos}, innerpart_factor = {innerpart_factor}: expected positive "
            "numbers, and a position below n"
        )
    if not isinstance(extent, int):
        return _sample_inferred_tile(loop, n, decision, "is not a known number")
    if extent % innerpart_factor:
        return _sample_inferred_tile(loop, n, decision, f"is no multiple of {innerpart_factor}")
    if decision is None:
        decision = draw_partitioned_tiles(state.random, extent, n, partition_pos, innerpart_factor)
    is_allowed = prod(decision[partition_pos:]) % innerpart_factor == 0
    condition = f", where the product of those from position {partition_pos} on is a multiple of {innerpart_factor}"
    return _tile(loop, n, decision, is_allowed, condition)


def _tile(loop: ForOp, n: int, decision: list[int], is_allowed: bool = True, condition: str = "") -> SampledTargets:
    """The factors of the extent of a loop. ScheduleError unless they are `n` positive factors, and allowed. condition:
    of allowed factors, in words."""
    extent = loop.mixed_bounds[1]
    if len(decision) != n or prod(decision) != extent or min(decision) < 1 or not is_allowed:
        raise ScheduleError(
            f"decision {decision}: expected {n} factors of {extent}, the extent of loop {loop_name(loop)}{condition}",
            [loop],
        )
    return SampledTargets(decision, decision)


def _sample_inferred_tile(loop: ForOp, n: int, decision: list[int] | None, reason: str) -> SampledTargets:
    """The only tile of a loop whose extent cannot be factored, as in TVM: the first factor is inferred, the others are
    1."""
    tile = [INFERRED, *([1] * (n - 1))]
    if decision not in (None, tile):
        raise ScheduleError(
            f"decision {decision}: expected {tile}, as the extent of loop {loop_name(loop)} {reason}",
            [loop],
        )
    return SampledTargets(tile, tile)


def draw_tiles(random: Random, extent: int, n: int, most: int) -> list[int]:
    """Draw n factors of `extent`, the last at most `most`, uniformly among all such lists. The extent is at least 1.

    ScheduleError if there is no such list: for a single factor, greater than `most`.
    """
    factors: list[int] = []
    rest = extent
    for left in range(n, 1, -1):
        divisors = [d for d in _divisors(rest) if d <= most or factors]
        weights = [_count_tiles(rest // d, left - 1) for d in divisors]
        factors.append(random.choices(divisors, weights)[0])
        rest //= factors[-1]
    if not factors and rest > most:
        raise ScheduleError(f"one factor of {extent} is {extent}, greater than {most}")
    return [rest, *reversed(factors)]


def draw_partitioned_tiles(random: Random, extent: int, n: int, position: int, factor: int) -> list[int]:
    """Draw n factors of `extent`, the product of those from `position` on a multiple of `factor`, uniformly among all
    such lists. The extent is at least 1, and a multiple of `factor`; the position is below n."""
    if position == 0:
        return draw_tiles(random, extent, n, extent)
    products = [d for d in _divisors(extent) if d % factor == 0]
    weights = [_count_tiles(extent // p, position) * _count_tiles(p, n - position) for p in products]
    inner = random.choices(products, weights)[0]
    outer = extent // inner
    return [*draw_tiles(random, outer, position, outer), *draw_tiles(random, inner, n - position, inner)]


def _factorize(number: int) -> dict[int, int]:
    """The prime factors of a number, with their multiplicities."""
    factors: dict[int, int] = {}
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors[divisor] = factors.get(divisor, 0) + 1
            number //= divisor
        divisor += 1
    if number > 1:
        factors[number] = factors.get(number, 0) + 1
    return factors


def _divisors(number: int) -> list[int]:
    powers: list[Iterator[int] | list[int]] = [[p**e for e in range(k + 1)] for p, k in _factorize(number).items()]
    return sorted(prod(choice) for choice in product(*powers))


def _count_tiles(number: int, n: int) -> int:
    """The number of lists of n factors with the product `number`."""
    return prod(comb(k + n - 1, n - 1) for k in _factorize(number).values())


@applies(SampleComputeLocationOp)
def sample_compute_location(state: State, block: BlockOp | FuncOp, decision: int | None) -> SampledTargets:
    if isinstance(block, FuncOp):
        raise ScheduleError("the root block has no place to be computed at")
    loops = _common_loops(block)
    places = {index: loop for index, loop in enumerate(loops) if not loop.is_ancestor(block)}
    if decision is None:
        inlined = [_INLINED] if places and block.init is None else []
        decision = state.random.choice([_AT_ROOT, *inlined, *(n for n in _worthwhile(loops) if n in places)])
    if decision not in (_AT_ROOT, _INLINED, *places):
        raise ScheduleError(
            f"decision {decision}: expected -2, -1 or the number of one of the {len(places)} loops around all "
            f"consumers, and not around the block {block_name(block)}: {sorted(places)}",
            [block],
        )
    locations: dict[int, ComputeLocation] = {_AT_ROOT: ROOT, _INLINED: INLINE}
    return SampledTargets([locations[decision] if decision < 0 else places[decision]], decision)


def _common_loops(block: BlockOp) -> list[ForOp]:
    """The loops around all consumers of a block, outermost first."""
    consumers = BlockScope(enclosing_scope(block)).consumers(block)
    if not consumers:
        return []
    common = lowest_common_ancestor(consumers)
    around = [] if isinstance(common, FuncOp) else loops_around(common)
    return [*around, common] if isinstance(common, ForOp) else around


def _worthwhile(loops: Sequence[ForOp]) -> list[int]:
    """The positions of the loops in which a producer is worth computing: of the loops with several iterations, those
    before the first reduction loop, and the reduction loops up to the next spatial loop, if there is one.
    """
    long = [index for index, loop in enumerate(loops) if loop.mixed_bounds[1] != 1]
    spatial = [index for index in long if not _is_reduction_loop(loops[index])]
    first = next((index for index in long if index not in spatial), len(loops))
    end = next((index for index in spatial if index > first), first)
    return [index for index in long if index < end]


def _is_reduction_loop(loop: ForOp) -> bool:
    """Whether a reduction axis of a block in a loop depends on the variable of the loop."""
    return any(
        is_reduction_axis(axis) and depends_on([axis.binding], loop.variable)
        for block in child_blocks(loop)
        for axis in block.axes
    )
