"""Random programs verify, have no undefined behaviour, cover all features, and shrink to small programs."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from stepwell.backends.oracle import run_oracle
from stepwell.core.dtypes import dtype_of
from stepwell.dialects.tir import BLOCK_AXIS_KINDS, FOR_KINDS, BlockOp, ForOp, FuncOp
from stepwell.module import Module
from stepwell.tools.testing.choices import SeededChoices
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.programs import copy_arguments, random_arguments, random_module
from stepwell.tools.testing.strategies import inputs_for, programs, tir_functions, tir_modules

EVERYTHING = Features(threads=True, libm=True)


@given(program=programs(EVERYTHING))
def test_programs_verify_and_do_nothing_excluded(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    module.verify()
    run_oracle(module, "main", copy_arguments(arguments))


@given(data=st.data(), func=tir_functions(EVERYTHING))
def test_functions_take_the_arguments_made_for_them(data: st.DataObject, func: FuncOp) -> None:
    arguments = data.draw(inputs_for(func))
    run_oracle(func, func.sym_name.data, list(arguments.values()))


def test_a_seed_always_gives_the_same_program() -> None:
    assert str(random_module(SeededChoices(7))) == str(random_module(SeededChoices(7)))
    assert str(random_module(SeededChoices(7))) != str(random_module(SeededChoices(8)))


@pytest.fixture(scope="module")
def many() -> list[Module]:
    return [random_module(SeededChoices(seed), EVERYTHING) for seed in range(150)]


WANTED = """
alloc_buffer allocate assert attr block buffer_data call cast decl_buffer floormod for func if if_then_else init let
load match_buffer match_region max min ramp store symbol while
"""
UPSTREAM = ("arith.divsi", "arith.shli", "arith.select", "math.fma", "math.exp")


def test_programs_contain_everything(many: list[Module]) -> None:
    ops = Counter(op.name for module in many for op in module.op.walk())
    assert [name for name in WANTED.split() if not ops[f"tir.{name}"]] == []
    assert [name for name in UPSTREAM if not ops[name]] == []
    loops = [op for module in many for op in module.op.walk() if isinstance(op, ForOp)]
    assert {op.kind.data for op in loops} == set(FOR_KINDS)
    bounds = [op.mixed_bounds for op in loops]
    assert any(extent == 0 for _, extent, _ in bounds)
    assert any(not isinstance(extent, int) for _, extent, _ in bounds)
    assert any(step != 1 for _, _, step in bounds)


def test_blocks_have_all_kinds_of_axes(many: list[Module]) -> None:
    blocks = [op for module in many for op in module.op.walk() if isinstance(op, BlockOp)]
    assert {a.kind for b in blocks for a in b.axes} == {*BLOCK_AXIS_KINDS}
    assert any(b.predicate is not None for b in blocks)
    assert any(isinstance(b.parent_op(), BlockOp) for b in blocks)


def test_values_have_all_data_types(many: list[Module]) -> None:
    loads = [op for module in many for op in module.op.walk() if op.name == "tir.load"]
    assert {dtype_of(op.results[0].type).scalar.name for op in loads} == set(Features().dtypes)
    assert any(dtype_of(op.results[0].type).lanes > 1 for op in loads)


def test_features_can_be_left_out() -> None:
    plain = Features(dtypes=("float32",), blocks=False, symbols=False, vectors=False, calls=False)
    ops = Counter(op.name for seed in range(60) for op in random_module(SeededChoices(seed), plain).op.walk())
    assert not {"tir.block", "tir.symbol", "tir.ramp", "tir.call", "math.exp"} & set(ops)


@pytest.mark.slow
def test_programs_shrink_to_a_store_or_two() -> None:
    smallest = find(tir_modules(), lambda module: True, settings=settings(max_examples=100, database=None))
    assert len(list(smallest.op.walk())) <= 10


def test_arguments_hold_what_breaks_things() -> None:
    values: list[Any] = []
    for seed in range(60):
        choices = SeededChoices(seed)
        func = random_module(choices).functions["main"]
        assert isinstance(func, FuncOp)
        values += random_arguments(choices, func).values()
    floats = np.concatenate([np.ravel(v).astype(np.float64) for v in values if v.dtype.kind == "f"])
    assert np.isnan(floats).any()
    assert np.isinf(floats).any()
    assert (np.signbit(floats) & (floats == 0)).any()
    integers = [np.ravel(v) for v in values if v.dtype.kind in "iu"]
    assert any((v == np.iinfo(v.dtype).max).any() for v in integers)
    assert any((v == np.iinfo(v.dtype).min).any() for v in integers if v.dtype.kind == "i")
