"""The schedules of TVM's own tests do the same here, or are refused for a known reason.

The tests are a folder of TVM's sources, `tests/python/s_tir/schedule`, which STEPWELL_TVM_TESTS names.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from stepwell.tools.testing.schedule_report import REFUSED_TESTS, TESTS_OF_TVM
from stepwell.tools.testing.tvm_schedules import OTHER, REFUSED, UNCOMPARED, UNPARSED, load_records, replay, table

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def records(tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded schedules of TVM's tests. Tests of TVM that fail are recorded, too."""
    if (folder := os.environ.get("STEPWELL_TVM_TESTS")) is None:
        pytest.skip("STEPWELL_TVM_TESTS names no folder of TVM's tests")
    path = tmp_path_factory.mktemp("tvm") / "records.jsonl"
    command = [tvm_python, *"-m pytest -q -p no:cacheprovider -p schedule_record".split()]
    variables = {**os.environ, "STEPWELL_RECORDS": str(path), "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([*command, "--continue-on-collection-errors", "."], cwd=folder, env=variables, check=False)
    return path


def test_the_schedules_of_tvms_tests_compute_the_same(records: Path):
    replays = [replay(record) for record in load_records(records)]
    wrong = [each for each in replays if each.outcome in (OTHER, UNCOMPARED, UNPARSED)]
    assert wrong == []
    names = [each.record.test for each in replays if each.outcome == REFUSED]
    assert {re.sub(r"^.*::test_", "", name) for name in names} == set(REFUSED_TESTS)
    assert {outcome: count for outcome, count in table(replays).items() if count} == TESTS_OF_TVM
