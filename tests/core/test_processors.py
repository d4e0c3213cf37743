"""The number of threads of parallel loops."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepwell
from stepwell.core import processors
from stepwell.core.errors import OptionError

SHOW = "import stepwell; print(stepwell.get_num_threads())"


def in_new_process(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


def test_the_number_of_threads_is_set_for_a_block() -> None:
    before = stepwell.get_num_threads()
    with stepwell.threads(3):
        assert stepwell.get_num_threads() == 3
        stepwell.set_num_threads(2)
        assert stepwell.get_num_threads() == 2
    assert stepwell.get_num_threads() == before


def test_the_number_of_threads_is_that_before_a_block_after_an_error() -> None:
    before = stepwell.get_num_threads()
    with pytest.raises(KeyError), stepwell.threads(before + 1):
        raise KeyError
    assert stepwell.get_num_threads() == before


def test_blocks_of_several_threads_end_in_any_order() -> None:
    before = stepwell.get_num_threads()
    first, second = stepwell.threads(3), stepwell.threads(5)
    seen = []
    for change in (first.__enter__, second.__enter__):
        change()
        seen.append(stepwell.get_num_threads())
    for block in (first, second):
        block.__exit__(None, None, None)
        seen.append(stepwell.get_num_threads())
    assert seen == [3, 5, 5, before]


@pytest.mark.parametrize("count", [0, -1, 513, 1.5, "2", True, None])
def test_a_wrong_number_of_threads_is_refused(count: object) -> None:
    before = stepwell.get_num_threads()
    with pytest.raises(OptionError, match="expected a number of threads, from 1 to 512, got"):
        stepwell.set_num_threads(count)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="expected a number of threads"), stepwell.threads(count):  # pyright: ignore[reportArgumentType]
        pass
    assert stepwell.get_num_threads() == before


def test_a_variable_has_the_number_of_threads_of_a_process() -> None:
    assert in_new_process(SHOW, STEPWELL_NUM_THREADS="5").stdout == "5\n"
    assert in_new_process(SHOW, STEPWELL_NUM_THREADS="").stdout == f"{processors.available_processors()}\n"


@pytest.mark.parametrize("value", ["0", "many", "1.5"])
def test_a_wrong_number_in_the_variable_is_refused(value: str) -> None:
    result = in_new_process(SHOW, STEPWELL_NUM_THREADS=value)
    assert result.returncode == 1
    assert "STEPWELL_NUM_THREADS" in result.stderr.splitlines()[-1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_the_default_is_the_number_of_permitted_processors() -> None:
    one = f"import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); {SHOW}"
    assert in_new_process(one, STEPWELL_NUM_THREADS="").stdout == "1\n"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"cpu.max": "max 100000\n"}, processors.MOST_THREADS),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, processors.MOST_THREADS),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu.max": "nonsense\n"}, processors.MOST_THREADS),
        ({}, processors.MOST_THREADS),
    ],
)
def test_a_control_group_limits_the_number_of_processors(tmp_path: Path, files: dict[str, str], count: int) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert processors._quota(tmp_path) == count  # pyright: ignore[reportPrivateUsage]
