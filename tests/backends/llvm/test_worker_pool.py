"""The worker pool: parallel loops in several threads."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.backends.llvm import worker_pool
from stepwell.backends.llvm.linking import RUN_PARALLEL
from stepwell.core.errors import ExecutionError
from stepwell.core.processors import available_processors
from stepwell.tools.warm_python import WarmPython

TASK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(ctypes.c_int32, TASK, ctypes.c_void_p, *[ctypes.c_int64] * 4)
COUNTS = [1, 2, 5]

SUMS = """
@T.prim_func
def main(A: T.Buffer((200, 64), "float32"), B: T.Buffer((200,), "float32")):
    for i in T.parallel(200):
        row = T.alloc_buffer((64,), "float32")
        for j in range(64):
            row[j] = A[i, j] * T.float32(2)
        B[i] = T.float32(0)
        for j in range(64):
            B[i] = B[i] + row[63 - j]
"""
CALLS = """
@T.prim_func
def main(A: T.Buffer((64,), "int32")):
    for i in T.parallel(64):
        A[i] = T.call_packed("pool.visit", i, dtype="int32")
"""


def run(task: Callable[[int, int], int], first: int, last: int, grain: int = 1, each: int = 0) -> int:
    called = TASK(lambda low, high, _: task(low, high))
    return RUN(worker_pool.shared_address(RUN_PARALLEL))(called, None, first, last, grain, each)


@given(
    threads=st.integers(1, 6),
    first=st.integers(-(2**62), 2**62),
    count=st.integers(-3, 300),
    grain=st.integers(1, 400),
    each=st.integers(0, 100),
)
def test_each_iteration_is_executed_once(threads: int, first: int, count: int, grain: int, each: int) -> None:
    executed: list[int] = []
    sizes: list[int] = []

    def task(low: int, high: int) -> int:
        executed.extend(range(low, high))
        sizes.append(high - low)
        return 0

    with stepwell.threads(threads):
        assert run(task, first, first + count, grain, each) == 0
    assert sorted(executed) == list(range(first, first + count))
    assert sorted(sizes)[1:] == [] or min(sorted(sizes)[1:]) >= grain  # the last part may be smaller
    assert len(sizes) == 1 or count >= each * threads


def test_threads_share_loops_inside_of_few_iterations() -> None:
    together = threading.Barrier(3, timeout=30)

    def wait(low: int, high: int) -> int:
        together.wait()
        return 0

    with stepwell.threads(3):
        assert run(lambda low, high: sum(run(wait, 0, 3) for _ in range(low, high)), 0, 5, each=2) == 0


def test_workers_execute_iterations() -> None:
    together = threading.Barrier(3, timeout=30)

    def task(low: int, high: int) -> int:
        together.wait()
        return 0

    with stepwell.threads(3):
        assert run(task, 0, 3) == 0


def test_workers_that_sleep_are_woken() -> None:
    for idle in (0.0, 0.001, 0.05, 0.3):
        time.sleep(idle)
        test_workers_execute_iterations()


@pytest.mark.skipif(sys.platform != "linux" or available_processors() < 2, reason="needs Linux and two processors")
def test_woken_workers_leave_the_processor_of_the_caller() -> None:
    """Also after the caller has moved to another processor, and after more workers have started. A busy machine may
    move the caller again, or leave the workers no time to sleep: a case is checked once an attempt has shown it."""
    available = os.sched_getaffinity(0)
    first, second, *_ = sorted(available)
    checked: set[tuple[int, int]] = set()
    cases = [(2, first), (2, first), (2, second), (4, second), (4, first)]
    try:
        for threads, processor in cases * 500:
            if checked == set(cases):
                break
            os.sched_setaffinity(0, {processor})  # moves the caller
            os.sched_setaffinity(0, available)
            with stepwell.threads(threads):
                time.sleep(0.002)  # the workers sleep
                assert run(lambda low, high: 0, 0, 16) == 0
                others = [int(each) for each in os.listdir("/proc/self/task") if int(each) != os.getpid()]
                if [os.sched_getaffinity(each) for each in others].count(available - {processor}) >= threads - 1:
                    checked.add((threads, processor))
    finally:
        os.sched_setaffinity(0, available)
    assert checked == set(cases)


def test_fewer_threads_execute_a_loop_after_the_number_is_lowered() -> None:
    with stepwell.threads(5):
        test_workers_execute_iterations()
    for _ in range(20):
        used: set[int] = set()

        def task(low: int, high: int, used: set[int] = used) -> int:
            used.add(threading.get_native_id())
            time.sleep(0.0005)
            return 0

        with stepwell.threads(2):
            assert run(task, 0, 16) == 0
        assert len(used) <= 2


def test_the_status_of_a_failed_iteration_ends_a_loop() -> None:
    executed: list[int] = []

    def task(low: int, high: int) -> int:
        executed.extend(range(low, high))
        return 7 if low <= 3 < high else 0

    for threads in COUNTS:
        with stepwell.threads(threads):
            assert run(task, 0, 10_000) == 7
            executed.clear()
            assert run(lambda low, high: 0, 0, 100) == 0  # the pool is usable


def test_a_loop_in_an_iteration_is_executed_by_its_thread() -> None:
    pairs: list[tuple[int, int]] = []

    def outer(low: int, high: int) -> int:
        for i in range(low, high):
            mine = threading.get_native_id()

            def inner(low: int, high: int, i: int = i, mine: int = mine) -> int:
                assert threading.get_native_id() == mine
                pairs.extend((i, j) for j in range(low, high))
                return 0

            assert run(inner, 0, 10) == 0
        return 0

    with stepwell.threads(3):
        assert run(outer, 0, 10) == 0
    assert sorted(pairs) == [(i, j) for i in range(10) for j in range(10)]


@pytest.mark.parametrize("count", COUNTS)
def test_temporaries_are_of_each_thread(count: int) -> None:
    main = stepwell.build(stepwell.parse_tvmscript(SUMS))["main"]
    a = np.random.default_rng(0).integers(0, 100, (200, 64)).astype("float32")
    b = np.empty(200, "float32")
    with stepwell.threads(count):
        for _ in range(100):
            b[:] = -1
            main(a, b)
            np.testing.assert_array_equal(b, 2 * a.sum(1))


def test_python_threads_run_parallel_loops_at_once() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(SUMS))["main"]
    wrong: list[int] = []

    def work(seed: int) -> None:
        a = np.random.default_rng(seed).integers(0, 100, (200, 64)).astype("float32")
        b = np.empty(200, "float32")
        for _ in range(200):
            b[:] = -1
            main(a, b)
            if not np.array_equal(b, 2 * a.sum(1)):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    with stepwell.threads(3):
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert wrong == []


@pytest.mark.parametrize("count", COUNTS)
def test_an_exception_in_a_worker_ends_the_call(count: int) -> None:
    main = stepwell.build(stepwell.parse_tvmscript(CALLS))["main"]
    array = np.zeros(64, "int32")

    def fail(i: int) -> int:
        if i in (5, 40):
            raise ValueError(f"iteration {i}")
        return i + 1

    with stepwell.threads(count):
        stepwell.register_func("pool.visit", fail, override=True)
        for _ in range(20):
            with pytest.raises(ExecutionError, match=r"ValueError: iteration (5|40)"):
                main(array)
        stepwell.register_func("pool.visit", lambda i: i + 1, override=True)
        main(array)
    np.testing.assert_array_equal(array, np.arange(64) + 1)


@pytest.mark.parametrize("count", COUNTS)
def test_a_failed_assertion_in_a_worker_ends_the_call(count: int) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "int32")):
    for i in T.parallel(64):
        assert A[i] >= 0, "negative"
        A[i] = A[i] + 1
"""
    main = stepwell.build(stepwell.parse_tvmscript(text))["main"]
    with stepwell.threads(count):
        array = np.zeros(64, "int32")
        main(array)
        array[37] = -1
        with pytest.raises(ExecutionError, match="negative"):
            main(array)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_process_has_workers_of_its_own() -> None:
    program = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
