"""Run times and hooks of kernels, with several threads that execute kernels and several that call."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import relay
from stepwell.backends.devices.timing import BenchmarkResult, Repetition
from stepwell.backends.graph import GraphExecutor, KernelRun, KernelTime, Profile, Workspace, build_graph
from stepwell.core.errors import ArgumentError, ExecutionError, OptionError

ROWS = 64
X = np.random.default_rng(0).normal(size=(ROWS, 4096)).astype("float32")


def layers(opt_level: int = 0, workspace: Workspace | None = None) -> GraphExecutor:
    """Kernels with parallel loops: three softmaxes, which are one kernel, and a product."""
    body: Any = relay.var("x", shape=(ROWS, 4096))
    for _ in range(3):
        body = relay.nn.softmax(body)
    body = relay.exp(body)
    mod = relay.module(relay.Function(relay.free_vars(body), relay.Tuple([body, relay.sum(body)])))
    return GraphExecutor(build_graph(mod, opt_level=opt_level), workspace=workspace)


def results(executor: GraphExecutor) -> list[np.ndarray]:
    return [np.array(executor.get_output(n)) for n in range(executor.num_outputs)]


@pytest.fixture(scope="module")
def expected() -> list[np.ndarray]:
    executor = layers()
    with stepwell.threads(1):
        executor.run(x=X)
    return results(executor)


KERNELS = ["fused_nn_softmax"] * 3 + ["fused_exp", "fused_sum"]

# Tables


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_kernels_are_timed_with_a_number_of_threads(threads: int, expected: list[np.ndarray]) -> None:
    executor, before = layers(), stepwell.get_num_threads()
    executor.set_input("x", X)
    profile = executor.profile(3, threads=threads)
    assert stepwell.get_num_threads() == before
    assert profile.threads == threads
    assert [time.kernel for time in profile] == KERNELS
    assert all(len(time.results) == 3 and min(time.results) > 0 for time in profile)
    assert all(min(time.results) <= time.seconds <= max(time.results) for time in profile)
    np.testing.assert_array_equal(results(executor)[0], expected[0])


def test_a_table_has_a_column_for_each_number_of_threads() -> None:
    executor = layers()
    executor.set_input("x", X)
    table = executor.profile(2, threads=1).table(executor.profile(2, threads=2))
    head, softmax, *_, last = table.splitlines()
    assert re.fullmatch(r"kernel +calls +share +us, 1 thread +us, 2 threads  shape", head)
    assert re.fullmatch(r"fused_nn_softmax +3 +[\d.]+% +[\d.]+ +[\d.]+  64x4096", softmax)
    assert re.fullmatch(r"all +5 +100.0% +[\d.]+ +[\d.]+", last)


def test_the_times_of_a_kernel_are_added() -> None:
    profile = Profile([KernelTime("a", 1e-6, (2, 3)), KernelTime("b", 2e-6, ()), KernelTime("a", 5e-6, (4,))], 1)
    assert [(each.kernel, each.calls, each.shape) for each in profile.sums()] == [("a", 2, (2, 3)), ("b", 1, ())]
    assert profile.seconds == pytest.approx(8e-6)
    assert str(profile) == (
        "kernel  calls   share  us, 1 thread  shape\n"
        "a           2   75.0%           6.0  2x3\n"
        "b           1   25.0%           2.0  scalar\n"
        "all         3  100.0%           8.0"
    )


def test_kernels_are_timed_in_repetitions() -> None:
    executor = layers()
    executor.set_input("x", X)
    profile = executor.time_kernels(Repetition(number=2, repeat=4), threads=2)
    assert [(time.kernel, len(time.results)) for time in profile] == [(kernel, 4) for kernel in KERNELS]
    with pytest.raises(OptionError, match="repeat: 0, expected a number of at least 1"):
        executor.profile(0)
    with pytest.raises(OptionError, match="expected a number of threads, from 1 to 512, got 0"):
        executor.profile(threads=0)


def test_threads_measure_at_once(expected: list[np.ndarray]) -> None:
    shared = Workspace()
    executors = [layers(workspace=shared), layers(workspace=shared), layers()]
    for executor in executors:
        executor.set_input("x", X)

    def work(n: int) -> tuple[Any, ...]:
        executor = executors[n % 3]
        found = (executor.profile(2, threads=n % 2 + 1), Repetition(2, 2).measure(executor.run, executor.clock))
        return *found, results(executor)

    before = stepwell.get_num_threads()
    with ThreadPoolExecutor(6) as pool:
        for profile, benchmark, outputs in pool.map(work, range(6)):
            assert [time.kernel for time in profile] == KERNELS
            assert len(benchmark.results) == 2
            np.testing.assert_array_equal(outputs[0], expected[0])
    assert stepwell.get_num_threads() == before


# Hooks


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_hooks_see_the_arrays_of_each_kernel(opt_level: int, threads: int, expected: list[np.ndarray]) -> None:
    executor = layers(opt_level)
    seen: list[tuple[str, int, list[np.ndarray], list[np.ndarray]]] = []

    def hook(run: KernelRun) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert run.seconds > 0
        inputs, outputs = ([np.array(each) for each in arrays] for arrays in (run.inputs, run.outputs))
        seen.append((run.kernel, run.index, inputs, outputs))

    with stepwell.threads(threads):
        executor.run_kernels(hook, x=X)
    assert [index for _, index, _, _ in seen] == list(range(len(seen)))
    if opt_level == 0:
        assert [kernel for kernel, _, _, _ in seen] == KERNELS
    np.testing.assert_array_equal(seen[0][2][0], X)
    for kernel, _, (read,), (written,) in seen:
        if kernel == "fused_nn_softmax":
            raised = np.exp(read - read.max(1, keepdims=True))
            np.testing.assert_allclose(written, raised / raised.sum(1, keepdims=True), 1e-4)
    for actual, wanted in zip(results(executor), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, 1e-5)


def test_a_hook_that_fails_ends_the_run(expected: list[np.ndarray]) -> None:
    executor = layers()
    calls: list[str] = []

    def hook(run: KernelRun) -> None:
        calls.append(run.kernel)
        if run.index == 1:
            raise KeyError("hook")

    with stepwell.threads(2), pytest.raises(KeyError, match="hook"):
        executor.run_kernels(hook, x=X)
    assert len(calls) == 2
    executor.run()
    np.testing.assert_array_equal(results(executor)[0], expected[0])
    assert len(executor.profile(1)) == len(KERNELS)


def test_a_hook_runs_graphs_with_other_workspaces_only(expected: list[np.ndarray]) -> None:
    executor, other = layers(), layers()
    other.set_input("x", X)
    executor.set_input("x", X)
    for use in (executor.run, executor.profile, lambda: executor.run_kernels(print)):
        message = "run of a graph inside of a run with the same workspace, expected another executor"
        with pytest.raises(ExecutionError, match=message):
            executor.run_kernels(lambda run, use=use: use())
    counts: list[int] = []
    executor.run_kernels(lambda run: counts.append(len(other.profile(1, threads=2))))
    assert counts == [len(KERNELS)] * len(KERNELS)
    for each in (executor, other):
        np.testing.assert_array_equal(results(each)[0], expected[0])


def test_a_graph_does_not_run_inside_of_its_own_run() -> None:
    """As a packed function or the handler of a signal may try: the run would overwrite tensors of the present one."""
    executor = layers()
    executor.set_input("x", X)
    executor._run = executor.run
    with pytest.raises(ExecutionError, match="inside of a run"):
        executor.run()
    executor.forget_workspace()
    executor.run()


def test_hooks_of_several_threads(expected: list[np.ndarray]) -> None:
    executors = [layers() for _ in range(4)]

    def work(executor: GraphExecutor) -> list[int]:
        thread, indices = threading.get_ident(), []

        def hook(run: KernelRun) -> None:
            assert threading.get_ident() == thread
            indices.append(run.index)

        for _ in range(5):
            executor.run_kernels(hook, x=X)
        return indices

    with stepwell.threads(2), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, executors)) == [list(range(len(KERNELS))) * 5] * 4
    for executor in executors:
        np.testing.assert_array_equal(results(executor)[0], expected[0])


@pytest.mark.parametrize("flag", [False, True])
def test_hooks_see_the_kernels_of_taken_branches(flag: bool) -> None:
    condition, x = relay.var("flag", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    body = relay.If(condition, relay.exp(x), relay.negative(x))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([condition, x], relay.Tuple([body, body, x])))))
    names: list[str] = []
    executor.run_kernels(lambda run: names.append(run.kernel), flag=np.asarray(flag), x=np.ones(2, "float32"))
    assert ("fused_exp" in names, "fused_negative" in names) == (flag, not flag)
    value = np.exp(np.ones(2)) if flag else -np.ones(2)
    for actual, wanted in zip(results(executor), (value, value, np.ones(2)), strict=True):
        np.testing.assert_allclose(actual, wanted, 1e-6)


def test_hooks_need_all_inputs() -> None:
    with pytest.raises(ArgumentError, match="inputs x have not been set"):
        layers().run_kernels(print)


# Times of calls

PARALLEL = """
@T.prim_func
def main(A: T.Buffer((1000,), "float32")):
    for i in T.parallel(1000):
        T.evaluate(T.call_packed("profile.visit", i, dtype="int32"))
        A[i] = A[i] + T.float32(1)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_time_evaluators_of_several_threads(threads: int) -> None:
    stepwell.register_func("profile.visit", lambda i: 0, override=True)
    main = stepwell.build(stepwell.parse_tvmscript(PARALLEL))["main"]
    evaluate = main.time_evaluator(number=2, repeat=3)

    def work(n: int) -> tuple[BenchmarkResult, np.ndarray]:
        array = np.full(1000, n, "float32")
        return evaluate(array), array

    with stepwell.threads(threads), ThreadPoolExecutor(4) as pool:
        for n, (result, array) in enumerate(pool.map(work, range(4))):
            assert len(result.results) == 3
            assert 0 < result.min <= result.median <= result.max
            np.testing.assert_array_equal(array, n + 7)  # a call that is not measured, and 2 * 3


