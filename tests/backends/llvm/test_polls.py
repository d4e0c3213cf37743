"""Polls in long loops: the emitted code, its results, and signals during calls."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.backends.llvm import control, polls
from stepwell.backends.llvm.compile import compile_module
from stepwell.frontends.mlir import parse_mlir

# The emitted code

NEST = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] + T.float32(1)
"""


def number_of_polls(text: str) -> int:
    """The polls in the LLVM IR of a program."""
    return stepwell.build(stepwell.parse_tvmscript(text)).source("llvm").count("call i32 @stepwell.poll()")


@pytest.mark.parametrize(
    ("extent", "expected"), [("1000", 0), (str(polls.POLL_WORK), 1), ("T.int64(10000000000)", 1), ("n", 1)]
)
def test_loops_of_unknown_or_great_work_poll(extent: str, expected: int) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((1,), "int64"), n: T.int64):
    for i in range({extent}):
        A[0] = A[0] + i
"""
    assert number_of_polls(text) == expected


def test_of_a_nest_over_a_buffer_only_the_inner_loop_polls() -> None:
    """After a row, and after the parts of the rest of a very long row."""
    assert number_of_polls(NEST) == 2


def test_a_row_with_much_work_in_an_iteration_polls_meanwhile() -> None:
    """The loop over rows polls too, as a row may be empty."""
    text = NEST.replace("B[i, j] = A[i, j] + T.float32(1)", "for k in range(1000):\n            B[i, j] += A[i, j]")
    text = text.replace("    n = T", '    T.func_attr({"tir.noalias": True})\n    n = T')
    assert number_of_polls(text) == 2


def test_while_loops_poll() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1,), "int64")):
    while A[0] > T.int64(0):
        A[0] = A[0] - T.int64(1)
"""
    assert number_of_polls(text) == 1


# Results


BOUNDS = [(0, 0, 1), (0, 1, 1), (3, 1000, 1), (0, 999, 7), (-50, 50, 3), (5, -5, 1), (-3, 4093, 4)]


