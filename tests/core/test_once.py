"""Objects that a process has once."""

import threading
import time

import pytest

from stepwell.core.once import once
from stepwell.tools.warm_python import WarmPython


def results_of_threads(function, count: int = 4) -> list[object]:
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(function())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_get_the_same_object() -> None:
    @once
    def make() -> object:
        """Makes an object."""
        time.sleep(0.01)  # the other threads call meanwhile
        return object()

    assert len(set(results_of_threads(make))) == 1
    assert make.__doc__ == "Makes an object."


def test_each_combination_of_arguments_has_a_result_and_errors_are_not_kept() -> None:
    calls: list[int] = []

    @once
    def inverse(number: int) -> float:
        calls.append(number)
        return 1 / number

    assert [inverse(2), inverse(4), inverse(2)] == [0.5, 0.25, 0.5]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            inverse(0)
    assert calls == [2, 4, 0, 0]


def test_a_function_may_call_itself() -> None:
    @once
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(5) == 120


def test_threads_link_the_code_of_calls_once(warm_python: WarmPython) -> None:
    program = """
import sys, threading
from stepwell.backends.llvm.python_calls import call_code

sys.setswitchinterval(1e-6)
start, codes = threading.Barrier(8), []

def work():
    start.wait()
    codes.append(call_code())

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(set(map(id, codes))))
"""
    for _ in range(3):
        done = warm_python.run("-c", program)
        assert (done.stdout, done.stderr) == ("1\n", "")
