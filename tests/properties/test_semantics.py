"""Every registered pass preserves the results of a program, and produces a module that verifies."""

import re
from typing import Any

import pytest
from hypothesis import assume, given, note
from xdsl.context import Context
from xdsl.passes import ModulePass

from stepwell.core.errors import UnsupportedError
from stepwell.module import Module
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.strategies import programs
from stepwell.transforms import PASSES, get_all_passes
from stepwell.transforms.pipelines import Options, lower
from stepwell.transforms.pipelines.checks import check_module
from stepwell.transforms.pipelines.landings import BLOCKS, LAUNCHES, LOOPS
from stepwell.transforms.pipelines.lowering import passes_of

# Passes with relevant options, in addition to the passes without options.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "tir-simplify": [{"unit_loops": True}],
    "tir-compact-buffers": [{"scopes": ("shared",)}],
    "tir-promote-tiles": [{"masks": True}],
    "tir-plan-allocations": [{"max_stack_bytes": 16}],
    "tir-unroll-loops": [{"max_extent": 3}],
    "tir-vectorize-loops": [{"max_lanes": 3}],
    "tir-version-overlaps": [{"least_updates": 1}],
    "tir-version-rows": [{"least_bytes": 1}],
}
CHECKS = ("tir-check-bounds", "tir-check-launches")  # they leave programs unchanged, or refuse them
TIR = [name for name in PASSES if name.startswith("tir-") and name not in CHECKS]
VARIANTS = [(name, options) for name in TIR for options in ({}, *OPTIONS.get(name, []))]
REFUSALS = ("a store in a kernel with", "the threads of a block", "the kernel computes the bounds of")
"""The refusals of kernels: statements outside of thread loops, pointers to memory of several threads, and numbers of
threads that the kernel computes."""
Program = tuple[Module, dict[str, Any]]


def make(name: str, **options: Any) -> ModulePass:
    return get_all_passes()[name]()(**options)


def apply(module: Module, step: ModulePass) -> Module:
    """The result of a pass on a copy of a module, which must verify.

    Discards kernels that are refused.
    """
    module = module.clone()
    try:
        step.apply(Context(), module.op)
    except UnsupportedError as error:
        assume(not any(text in str(error) for text in REFUSALS))
        raise
    module.verify()
    assert_uses_are_attached(module)
    return module


def paragraph(name: str, title: str) -> str:
    """A paragraph of the docstring of a pass."""
    match = re.search(rf"{title}:(.*?)(?:\n\s*\n|\Z)", type(make(name)).__doc__ or "", re.DOTALL)
    return match[1] if match else ""


def earlier(name: str) -> list[str]:
    """The passes that must precede a pass, in order."""
    named = re.findall(r"`(tir-[a-z-]+)`", paragraph(name, "Must hold before"))
    return list(dict.fromkeys(n for before in named for n in (*earlier(before), before)))


def promised(name: str) -> set[str]:
    """The operations that a pass promises to remove."""
    names = re.fullmatch(r"\s*(tir\.[a-z_.]*[a-z](?:,\s+tir\.[a-z_.]*[a-z])*)\.\s*", paragraph(name, "Gone after"))
    return set(re.split(r",\s+", names[1])) if names else set()


def applied_after() -> dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]]:
    """The passes with their options, by the passes that must precede them."""
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for name, options in VARIANTS:
        groups.setdefault(tuple(earlier(name)), []).append((name, options))
    return groups


@pytest.mark.parametrize(("before", "steps"), applied_after().items(), ids=["+".join(b) for b in applied_after()])
@given(program=programs(Features(threads=True, libm=True)))
def test_passes_on_tir_leave_what_is_computed(before: Any, steps: Any, program: Program) -> None:
    """All passes with the same conditions, of the same programs."""
    module, arguments = program
    for name in before:
        module = apply(module, make(name))
    text, expected = str(module), oracle_results(module, arguments)
    for name, options in steps:
        note(f"{name}{options or ''}")
        after = apply(module, make(name, **options))
        assert str(module) == text
        assert_same(oracle_results(after, arguments), expected)
        left = {op.name for op in after.op.walk()} & promised(name)
        assert left == set(), f"{name} promises to remove them"


@pytest.mark.parametrize("name", CHECKS)
@given(program=programs(Features(threads=True)))
def test_a_check_leaves_a_program_as_it_is_or_refuses_it(name: str, program: Program) -> None:
    module, _ = program
    try:
        after = apply(module, make(name))
    except UnsupportedError:
        return
    assert str(after) == str(module)


@given(program=programs(Features(libm=True)))
def test_the_way_down_through_tir_leaves_what_is_computed(program: Program) -> None:
    module, arguments = program
    after = module
    for step in passes_of([BLOCKS, LOOPS]):
        after = apply(after, step)
    check_module(after.op, LOOPS.leaves, LOOPS.name)
    assert_same(oracle_results(after, arguments), oracle_results(module, arguments))


@given(program=programs(Features(threads=True, libm=True)))
def test_the_way_to_launches_leaves_what_is_computed(program: Program) -> None:
    module, arguments = program
    expected = oracle_results(module, arguments)
    for step in (
        *(make(name) for name in ("tir-resolve-blocks", "tir-lower-match-buffers")),
        *LAUNCHES.passes(Options())[:-1],  # without the check, which refuses programs of the host
    ):
        module = apply(module, step)
    assert_same(oracle_results(module, arguments), expected)


@given(program=programs(Features(libm=True)))
def test_what_is_left_below_tir_verifies_and_keeps_its_promises(program: Program) -> None:
    module, _ = program
    text = str(module)
    lowered = lower(module)
    lowered.verify()
    assert str(module) == text
    assert not [op.name for op in lowered.op.walk() if op.name.startswith("tir.")]


def test_the_promises_of_passes_are_found() -> None:
    assert promised("tir-resolve-blocks") == {"tir.block", "tir.init", "tir.access"}
    assert promised("tir-simplify") == set()
    assert earlier("tir-unroll-loops") == ["tir-resolve-blocks"]