@pytest.mark.parametrize("budget", [16, 100, 1000])
@pytest.mark.parametrize("kind", ["index", "i32", "i16"])
def test_parts_execute_each_iteration_once(kind: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are arguments, and constants."""
    shrink(monkeypatch, budget)
    suffix = "" if kind == "index" else f": {kind}"
    constant = "arith.constant {0} : {1}"
    for known in (False, True):
        for lower_, upper, step in BOUNDS:
            values = [lower_, upper, step]
            names = ["%l", "%u", "%s"]
            definitions = "\n".join(
                f"{name} = {constant.format(value, kind)}" for name, value in zip(names, values, strict=True)
            )
            text = f"""func.func @main({"" if known else "%l : " + kind + ", %u : " + kind}) -> {kind} {{
              {definitions if known else f"%s = arith.constant {step} : {kind}"}
              %z = arith.constant 0 : {kind}
              %r = scf.for %i = %l to %u step %s iter_args(%x = %z) -> ({kind}) {suffix} {{
                %three = arith.constant 3 : {kind}
                %t = arith.muli %x, %three : {kind}
                %y = arith.addi %t, %i : {kind}
                scf.yield %y : {kind}
              }}
              func.return %r : {kind}
            }}"""
            lib = compile_module(parse_mlir(text).op)
            expected = 0
            for i in range(lower_, upper, step):
                expected = 3 * expected + i
            bits = {"index": 64, "i32": 32, "i16": 16}[kind]
            expected = (expected + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
            assert lib(*([] if known else values[:2])) == expected


def shrink(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    """Sets the budget of functions."""
    monkeypatch.setattr(control, "POLL_WORK", budget)
    monkeypatch.setattr(polls, "POLL_WORK", budget)
    monkeypatch.setattr("stepwell.backends.llvm.emitter.POLL_WORK", budget)
    monkeypatch.setattr(control, "_ROW_WORK", 2 * budget)


@given(n=st.integers(0, 40), m=st.integers(0, 40), budget=st.sampled_from([8, 50, 100, 400]))
def test_nests_with_polls_compute_the_same(n: int, m: int, budget: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink(monkeypatch, budget)
        main = stepwell.build(stepwell.parse_tvmscript(NEST))["main"]
    a = np.random.default_rng(0).random((n, m), "float32")
    b = np.empty_like(a)
    main(a, b)
    np.testing.assert_array_equal(b, a + np.float32(1))


@pytest.mark.parametrize("budget", [100, 1000])
@pytest.mark.parametrize("kind", ["index", "i32", "i16"])
@pytest.mark.parametrize("step", [1, 3])
def test_rows_execute_each_iteration_once(kind: str, budget: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of all lengths, with a value that each iteration changes."""
    shrink(monkeypatch, budget)
    suffix = "" if kind == "index" else f" : {kind}"
    lower_ = "%l" if kind != "index" else "%l_index"
    text = f"""func.func @main(%n: index, %l: i32, %a: memref<?xi8>) -> i32 {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %u_index = memref.dim %a, %c0 : memref<?xi8>
      %l_index = arith.index_cast %l : i32 to index
      %l_16 = arith.trunci %l : i32 to i16
      %u = arith.index_cast %u_index : index to {"i32" if kind == "index" else kind}
      %s = arith.constant {step} : {kind}
      %z = arith.constant 0 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (i32) {{
        %y = scf.for %j = {"%l_16" if kind == "i16" else lower_} to {"%u_index" if kind == "index" else "%u"} step %s
            iter_args(%t = %x) -> (i32) {suffix} {{
          %three = arith.constant 3 : i32
          %v = arith.muli %t, %three : i32
          %k = {{}}
          %w = arith.addi %v, %k : i32
          scf.yield %w : i32
        }}
        scf.yield %y : i32
      }}
      func.return %r : i32
    }}"""
    as_i32 = {
        "index": "arith.index_cast %j : index to i32",
        "i32": "arith.addi %j, %z : i32",
        "i16": "arith.extsi %j : i16 to i32",
    }
    lib = compile_module(parse_mlir(text.replace("{}", as_i32[kind])).op)
    assert lib.source("llvm").count("call i32 @stepwell.poll()") >= 2
    for rows, first, last in (
        (1, 0, 0),
        (3, 0, 1),
        (2, 0, 1000),
        (3, -40, 55),
        (2, 7, 260),
        (4, 9, 3),
        (1, -1000, 999),
    ):
        expected = 0
        for _ in range(rows):
            for j in range(first, last, step):
                expected = 3 * expected + j
        assert lib(rows, first, np.zeros(last, "int8")) == (expected + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("upper", [2**63 - 1, 2**63 - 3])
def test_loops_to_the_largest_integers_end(upper: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, 16)
    text = """func.func @main(%l: index, %u: index) -> index {
      %one = arith.constant 1 : index
      %z = arith.constant 0 : index
      %r = scf.for %i = %l to %u step %one iter_args(%x = %z) -> (index) {
        %y = arith.addi %x, %one : index
        scf.yield %y : index
      }
      func.return %r : index
    }"""
    assert compile_module(parse_mlir(text).op)(upper - 1000, upper) == 1000


# Signals

needs_signals = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no POSIX signals")

COMMON = '''
import os, signal, sys, threading, time, warnings
from pathlib import Path
import numpy as np
import stepwell

def program(text):
    return stepwell.build(stepwell.parse_tvmscript(text))

def interrupt(call, *arguments, error=KeyboardInterrupt, signum=signal.SIGINT):
    """Calls with a signal after 0.1 s; the call must end by the error, soon."""
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signum))
    timer.start()
    start = time.monotonic()
    try:
        call(*arguments)
    except error:
        print("interrupted" if time.monotonic() - start < 10 else "late")
    else:
        print("not interrupted")
    timer.join()

LOOP = """
@T.prim_func
def main(A: T.Buffer((64,), "int64"), n: T.int64, m: T.int64):
    for i in T.{kind}(n):
        for j in range(m):
            A[i % T.int64(64)] = A[i % T.int64(64)] * T.int64(3) + i + j
"""
WHILE = """
@T.prim_func
def main(A: T.Buffer((64,), "int64"), n: T.int64, m: T.int64):
    while A[0] < n:
        A[0] = A[0] + T.int64(1)
        A[1] = A[1] * T.int64(3) + A[0]
"""
LONG = 10**12
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("error")
'''


@needs_signals
def test_an_interrupt_ends_a_long_call_and_leaves_the_process_usable(execute: Callable[..., list[str]]) -> None:
    lines = execute("""
        cases = [
            (LOOP.format(kind="serial"), (LONG, 1), 1),
            (LOOP.format(kind="serial"), (1, LONG), 1),
            (LOOP.format(kind="serial"), (10**6, 10**6), 1),
            (LOOP.format(kind="parallel"), (LONG, 1), 1),
            (LOOP.format(kind="parallel"), (LONG, 1), 2),
            (LOOP.format(kind="parallel"), (3, LONG), 5),
            (LOOP.format(kind="parallel"), (2, LONG), 2),
            (WHILE, (LONG, 1), 1),
        ]
        for text, sizes, threads in cases:
            main = program(text)["main"]
            stepwell.set_num_threads(threads)
            expected = np.zeros(64, "int64")
            main(expected, 50, 40)
            interrupt(main, np.zeros(64, "int64"), *sizes)
            actual = np.zeros(64, "int64")
            main(actual, 50, 40)
            print((actual == expected).all())
    """)
    assert lines == ["interrupted", "True"] * 8


@needs_signals
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_an_interrupt_ends_a_nest_whose_rows_take_long(execute: Callable[..., list[str]], kind: str) -> None:
    """Rows of iterations that take long, of very many iterations, and of iterations that wait for memory."""
    lines = execute(
        """
        HEAVY = '''
        @T.prim_func
        def main(a: T.handle):
            n = T.int64()
            m = T.int64()
            A = T.match_buffer(a, (n, m), "float32")
            for i in T.{kind}(n):
                for j in range(m):
                    for k in range(2000):
                        A[i, j] = T.exp(A[i, j]) - T.float32(1)
        '''
        LIGHT = '''
        @T.prim_func
        def main(A: T.Buffer((64,), "int64"), n: T.int32, m: T.int32):
            for i in T.{kind}(n):
                for j in range(m):
                    A[j % 64] = A[j % 64] // T.int64(3) + A[i % 64]
        '''
        CARRIED = '''
        @T.prim_func
        def main(a: T.handle, b: T.handle, m: T.int32):
            n = T.int64()
            l = T.int64()
            A = T.match_buffer(a, (n,), "int64")
            B = T.match_buffer(b, (l,), "int64")
            for i in T.{kind}(n):
                for j in range(m):
                    A[i] = B[A[i]]
        '''
        size = 1 << 22
        ring = np.empty(size, "int64")
        order = np.random.default_rng(0).permutation(size)
        ring[order] = np.roll(order, 1)
        for text, *arguments in (
            (HEAVY, np.ones((10, 10**6), "float32")),
            (LIGHT, np.ones(64, "int64"), 1000, 2**31 - 1),
            (CARRIED, np.arange(100), ring, 2**31 - 1),
        ):
            main = program(text.format(kind=sys.argv[1]))["main"]
            for threads in (1, 2):
                with stepwell.threads(threads):
                    interrupt(main, *arguments)
        """,
        kind,
    )
    assert lines == ["interrupted"] * 6


@needs_signals
def test_all_forms_of_calls_are_interrupted(execute: Callable[..., list[str]], tmp_path: Path) -> None:
    lines = execute(
        """
        lib = program(LOOP.format(kind="serial"))
        a = np.zeros(64, "int64")
        interrupt(lib, a, LONG, 1)
        interrupt(lib["main"].bind(a, LONG, 1))
        interrupt(lib["main"], a, np.int64(LONG), 1)  # converted in Python
        lib.export(sys.argv[1])
        from stepwell.backends.runtime import Program
        interrupt(Program.load(sys.argv[1]), a, LONG, 1)
        """,
        str(tmp_path / "program.tar"),
    )
    assert lines == ["interrupted"] * 4


@needs_signals
def test_handlers_run_during_a_call(execute: Callable[..., list[str]]) -> None:
    """Handlers that raise no exception do not end the call; a handler may run native code."""
    lines = execute("""
        main = program(LOOP.format(kind="serial"))["main"]
        seen = []
        def handle(signum, frame):
            main(np.zeros(64, "int64"), 10, 10)
            seen.append(threading.current_thread() is threading.main_thread())
        signal.signal(signal.SIGALRM, handle)
        class Stop(Exception):
            pass
        def stop(signum, frame):
            raise Stop
        signal.signal(signal.SIGUSR1, stop)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        try:
            main(np.zeros(64, "int64"), LONG, 1)
        except Stop:
            print("stopped")
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 1 and all(seen))
    """)
    assert lines == ["stopped", "True"]


@needs_signals
def test_a_call_in_another_thread_goes_on(execute: Callable[..., list[str]]) -> None:
    """As functions of Python do: only the main thread receives the exception."""
    lines = execute("""
        main = program(LOOP.format(kind="serial"))["main"]
        array = np.zeros(64, "int64")
        complete = []
        def work():
            main(array, 10**8, 1)
            complete.append(True)
        thread = threading.Thread(target=work)
        thread.start()
        interrupt(main, np.zeros(64, "int64"), LONG, 1)
        thread.join()
        print(complete)
        expected = np.zeros(64, "int64")
        main(expected, 10**8, 1)
        print((array == expected).all())
    """)
    assert lines == ["interrupted", "[True]", "True"]


@needs_signals
def test_an_interrupt_reaches_the_caller_of_packed_functions(execute: Callable[..., list[str]]) -> None:
    """Whether the signal arrives in native code, in the packed function or on the way."""
    lines = execute("""
        stepwell.register_func("test.visit", lambda i: i)
        main = program('''
        @T.prim_func
        def main(A: T.Buffer((64,), "int64"), n: T.int64):
            for i in range(n):
                for j in range(400):
                    A[j % 64] = A[j % 64] + i
                A[0] = T.call_packed("test.visit", i, dtype="int64")
        ''')["main"]
        for n in range(20):
            timer = threading.Timer(0.02 + 0.001 * n, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                main(np.zeros(64, "int64"), LONG)
            except KeyboardInterrupt:
                print("interrupted")
            timer.join()
    """)
    assert lines == ["interrupted"] * 20


@needs_signals
def test_an_interrupted_function_hands_back_its_workspace(execute: Callable[..., list[str]]) -> None:
    lines = execute("""
        main = program('''
        @T.prim_func
        def main(A: T.Buffer((1,), "int8"), n: T.int64):
            B = T.alloc_buffer((T.int64(1 << 26),), "int8")
            for i in range(T.int64(1 << 26)):
                B[i] = T.int8(1)
            for k in range(n):
                for i in range(T.int64(1 << 26)):
                    B[i] = B[i] * T.int8(3) + A[0]
            A[0] = B[n]
        ''')["main"]
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        sizes = []
        for _ in range(4):
            interrupt(main, np.zeros(1, "int8"), 10**9)
            sizes.append(resident())
        print(sizes[-1] - sizes[0] < 1 << 25)
    """)
    assert lines == ["interrupted"] * 4 + ["True"]


@needs_signals
def test_a_child_process_is_interrupted(execute: Callable[..., list[str]]) -> None:
    """The thread that forks is the main thread of the child."""
    lines = execute("""
        import warnings
        warnings.simplefilter("ignore")  # Python warns of forks of a process with threads
        main = program(LOOP.format(kind="parallel"))["main"]
        stepwell.set_num_threads(3)
        main(np.zeros(64, "int64"), 100, 1)
        def fork():
            child = os.fork()
            if child == 0:
                interrupt(main, np.zeros(64, "int64"), LONG, 1)
                sys.stdout.flush()
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    """)
    assert lines == ["interrupted", "0"]


def test_an_executor_runs_after_an_interrupt(execute: Callable[..., list[str]]) -> None:
    lines = execute("""
        from stepwell import GraphExecutor, build_graph, relay
        data = relay.var("data", shape=("n", 512))
        weight = relay.var("weight", shape=(512, 512))
        net = data
        for _ in range(10):
            net = relay.nn.softmax(relay.nn.dense(net, weight, units=512))
        executor = GraphExecutor(build_graph(relay.module(relay.Function([data, weight], net))))
        weight = np.random.default_rng(0).random((512, 512), "float32") / 512
        small = np.random.default_rng(1).random((3, 512), "float32")
        large = np.ones((100_000, 512), "float32")
        executor.run(data=small, weight=weight)
        expected = executor.get_output(0).copy()
        interrupt(lambda: executor.run(data=large, weight=weight))
        executor.run(data=small, weight=weight)
        print((executor.get_output(0) == expected).all())
    """)
    assert lines == ["interrupted", "True"]
