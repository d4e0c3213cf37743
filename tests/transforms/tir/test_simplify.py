"""`tir-simplify` on programs: it preserves results and keeps its promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import SSAValue

from stepwell import Module, parse_tvmscript
from stepwell.backends.oracle import run_oracle
from stepwell.dialects.tir import (
    Axis,
    BlockOp,
    ForOp,
    FuncOp,
    IfOp,
    StoreOp,
    TirBuilder,
    buffer_type,
)
from stepwell.dialects.tir.tree import is_tree_form, treeify
from stepwell.tools.testing.corpus import CorpusProgram, script_programs
from stepwell.transforms.tir.simplify import TirSimplifyPass

SIZE = 16
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
T = TypeVar("T")


def simplified(module: Module, *, unit_loops: bool = False) -> Module:
    result = module.clone()
    TirSimplifyPass(unit_loops).apply(Context(), result.op)
    result.verify()
    return result


class _Programs:
    """Draws a function `f(A, n)` that writes integers of all types into A, with nested loops, branches and blocks,
    bounds and conditions on enclosing variables, and every index reduced by `% SIZE`."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]):
        self.draw = draw
        self.func = FuncOp("f", [("A", buffer_type(i32, [SIZE])), ("n", i32)])
        self.A, n = self.func.body.block.args
        self.b = TirBuilder(self.func.body.block)
        self.statements(2, [n])

    def pick(self, choices: Sequence[T]) -> T:
        """Draws a value by its position, because hypothesis must not compare SSA values."""
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def statements(self, depth: int, values: list[SSAValue]) -> None:
        for _ in range(self.pick([1, 1, 2, 3])):
            if self.pick([False, False, False, True]):
                values = [*values, self.b.let("x", self.value(values))]
            elif depth:
                self.pick([self.store, self.loop, self.loop, self.branch, self.block])(depth - 1, values)
            else:
                self.store(0, values)

    def store(self, depth: int, values: list[SSAValue]) -> None:
        index = self.b.binary("floormod", self.value(values), SIZE)
        self.b.insert(StoreOp(self.value(values), self.A, [index]))

    def loop(self, depth: int, values: list[SSAValue]) -> None:
        low = self.pick([0, 0, 0, 1, -3])
        extent = self.pick([4, 8, 3, 1, 0, None])
        # A dynamic end is at most 7, which bounds the number of iterations.
        bound = self.b.binary("floormod", self.value(values), 8) if extent is None else extent
        kind = self.pick(["serial", "serial", "unrolled"])
        loop = self.b.insert(ForOp("i", low, bound, i32, kind=kind, step=self.pick([1, 1, 2])))
        with self.b.at(loop.body.block):
            self.statements(depth, [*values, loop.variable])

    def branch(self, depth: int, values: list[SSAValue]) -> None:
        op = self.b.insert(IfOp(self.condition(values)))
        for region in op.regions[: self.pick([1, 2])]:
            with self.b.at(region.block):
                self.statements(depth, values)

    def block(self, depth: int, values: list[SSAValue]) -> None:
        extent = self.pick([1, 4, SIZE])
        binding = self.b.binary("floormod", self.value(values), extent)
        predicate = self.condition(values) if self.pick([True, False]) else None
        axis = Axis("v", "spatial", 0, extent, binding)
        block = self.b.insert(BlockOp("B", [axis], predicate=predicate))
        with self.b.at(block.body.block):
            self.statements(depth, [*values, *block.variables])

    def condition(self, values: list[SSAValue]) -> SSAValue:
        first = self.b.binary(self.pick(COMPARISONS), self.value(values), self.pick([*values, 0, 3, 4]))
        if self.pick([True, False]):
            return first
        second = self.b.binary(self.pick(COMPARISONS), self.pick(values), self.pick([*values, 1, 7]))
        return self.b.binary(self.pick(["and", "or"]), first, second)

    def value(self, values: list[SSAValue]) -> SSAValue:
        value = self.pick(values)
        for _ in range(self.pick([0, 1, 2, 4])):
            c = self.pick([1, 2, 3, 4, 8, -1, -4])
            name = self.pick(
                ["add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "choose"]
            )
            other = self.pick([*values, c, c])
            if name == "choose":
                value = self.b.select(self.condition_of(value, other), value, other)
            else:
                divides = "div" in name or "mod" in name
                value = self.b.binary(name, value, c if divides else other)
        return value

    def condition_of(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return self.b.binary(self.pick(COMPARISONS), a, b)


@given(st.data(), st.booleans())
def test_a_simplified_program_computes_the_same(data: st.DataObject, unit_loops: bool) -> None:
    module = Module(ModuleOp([_Programs(data.draw).func]))
    module.verify()
    simple = simplified(module, unit_loops=unit_loops)
    for n in (0, 5, data.draw(st.integers(-(2**31), 2**31 - 1))):
        expected, got = np.zeros(SIZE, np.int32), np.zeros(SIZE, np.int32)
        run_oracle(module, "f", [expected, n])
        run_oracle(simple, "f", [got, n])
        assert got.tolist() == expected.tolist(), str(simple)


@given(st.data(), st.booleans())
def test_ops_stay_beside_the_statement_they_are_for(data: st.DataObject, unit_loops: bool) -> None:
    module = Module(ModuleOp([_Programs(data.draw).func]))
    treeify(module.op)
    assert is_tree_form(module.op)
    assert is_tree_form(simplified(module, unit_loops=unit_loops).op)


CORPUS = script_programs()


@pytest.mark.skipif(not CORPUS, reason="the corpus is not there")
@pytest.mark.parametrize("program", CORPUS, ids=lambda p: p.name)
def test_a_program_of_the_corpus_computes_what_is_recorded(program: CorpusProgram) -> None:
    module = parse_tvmscript(program.text, filename=program.name)
    simple = simplified(module, unit_loops=True)
    assert is_tree_form(simple.op)
    assert parse_tvmscript(simple.script()).script() == simple.script()
    arguments = program.problem.arguments()
    run_oracle(simple, "main", arguments, check=False)
    program.problem.check(arguments)


def test_a_choice_that_is_decided_inside_another_keeps_the_chosen_value() -> None:
    module = parse_tvmscript(
        "@T.prim_func\n"
        'def main(D: T.Buffer((2,), "int32"), C: T.Buffer((2,), "int32")):\n'
        "    for k in range(2):\n"
        "        C[k] = T.if_then_else(k == 0, D[0], T.if_then_else(k == 1, D[0] % D[1], 0))\n"
    )
    before = module.clone()
    TirSimplifyPass().apply(Context(), module.op)
    module.verify()
    assert "D[0] % D[1]" in module.script()
    results = []
    for program in (before, module):
        d, c = np.array([7, 4], "int32"), np.zeros(2, "int32")
        run_oracle(program, "main", [d, c])
        results.append(c.tolist())
    assert results == [[7, 3], [7, 3]]
