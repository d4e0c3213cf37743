"""Calls from several threads of Python at once, and arguments that other threads release meanwhile."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell

SERIAL = """
@T.prim_func
def main(A: T.Buffer((100, 32), "float32"), B: T.Buffer((100, 32), "float32")):
    for i, j in T.grid(100, 32):
        B[i, j] = A[i, 31 - j] + T.float32(1)
"""
PARALLEL = """
@T.prim_func
def main(A: T.Buffer((100, 32), "float32"), B: T.Buffer((100, 32), "float32")):
    for i in T.parallel(100):
        row = T.alloc_buffer((32,), "float32")
        for j in range(32):
            row[j] = A[i, j] * T.float32(2)
        for j in range(32):
            B[i, j] = row[31 - j]
"""
WORKSPACE = """
@T.prim_func
def main(A: T.Buffer((100, 32), "float32"), B: T.Buffer((100, 32), "float32")):
    C = T.alloc_buffer((100, 32), "float32")
    for i in T.parallel(100):
        for j in range(32):
            C[i, j] = A[i, j] - T.float32(3)
    for i in T.parallel(100):
        for j in range(32):
            B[i, j] = C[99 - i, j]
"""
PACKED = """
@T.prim_func
def main(A: T.Buffer((100, 32), "float32"), B: T.Buffer((100, 32), "float32")):
    for i in T.parallel(100):
        for j in range(32):
            B[i, j] = A[i, j]
        T.evaluate(T.call_packed("threads.visit", i, dtype="int32"))
"""
CASES: list[tuple[str, Callable[[Any], Any]]] = [
    (SERIAL, lambda a: a[:, ::-1] + np.float32(1)),
    (PARALLEL, lambda a: 2 * a[:, ::-1]),
    (WORKSPACE, lambda a: a[::-1] - np.float32(3)),
    (PACKED, lambda a: a),
]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_threads_call_the_same_and_different_functions(count: int) -> None:
    stepwell.register_func("threads.visit", lambda i: i, override=True)
    functions = [(stepwell.build(stepwell.parse_tvmscript(text))["main"], expected) for text, expected in CASES]
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for n in range(60):
            function, expected = functions[(n * (seed % 3) + seed) % len(functions)]
            a = rng.random((100, 32), "float32")
            b = np.full_like(a, -1)
            function(a, b)
            if not np.array_equal(b, expected(a)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    with stepwell.threads(count):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


WAIT = """
@T.prim_func
def main(flag: T.Buffer((1,), "int32"), A: T.Buffer((1000,), "float64"), B: T.Buffer((1000,), "float64")):
    while flag[0] == 0:
        T.evaluate(T.call_packed("threads.nap", dtype="int32"))
    for i in range(1000):
        B[i] = A[i] + T.float64(1)
"""


class Caller:
    """A thread inside a call, with arguments that nobody else refers to, until `finish`."""

    def __init__(self, call: Callable[..., Any], make: Callable[[], Any]) -> None:
        self.flag, self.result = np.zeros(1, "int32"), np.zeros(1000)
        self.entered = threading.Event()
        stepwell.register_func("threads.nap", self._nap, override=True)
        argument = make()
        self.argument = weakref.ref(argument)
        self._arguments = [argument]
        self._call = call
        del argument
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.entered.wait(30)

    def _run(self) -> None:
        self._call(self.flag, self._arguments.pop(), self.result)

    def _nap(self) -> int:
        self.entered.set()
        time.sleep(0.001)
        return 0

    def finish(self) -> Any:
        self.flag[0] = 1
        self._thread.join(30)
        return self.result


def test_an_array_lives_until_the_end_of_the_call() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(WAIT))["main"]
    for call in (main, lambda *arguments: main.bind(*arguments)()):
        caller = Caller(call, lambda: np.arange(1000.0))
        gc.collect()
        assert caller.argument() is not None
        np.testing.assert_array_equal(caller.finish(), np.arange(1000) + 1)
        gc.collect()
        assert caller.argument() is None


def test_an_array_in_a_call_cannot_be_resized() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(WAIT))["main"]
    caller = Caller(main, lambda: np.arange(1000.0))
    array = caller.argument()
    assert array is not None
    with pytest.raises(ValueError, match="cannot resize"):
        array.resize(1_000_000)
    np.testing.assert_array_equal(caller.finish(), np.arange(1000) + 1)


def test_a_buffer_behind_an_array_in_a_call_cannot_be_resized() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(WAIT))["main"]
    buffer = bytearray(np.arange(1000.0).tobytes())
    caller = Caller(main, lambda: np.frombuffer(buffer))
    with pytest.raises(BufferError):
        buffer.clear()
    np.testing.assert_array_equal(caller.finish(), np.arange(1000) + 1)
    buffer.clear()
