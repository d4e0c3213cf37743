"""Default schedules for processors leave what a program computes, floats up to the order of sums."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DictionaryAttr

from stepwell import Schedule, apply_passes, schedule_cpu
from stepwell.analysis import unscheduled
from stepwell.core.cpu import CPU_MODELS
from stepwell.core.processors import threads
from stepwell.dialects.attributes import TIR_NOALIAS
from stepwell.dialects.tir.annotations import annotation_value
from stepwell.module import Module
from stepwell.schedule.cpu import contraction
from stepwell.schedule.cpu import threads as threads_rule
from stepwell.tools.testing.choices import HypothesisChoices
from stepwell.tools.testing.computations import random_computation
from stepwell.tools.testing.scheduling import check_computes_the_same, check_same_outputs
from stepwell.tools.testing.unscheduled_programs import SIZES, unscheduled_program


@pytest.fixture(autouse=True, scope="module")
def _no_least_time() -> Iterator[None]:
    """Schedules and shares loops, however little time they take, and moves the columns of factors of short sums, in
    groups of few tiles."""
    with (
        patch.object(unscheduled, "LEAST_TIME", 0),
        patch.object(threads_rule, "LEAST_TIME", 0),
        patch.object(contraction, "LONG", 2),
        patch.object(contraction, "PARTS", 1),
        patch.object(contraction, "LEAST_ROWS", 1),
    ):
        yield


def check(module: Module, data: st.DataObject, size: int | None) -> None:
    cpu, seed = data.draw(st.sampled_from(sorted(CPU_MODELS))), data.draw(st.integers(0, 2**16))
    facts = ("", ",l2_bytes=256", ",l1_bytes=64", ",l1_bytes=1024", ",l1_bytes=64,l2_bytes=256", ",cores=3")
    cpu += data.draw(st.sampled_from(facts))
    versioned = apply_passes(module, f"tir-version-rows{{least-bytes={data.draw(st.sampled_from((1, 1 << 18)))}}}")
    schedules = schedule_cpu(versioned, cpu)
    check_computes_the_same(module, schedules.mod, seed=seed, size=size)
    with threads(data.draw(st.sampled_from((1, 3)))):
        check_same_outputs(module, schedules.mod, seed=seed, target="llvm", size=size)
    again = Schedule(versioned)
    again.replay(schedules.trace)
    assert again.mod.script() == schedules.mod.script()


@given(data=st.data())
def test_programs_that_the_rules_schedule(data: st.DataObject) -> None:
    module = unscheduled_program(HypothesisChoices(data.draw))
    check(module, data, data.draw(st.sampled_from(SIZES)))


@given(data=st.data())
def test_random_computations(data: st.DataObject) -> None:
    module = random_computation(HypothesisChoices(data.draw))
    for func in module.functions.values():
        attributes = func.func_attrs.data if func.func_attrs is not None else {}
        func.properties["func_attrs"] = DictionaryAttr({**attributes, TIR_NOALIAS: annotation_value(True)})
    check(module, data, None)
