"""Work in a process of its own."""

import os
import signal
import time

from stepwell.core.isolation import Outcome, run_isolated


def test_a_value_is_returned() -> None:
    assert run_isolated(lambda: [1, "x"] * 100_000) == Outcome("value", [1, "x"] * 100_000)


def test_an_exception_is_described() -> None:
    assert run_isolated(lambda: [][1]) == Outcome("error", message="IndexError: list index out of range")


def test_a_result_that_cannot_be_pickled_is_an_error() -> None:
    assert run_isolated(lambda: lambda: 1).kind == "error"


def test_a_signal_is_a_crash() -> None:
    assert run_isolated(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == Outcome("crash", message="crash, SIGSEGV")
    assert run_isolated(lambda: os._exit(3)) == Outcome("crash", message="exit code 3 without a result")


def test_the_time_is_limited() -> None:
    assert run_isolated(lambda: time.sleep(60), 0.2) == Outcome("timeout", message="no end after 0.2 s")


def test_the_output_is_lost(capfd) -> None:
    run_isolated(lambda: os.write(1, b"text"))
    assert capfd.readouterr().out == ""
