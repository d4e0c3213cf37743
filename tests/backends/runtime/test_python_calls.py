"""Builtin functions whose code is native: calls without conversions in Python, errors, threads, lifetimes."""

import copy
import gc
import pickle
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.backends.runtime import CompiledFunction, Program, checked_call, forwarding, python_calls
from stepwell.backends.runtime.checked_call import CheckedCall
from stepwell.backends.runtime.packed import register_func
from stepwell.core.errors import ArgumentError, ExecutionError

ADD = """
func.func @add(%a: memref<?xf32> {stepwell.name = "A"}, %b: memref<?xf32> {stepwell.name = "B"},
               %c: memref<?xf32> {stepwell.name = "C"}) attributes {stepwell.noalias} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %a, %zero : memref<?xf32>
  %m = memref.dim %c, %zero : memref<?xf32>
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "sizes of A and C differ" {stepwell.argument}
  scf.for %i = %zero to %n step %one {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = memref.load %b[%i] : memref<?xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : memref<?xf32>
  }
  func.return
}"""
CALLBACK = """
func.func private @callback(i64) -> i64 attributes {stepwell.packed = "test.callback"}
func.func @main(%a: memref<2xf32> {stepwell.name = "A"}, %x: i64 {stepwell.name = "x", stepwell.dtype = "int64"})
    -> (i64 {stepwell.dtype = "int64"}) {
  %r = func.call @callback(%x) : (i64) -> i64
  func.return %r : i64
}"""


