"""Saved programs with random changes of their metadata or their bytes: a LoadError, or the same results."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import LoadError
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.saving.files import MANIFEST
from stepwell.backends.saving.format import checksum
from stepwell.tools.testing import artifacts
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


def test_a_program_without_one_of_its_object_files_is_refused(tmp_path: Path) -> None:
    artifacts.KINDS["graph"].save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    manifest["content"]["code"]["images"] -= 1
    manifest["checksum"] = checksum(manifest)
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(LoadError, match="Symbols not found"):
        artifacts.KINDS["graph"].run(tmp_path / "out")
