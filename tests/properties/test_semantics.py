"""Every registered pass leaves what a program computes as it is, and a module that verifies."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from xdsl.context import Context
from xdsl.passes import ModulePass

from stepwell.backends.interpreter import run_oracle
from stepwell.dialects import get_all_dialects
from stepwell.module import Module
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.programs import copy_arguments
from stepwell.tools.testing.strategies import programs
from stepwell.transforms import PASSES, get_all_passes
from stepwell.transforms.pipelines import LANDINGS, lower

# What a pass must run behind, in the order of the way down.
BEFORE: dict[str, Sequence[str]] = {
    "tir-lower-match-buffers": ["tir-resolve-blocks"],
    "tir-plan-allocations": ["tir-resolve-blocks", "tir-lower-match-buffers"],
}
# Ops that a pass promises to remove: those its docstring names behind "Gone after".
GONE = re.compile(r"Gone after:(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
TIR = [name for name in PASSES if name.startswith("tir-")]
Program = tuple[Module, dict[str, Any]]


def apply(name: str, module: Module) -> Module:
    """What a pass makes of a copy of a module; the copy must verify."""
    module = module.clone()
    _pass(name).apply(Context(), module.op)
    module.verify()
    return module


def _pass(name: str) -> ModulePass:
    return get_all_passes()[name]()()


def promised(name: str) -> set[str]:
    """The tir ops that the docstring of a pass says it removes."""
    match = GONE.search(type(_pass(name)).__doc__ or "")
    known = {op.name for op in get_all_dialects()["tir"]().operations}
    return set(re.findall(r"tir\.[a-z_.]*[a-z]", match[1])) & known if match else set()


def results(module: Module, arguments: dict[str, Any]) -> list[Any]:
    values = copy_arguments(arguments)
    run_oracle(module, "main", values)
    return values


@pytest.mark.parametrize("name", TIR)
@given(program=programs(Features(threads=True, libm=True)))
def test_a_pass_on_tir_leaves_what_is_computed(name: str, program: Program) -> None:
    module, arguments = program
    for earlier in BEFORE.get(name, []):
        module = apply(earlier, module)
    text = str(module)
    after = apply(name, module)
    assert str(module) == text
    for parameter, got, expected in zip(arguments, results(after, arguments), results(module, arguments), strict=True):
        assert same(got, expected), f"{name} changes {parameter}"
    left = {op.name for op in after.op.walk()} & promised(name)
    assert left == set(), f"{name} promises to remove them"


@given(program=programs(Features(libm=True)))
def test_the_whole_way_down_through_tir_leaves_what_is_computed(program: Program) -> None:
    module, arguments = program
    after = module.clone()
    for step in LANDINGS[0].passes():
        step.apply(Context(), after.op)
        after.verify()
    LANDINGS[0].check(after.op)
    for parameter, got, expected in zip(arguments, results(after, arguments), results(module, arguments), strict=True):
        assert same(got, expected), f"the passes change {parameter}"


@given(program=programs(Features(libm=True)))
def test_what_is_left_below_tir_verifies_and_keeps_its_promises(program: Program) -> None:
    module, _ = program
    text = str(module)
    lowered = lower(module)
    lowered.verify()
    assert str(module) == text
    assert not [op.name for op in lowered.op.walk() if op.name.startswith("tir.")]


def test_the_promises_of_passes_are_found() -> None:
    assert {"tir.block", "tir.init", "tir.access"} <= promised("tir-resolve-blocks")
