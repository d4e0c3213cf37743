"""Saved programs with random changes of their metadata or their bytes: a LoadError, or the same results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.cuda.emulation import compiler
from stepwell.tools.testing.artifacts import changed_bytes, changed_metadata
from stepwell.tools.testing.choices import HypothesisChoices, SeededChoices

KINDS = [
    "program",
    "graph",
    pytest.param("kernel", marks=pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [changed_metadata, changed_bytes])
@given(data=st.data())
def test_changed_files_are_refused_or_mean_the_same(change, kind: str, data: st.DataObject) -> None:
    change(HypothesisChoices(data.draw), kind).check()


@pytest.mark.parametrize("change", [changed_metadata, changed_bytes])
def test_most_changes_are_refused(change) -> None:
    loaded = [change(SeededChoices(seed), "program").check() for seed in range(20)]
    assert sum(loaded) < 10