@pytest.fixture
def forbid_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each check of arguments in Python an error."""

    def fail(*_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("the arguments are checked in Python")

    monkeypatch.setattr(CheckedCall, "__call__", fail)


def arrays(count: int, size: int = 4) -> list[np.ndarray[Any, Any]]:
    return [np.arange(size, dtype=np.float32) for _ in range(count)]


@pytest.mark.usefixtures("forbid_conversions")
def test_arrays_and_numbers_of_the_types_of_the_parameters_reach_native_code_directly(compile_text) -> None:
    a, b, c = arrays(3)
    assert compile_text(ADD)["add"](a, b, c) is None
    assert np.array_equal(c, a + b)
    memory = np.zeros(20, np.float32)
    compile_text(ADD)["add"](a, memory[:4], memory[4:8])  # neighbours
    echo = """func.func @main(%x: f32, %y: i8 {stepwell.dtype = "uint8"},
                                %s: memref<?x?xf64, strided<[?, 2], offset: 1>>)
      -> (i8 {stepwell.dtype = "uint8"}) { func.return %y : i8 }"""
    assert compile_text(echo)["main"](1.5, 255, np.zeros((4, 8))[::-1, ::2]) == 255


@pytest.mark.usefixtures("forbid_conversions")
@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 3), (3, 0), (2, 1)])
def test_overlapping_arrays_are_left_to_python(compile_text, first: int, second: int) -> None:
    memory, b = np.zeros(20, np.float32), np.zeros(4, np.float32)
    with pytest.raises(AssertionError, match="checked in Python"):
        compile_text(ADD)["add"](memory[first : first + 4], b, memory[second : second + 4])


@pytest.mark.usefixtures("forbid_conversions")
@pytest.mark.parametrize(("rows", "others"), [(slice(0, 3), slice(2, 5)), (slice(2, None, -1), slice(2, 5))])
def test_overlapping_strided_arrays_are_left_to_python(compile_text, rows: slice, others: slice) -> None:
    text = """func.func @main(%a: memref<?xf32, strided<[?]>>, %b: memref<?xf32, strided<[?]>>)
      attributes {stepwell.noalias} {
      %zero = arith.constant 0 : index
      %x = memref.load %a[%zero] : memref<?xf32, strided<[?]>>
      memref.store %x, %b[%zero] : memref<?xf32, strided<[?]>>
      func.return }"""
    memory, main = np.arange(40, dtype=np.float32).reshape(8, 5)[:, 0], compile_text(text)["main"]
    for a, b in ((rows, others), (others, rows)):
        with pytest.raises(AssertionError, match="checked in Python"):
            main(memory[a], memory[b])
    main(memory[2::-1], memory[3:5])
    assert memory[3] == 10


@pytest.mark.usefixtures("forbid_conversions")
@pytest.mark.parametrize("value", [3.5e38, -1e300, 1, True, np.float32(1), None])
def test_numbers_out_of_range_and_of_other_types_are_left_to_python(compile_text, value: Any) -> None:
    with pytest.raises(AssertionError, match="checked in Python"):
        compile_text("func.func @main(%x: f32) -> f32 { func.return %x : f32 }")(value)


@pytest.mark.usefixtures("forbid_conversions")
@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 3.4028234e38, 1e-46, -0.0])
def test_floats_are_rounded(compile_text, value: float) -> None:
    result = compile_text("func.func @main(%x: f32) -> f32 { func.return %x : f32 }")(value)
    assert repr(result) == repr(np.float32(value).item())


def test_a_failed_assertion_is_an_error_with_the_arguments(compile_text) -> None:
    add, (a, b, c) = compile_text(ADD)["add"], arrays(3)
    message = r"add: sizes of A and C differ \(called with A: float32\[4\], B: float32\[4\], C: float32\[2\]\)"
    for _ in range(3):
        with pytest.raises(ArgumentError, match=message):
            add(a, b, c[:2])
        add(a, b, c)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_errors_of_packed_functions_are_raised_from_direct_calls(compile_text, error: BaseException) -> None:
    def callback(x: int) -> int:
        if x < 0:
            raise error
        return x + 1

    register_func("test.callback", callback, override=True)
    lib = compile_text(CALLBACK)
    assert lib["main"].signature.direct
    (a,) = arrays(1, 2)
    kind = ExecutionError if isinstance(error, Exception) else KeyboardInterrupt
    for _ in range(3):
        with pytest.raises(kind):
            lib(a, -1)
        assert lib(a, 1) == 2


def test_callbacks_run_with_and_without_the_lock_of_python(compile_text, monkeypatch: pytest.MonkeyPatch) -> None:
    register_func("test.callback", lambda x: sum(range(x)), override=True)
    for short in (False, True):
        monkeypatch.setattr("stepwell.backends.llvm.emitter.is_short", lambda *_, short=short: short)
        lib = compile_text(CALLBACK)
        assert lib["main"].signature.short is short
        (a,) = arrays(1, 2)
        results: list[int] = []
        threads = [threading.Thread(target=lambda: results.extend(lib(a, n) for n in range(200))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == sorted([sum(range(n)) for n in range(200)] * 4)


LOOP = """
func.func @main(%a: memref<8xf32>, %b: memref<?xf32>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  %n = {bound}
  scf.for %i = %zero to %n step %one {{
    memref.store %x, %a[%zero] : memref<8xf32>
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("bound", "releases"),
    [("arith.constant 8 : index", False), ("arith.constant 100000 : index", True),
     ("memref.dim %b, %zero : memref<?xf32>", True)],
)  # fmt: skip
def test_pythons_lock_is_released_unless_the_work_has_a_small_bound(compile_text, bound: str, releases: bool) -> None:
    lib = compile_text(LOOP.format(bound=bound))
    assert lib["main"].signature.short is not releases
    a, b = np.zeros(8, np.float32), np.zeros(3, np.float32)
    lib(a, b)
    assert a[0] == 1


def test_pythons_lock_is_released_around_packed_functions(compile_text) -> None:
    assert not compile_text(CALLBACK)["main"].signature.short


def test_threads_run_during_a_call(compile_text) -> None:
    add, (a, b, c) = compile_text(ADD)["add"], arrays(3, 1 << 22)
    running, turns = threading.Event(), 0
    thread = threading.Thread(target=lambda: [add(a, b, c) for _ in range(20)] and running.set())
    thread.start()
    while not running.is_set():
        turns += 1
    thread.join()
    assert turns > 100


def test_a_function_is_freed_with_its_last_reference(compile_text) -> None:
    lib = compile_text(ADD)
    call = lib["add"].func
    native, program = weakref.ref(call.__self__[4][0]), weakref.ref(lib)  # pyright: ignore[reportFunctionMemberAccess]
    gc.collect()
    gc.disable()
    try:
        del lib
        assert program() is None, "a cycle of references keeps the program"
        a, b, c = arrays(3)
        call(a, b, c)
        assert c[3] == 6
        assert native() is not None
        del call
        assert native() is None
    finally:
        gc.enable()


def test_programs_leave_no_garbage(compile_text) -> None:
    gc.collect()
    alive = [weakref.ref(compile_text(ADD)["add"]) for _ in range(5)]
    assert [each() for each in alive] == [None] * 5


def test_calls_without_support_are_checked_in_python(compile_text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.backends.runtime.program.is_supported", lambda: False)
    add, (a, b, c) = compile_text(ADD)["add"], arrays(3)
    assert isinstance(add.func, CheckedCall)
    add(a, b, c)
    assert c[3] == 6


def test_layouts_of_objects_are_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_calls.is_supported()
    for name in ("DATA", "RANK", "SHAPE", "STRIDES", "DTYPE", "FLAGS", "ITEMS", "CHARACTERS"):
        with monkeypatch.context() as patch:
            patch.setattr(python_calls, name, getattr(python_calls, name) + (4 if name in ("RANK", "FLAGS") else 8))
            if name in ("SHAPE", "STRIDES"):  # a wrong pointer would be read
                patch.setattr(python_calls, name, python_calls.STRIDES if name == "SHAPE" else python_calls.SHAPE)
            assert not python_calls.is_supported.__wrapped__()


def test_functions_with_handles_are_called_through_python(compile_text) -> None:
    handle = compile_text("func.func @handle(%p: !llvm.ptr) { func.return }")["handle"]
    assert not handle.signature.direct
    assert isinstance(handle.func, CheckedCall)
    handle(0)


@pytest.mark.usefixtures("forbid_conversions")
def test_functions_of_many_parameters_are_called_directly(compile_text) -> None:
    count = 80
    parameters = ", ".join(f"%p{n}: memref<2x?xf32>" for n in range(count))
    many = compile_text(f"""func.func @many({parameters}) attributes {{stepwell.noalias}} {{
      %zero = arith.constant 0 : index
      %x = memref.load %p0[%zero, %zero] : memref<2x?xf32>
      memref.store %x, %p{count - 1}[%zero, %zero] : memref<2x?xf32>
      func.return }}""")["many"]
    given = [np.full((2, n % 3 + 1), n + 1, np.float32) for n in range(count)]
    many(*given)
    assert [each[0, 0] for each in given] == [*range(1, count), 1]
    with pytest.raises(AssertionError, match="checked in Python"):
        many(*given[:-1], given[7])


def test_saved_programs_are_called_directly(compile_text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_text(ADD).export(tmp_path / "saved")
    lib = Program.load(tmp_path / "saved")
    monkeypatch.setattr(CheckedCall, "__call__", None)
    a, b, c = arrays(3)
    lib(a, b, c)
    assert c[3] == 6


# Functions with bound arguments

DIVIDE = """func.func @main(%A: memref<8xf32>, %n: i64) {
  %zero = arith.constant 0 : i64
  %positive = arith.cmpi sgt, %n, %zero : i64
  cf.assert %positive, "n is positive"
  %x = arith.sitofp %n : i64 to f32
  %i = arith.constant 0 : index
  memref.store %x, %A[%i] : memref<8xf32>
  func.return
}"""


def test_bound_functions_are_builtin_functions(compile_text) -> None:
    array = np.zeros(8, np.float32)
    bound = compile_text(DIVIDE)["main"].bind(array, 3)
    assert type(bound) is types.BuiltinFunctionType
    assert bound() is None
    assert array[0] == 3
    with pytest.raises(TypeError, match="takes no arguments"):
        bound(1)


def test_an_error_of_a_bound_function_names_its_arguments(compile_text) -> None:
    array = np.zeros(8, np.float32)
    bound = compile_text(DIVIDE)["main"].bind(array, -1)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"^main: .*n is positive.* \(called with .*float32.*, .*-1\)$"):
            bound()
    assert array[0] == 0


def test_bound_functions_own_their_code_and_arrays(compile_text) -> None:
    array = np.zeros(8, np.float32)
    alive = weakref.ref(array)
    bound = compile_text(DIVIDE)["main"].bind(array, 3)
    del array
    gc.collect()
    bound()
    kept = alive()
    assert kept is not None
    assert kept[0] == 3
    del bound, kept
    gc.collect()
    assert alive() is None


def test_only_long_bound_functions_release_the_lock(compile_text) -> None:
    loop = """func.func @{name}(%A: memref<8xf32>, %n: index) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      scf.for %i = %zero to {last} step %one {{
        %x = memref.load %A[%zero] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %A[%zero] : memref<8xf32>
      }}
      func.return
    }}"""
    lib = compile_text(loop.format(name="long", last="%n") + loop.format(name="short", last="%one"))
    assert [lib[name].signature.short for name in ("long", "short")] == [False, True]
    for name in ("long", "short"):
        array = np.ones(8, np.float32)
        bound = lib[name].bind(array, 1)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _, call=bound: call(), range(5)))
        assert array[0] == 32


def test_bound_functions_with_results_return_them(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: i64) -> i64 {
      %twice = arith.addi %n, %n : i64
      func.return %twice : i64
    }""")
    assert lib["main"].bind(21)() == 42


def test_bound_functions_run_through_python_where_objects_are_unknown(
    compile_text, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_call, "is_supported", lambda: False)
    array = np.zeros(8, np.float32)
    main = compile_text(DIVIDE)["main"]
    main.bind(array, 3)()
    assert array[0] == 3
    with pytest.raises(ExecutionError, match="n is positive"):
        main.bind(array, -1)()


def test_copies_of_a_function_and_of_a_program_are_the_same_object(compile_text) -> None:
    lib = compile_text(ADD)
    for each in (lib, lib["add"]):
        assert copy.copy(each) is copy.deepcopy(each) is each
        with pytest.raises(TypeError, match=f"cannot pickle '{type(each).__name__}' object, .*: export the program"):
            pickle.dumps(each)


def test_arguments_reach_native_code_without_a_tuple(compile_text) -> None:
    """Python's vectorcall protocol, which a type has by a flag; a subclass that defines calls has it not."""

    class Traced(CompiledFunction):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return len(arguments)

    has_vectorcall = 1 << 11
    assert CompiledFunction.__flags__ & Program.__flags__ & has_vectorcall
    assert not Traced.__flags__ & has_vectorcall
    function = Traced.__new__(Traced)
    function.forward_to(print)
    assert function(1, 2) == 2
    with pytest.raises(TypeError, match="before it is initialized"):
        CompiledFunction.__new__(CompiledFunction)()
    lib = compile_text(ADD)
    a, b, c = arrays(3)
    for each in (lib, lib["add"]):
        each(a, b, c)
        with pytest.raises(ArgumentError, match="by name"):
            each(a, b, C=c)
        each.forward_to(lambda *found: found)
        assert each(1, 2, 3) == (1, 2, 3)


def test_calls_are_those_of_a_builtin_function_where_objects_have_another_layout(compile_text, monkeypatch) -> None:
    monkeypatch.setattr(forwarding, "_vectorcall_offset", lambda: None)
    a, b, c = arrays(3)
    compile_text(ADD)(a, b, c)
    assert np.array_equal(c, a + b)
