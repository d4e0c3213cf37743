"""Operators refuse operands that do not fit each other or the attributes, or access elements that exist."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import ArgumentError, build
from stepwell.expressions.errors import TeError
from stepwell.operators import OPERATORS
from stepwell.tools.testing.operators import SAMPLES, Sample, program_of
from stepwell.tools.testing.operators.sampling import Draw


def with_another_extent(draw: Draw, sample: Sample) -> Sample:
    """The sample with another extent along one axis of an operand, whose elements repeat."""
    number = draw(st.sampled_from([n for n, operand in enumerate(sample.operands) if operand.ndim]))
    operand = sample.operands[number]
    axis = draw(st.integers(0, operand.ndim - 1))
    extent = draw(st.integers(0, operand.shape[axis] + 2))
    shape = [extent if d == axis else size for d, size in enumerate(operand.shape)]
    changed = np.resize(operand, shape) if operand.size else np.ones(shape, operand.dtype)
    return replace(sample, operands=[changed if n == number else each for n, each in enumerate(sample.operands)])


@pytest.mark.parametrize("name", OPERATORS)
@given(data=st.data())
@settings(max_examples=max(1, settings().max_examples // 8))
def test_operands_of_any_extents_are_refused_or_read_within_their_bounds(name: str, data: st.DataObject) -> None:
    sample = data.draw(SAMPLES[name])
    if not any(operand.ndim for operand in sample.operands) or sample.attributes.get("mode") == "fast":
        return  # "fast" says that the indices among the operands are valid
    sample = with_another_extent(data.draw, sample)
    try:
        module, outputs = program_of(name, sample)
    except TeError:
        return
    checked = build(module, sanitize=True)
    with suppress(ArgumentError):  # sums of no elements, and such
        checked["main"](*sample.operands, *outputs)
