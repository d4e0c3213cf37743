"""Measurements that the benchmarks share: medians of calls in turn, errors, child processes, and the description of
the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

Call = Callable[[], Any]


def environment_of(threads: int) -> dict[str, str]:
    """The variables of a process that computes on a number of threads."""
    return {f"{name}_NUM_THREADS": str(threads) for name in ("STEPWELL", "OMP", "MKL", "OPENBLAS", "TVM")}


def times_in_turn(calls: Sequence[Call], runs: int, pause: float = 0.0) -> list[list[float]]:
    """The seconds of each run of each call; the calls take turns, after one run each that does not count.

    pause: seconds before each run, after which one more does not count: threads of the call before would take the
    processors for a while (OpenBLAS's wait for work for some 20 ms without sleep).
    """
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(runs):
        for call, taken in zip(calls, times, strict=True):
            if pause:
                time.sleep(pause)
                call()
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return times


def median_ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median of the ratios of paired runs, the peer's time divided by ours: above 1 we are ahead."""
    return statistics.median(b / a for a, b in zip(ours, peer, strict=True))


def time_of_batch(call: Call, seconds: float) -> float:
    """The mean seconds of a call in a batch that takes about `seconds`, after one or two calls that do not count."""
    first = _mean_time(call, 1)
    if first < seconds:
        first = _mean_time(call, 1)
    return _mean_time(call, max(1, round(seconds / first)))


def _mean_time(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def relative_error(result: Any, expected: Any) -> float:
    """The largest difference of two arrays of numpy, divided by the largest expected absolute value."""
    if result.shape != expected.shape:
        raise ValueError(f"result of shape {result.shape}, expected {expected.shape}")
    return float(abs(result - expected).max() / max(abs(expected).max(), sys.float_info.min))


def describe_package(name: str) -> str:
    """The name and the version of a package of this Python."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"without {name}"


def result_of_child(file: str, python: str, function: str, **arguments: Any) -> dict[str, Any]:
    """The result of a function of a script in a new process, which computes on the number of threads among the
    arguments, by default 1; on failure the reason under the key `failed`.

    file: the script, which with `--child FUNCTION ARGUMENTS` prints the result as JSON in its last line.  python: the
    Python that runs it.
    """
    environment = {**os.environ, **environment_of(arguments.get("threads", 1))}
    command = [python, "-W", "ignore", file, "--child", function, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode:
        return {"failed": lines[-1] if lines else f"exit code {done.returncode}"}
    return json.loads(lines[-1])


def numbers_of_process(program: str, *arguments: str, cache: str = "off") -> list[float]:
    """The numbers that a program of Python prints in a new process. cache: the value of `STEPWELL_CACHE`."""
    return [float(word) for word in words_of_process(program, *arguments, cache=cache)]


def words_of_process(program: str, *arguments: str, cache: str = "off") -> list[str]:
    """The words that a program of Python prints in a new process. cache: the value of `STEPWELL_CACHE`."""
    variables = {**os.environ, "STEPWELL_CACHE": cache}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=variables).stdout.split()


def medians_in_turn(measurements: Mapping[str, Callable[[], Sequence[float]]], runs: int) -> dict[str, list[float]]:
    """The medians of the numbers of each measurement; the measurements take turns, after one each that does not
    count."""
    rows: dict[str, list[Sequence[float]]] = {name: [] for name in measurements}
    for run in range(runs + 1):
        for name, measure in measurements.items():
            numbers = measure()
            if run:
                rows[name].append(numbers)
    return {name: [statistics.median(column) for column in zip(*each, strict=True)] for name, each in rows.items()}


@contextmanager
def caches() -> Iterator[dict[str, str]]:
    """The values of `STEPWELL_CACHE` for a cache that exists until the end of the block, and for none."""
    with tempfile.TemporaryDirectory() as folder:
        yield {"cache": folder, "off": "off"}


class Worker:
    """A fresh process that answers requests, each a line of JSON, and computes on one thread.

    seconds: the time limit of the process.
    """

    def __init__(self, command: Sequence[str], seconds: float, environment: dict[str, str]):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **environment_of(1), **environment},
        )
        self._limit = threading.Timer(seconds, self._stop)
        self._is_late = False
        self._limit.start()

    def _stop(self) -> None:
        self._is_late = True
        self._process.kill()

    def ask(self, **request: Any) -> Any:
        """The answer to a request. Raises TimeoutError after the time limit, ChildProcessError with the last line of
        standard error if the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        code = self._process.wait()
        if self._is_late:
            raise TimeoutError
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        raise ChildProcessError(lines[-1] if lines else f"exit code {code}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._limit.cancel()
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def serve(answer: Callable[..., Any]) -> None:
    """Answers the requests of the process that started this one as a Worker."""
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)


def machine() -> str:
    """The processor, the system and the version of Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{names[0]}, {os.cpu_count()} cores" if names else platform.processor()
    return f"{processor}, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
