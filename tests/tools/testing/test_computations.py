"""Random programs for schedules."""

import pytest
from xdsl.dialects.arith import MuliOp

from stepwell.analysis.scopes import depends_on
from stepwell.dialects.tir import BlockOp, ForOp, IfOp, IfThenElseOp, MatchRegionOp, SymbolOp
from stepwell.tools.testing.choices import SeededChoices
from stepwell.tools.testing.computations import random_computation, random_computation_text
from stepwell.tools.testing.scheduling import check_same_outputs, check_well_formed

SEEDS = range(60)


class Least:
    """Decisions for the first option."""

    def integer(self, low: int, high: int) -> int:
        return low


def test_a_seed_gives_the_same_program_again() -> None:
    assert random_computation_text(SeededChoices(3)) == random_computation_text(SeededChoices(3))
    assert len({random_computation_text(SeededChoices(seed)) for seed in SEEDS}) > 50


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_a_program_does_nothing_that_is_excluded(seed: int) -> None:
    mod = random_computation(SeededChoices(seed))
    copy = mod.clone()
    check_well_formed(copy)
    for size in (2, 5):
        check_same_outputs(mod, copy, seed=seed, size=size)


def test_the_simplest_program_is_one_pointwise_block() -> None:
    mod = random_computation(Least())
    blocks = [op for op in mod.op.walk() if isinstance(op, BlockOp)]
    assert [block.block_name.data for block in blocks] == ["B0"]
    assert [axis.kind for axis in blocks[0].axes] == ["spatial"]


def test_programs_have_all_that_schedules_must_cope_with() -> None:
    """Guards against property tests that cover less than intended."""
    wanted = {
        *("two functions", "symbolic", "if", "view", "choice", "parallel", "vectorized", "unrolled", "serial"),
        *("start", "triangle", "i64", "i32", "nested", "predicate", "init", "three axes", "two results"),
        *("scaled size", "init without reduction"),
    }
    found: set[str] = set()
    for seed in range(400):
        if found >= wanted:
            break
        mod = random_computation(SeededChoices(seed))
        found |= {"two functions"} if len(mod.functions) > 1 else set()
        for op in mod.op.walk():
            match op:
                case SymbolOp():
                    found.add("symbolic")
                case IfOp():
                    found.add("if")
                case MatchRegionOp():
                    found.add("view")
                case IfThenElseOp():
                    found.add("choice")
                case ForOp():
                    found |= _features_of_loop(op)
                case BlockOp():
                    found |= _features_of_block(op)
                case _:
                    pass
    assert found == wanted


def _features_of_loop(op: ForOp) -> set[str]:
    start, extent, _ = op.mixed_bounds
    found = {op.kind.data, str(op.variable.type)}
    found |= {"start"} if start != 0 else set()
    if isinstance(extent, int):
        return found
    around = op.parent_op()
    found |= {"triangle"} if isinstance(around, ForOp) and depends_on([extent], around.variable) else set()
    return found | ({"scaled size"} if isinstance(extent.owner, MuliOp) else set())


def _features_of_block(op: BlockOp) -> set[str]:
    found = {
        "nested": any(isinstance(inner, BlockOp) and inner is not op for inner in op.walk()),
        "predicate": op.predicate is not None,
        "init": op.init is not None,
        "init without reduction": op.init is not None and all(axis.kind != "reduce" for axis in op.axes),
        "three axes": len(op.axes) >= 3,
        "two results": sum(access.is_write for access in op.accesses) > 1,
    }
    return {name for name, is_there in found.items() if is_there}