import stepwell
from test_worker_pool import test_workers_execute_iterations
test_workers_execute_iterations()
child = os.fork()
if child == 0:
    test_workers_execute_iterations()
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
test_workers_execute_iterations()
"""
    arguments = [sys.executable, "-W", "ignore", "-c", program, str(Path(__file__).parent)]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_cache_keeps_the_code_of_the_pool(tmp_path: Path, warm_python: WarmPython) -> None:
    program = """
import stepwell
from stepwell.backends.llvm import linking, shared_code, worker_pool
stepwell.set_num_threads(2)
made = []
generate = shared_code.generate_object
shared_code.generate_object = lambda *arguments: made.append(1) or generate(*arguments)
worker_pool.shared_address(linking.RUN_PARALLEL)
print(len(made))
"""

    def compiled() -> tuple[str, bool]:
        result = warm_python.run("-c", program, environment={"STEPWELL_CACHE": str(tmp_path)})
        assert result.returncode == 0, result.stderr
        return result.stdout.strip(), "damaged" in result.stderr

    assert compiled() == ("1", False)
    assert compiled() == ("0", False)
    (path,) = (tmp_path / "runtime").iterdir()
    path.write_bytes(b"\x7fELF" + path.read_bytes()[10:])
    assert compiled() == ("1", True)
    assert compiled() == ("0", False)


def test_parallel_loops_with_steps_and_captured_values() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((100,), "float64"), low: T.int32, x: T.float64, flag: T.bool):
    for i in T.parallel(low, 100):
        if flag:
            A[i] = x + T.Cast("float64", i)
"""
    main = stepwell.build(stepwell.parse_tvmscript(text))["main"]
    for count in COUNTS:
        array: Any = np.zeros(100)
        with stepwell.threads(count):
            main(array, 37, 0.5, True)
            main(array, 0, 9.0, False)
            main(array, 100, 9.0, True)
        np.testing.assert_array_equal(array, np.where(np.arange(100) < 37, 0, np.arange(100) + 0.5))