def test_an_error_of_a_worker_ends_a_time_evaluator() -> None:
    def visit(i: int) -> int:
        if i == 900:
            raise KeyError("visit")
        return 0

    stepwell.register_func("profile.visit", visit, override=True)
    main = stepwell.build(stepwell.parse_tvmscript(PARALLEL))["main"]
    with stepwell.threads(2), pytest.raises(ExecutionError, match="KeyError: 'visit'"):
        main.time_evaluator(number=2)(np.zeros(1000, "float32"))
    stepwell.register_func("profile.visit", lambda i: 0, override=True)
    assert len(main.time_evaluator(number=2)(np.zeros(1000, "float32")).results) == 1


def test_a_repetition_grows_until_its_time_has_passed() -> None:
    numbers: list[int] = []

    def clock(run: Any, number: int) -> float:
        numbers.append(number)
        return number * 1e-3

    assert Repetition(2, 2, min_repeat_ms=10).measure(lambda: None, clock).results == (1e-3, 1e-3)
    assert numbers == [1, 2, 11, 11]
    zero = Repetition(1, 2, min_repeat_ms=1, limit_zero_time_iterations=3)
    assert zero.measure(lambda: None, lambda run, number: 0.0).results == (0, 0)


def test_repetitions_sleep_and_write_other_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    monkeypatch.setattr("time.sleep", naps.append)
    repetition = Repetition(1, 5, cooldown_interval_ms=2, repeats_to_cooldown=2, cache_flush_bytes=1000)
    assert len(repetition.measure(lambda: None, lambda run, number: 1.0).results) == 5
    assert naps == [0.002, 0.002]
    with pytest.raises(OptionError, match="cache_flush_bytes: -1, expected a number of at least 0"):
        Repetition(cache_flush_bytes=-1)
