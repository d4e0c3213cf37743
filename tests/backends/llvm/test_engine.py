"""Native code: lifetimes, threads, texts, targets."""

import gc
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import ffi

from stepwell.backends.graph import build_graph
from stepwell.backends.llvm.engine import InvalidCodeError, NativeModule, ObjectCode, Processor
from stepwell.backends.runtime import register_func
from stepwell.core.errors import ArgumentError, LinkError
from stepwell.frontends.mlir import parse_mlir
from stepwell.tools.testing.comparison import assert_near
from stepwell.tools.testing.execution import interpret_graph, run_graph

pytestmark = pytest.mark.usefixtures("compiles_anew")

ADD = """func.func @main(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i] : memref<?xf32>
  }
  func.return
}"""


def test_a_function_outlives_its_library(compile_text) -> None:
    main = compile_text(ADD)["main"]
    gc.collect()
    others = [compile_text(ADD) for _ in range(3)]
    del others
    gc.collect()
    a, b = np.ones(4, np.float32), np.zeros(4, np.float32)
    main(a, b)
    np.testing.assert_array_equal(b, [2] * 4)


def test_libraries_are_compiled_and_called_in_threads(compile_text) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            lib = compile_text(ADD)
            for _ in range(20):
                a, b = np.full(100, seed, np.float32), np.zeros(100, np.float32)
                lib(a, b)
                np.testing.assert_array_equal(b, 2 * a)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_python_runs_while_native_code_does(compile_text) -> None:
    """Native code waits for a value stored by another Python thread, which requires that it releases the lock."""
    lib = compile_text("""
    func.func private @sched_yield() -> i32
    func.func @main(%flag: memref<1xi32>) -> i32 {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %r = scf.while (%x = %zero) : (i32) -> i32 {
        %y = func.call @sched_yield() : () -> i32
        %v = memref.load %flag[%c0] : memref<1xi32>
        %again = arith.cmpi eq, %v, %zero : i32
        scf.condition(%again) %v : i32
      } do {
      ^bb0(%x: i32):
        scf.yield %x : i32
      }
      func.return %r : i32
    }""")
    flag = np.zeros(1, np.int32)
    timer = threading.Timer(0.05, lambda: flag.__setitem__(0, 7))
    timer.start()
    assert lib(flag) == 7
    timer.join()


def test_exceptions_stay_in_their_thread(compile_text) -> None:
    barrier = threading.Barrier(2)

    def packed(x):
        barrier.wait(10)
        raise ValueError(str(x))

    register_func("test.engine.raises", packed)
    lib = compile_text("""
    func.func private @p(i32) attributes {stepwell.packed = "test.engine.raises"}
    func.func @main(%x: i32) {
      func.call @p(%x) : (i32) -> ()
      func.return
    }""")
    seen: dict[int, str] = {}

    def call(x: int) -> None:
        try:
            lib(x)
        except Exception as error:
            seen[x] = str(error.__cause__)

    threads = [threading.Thread(target=call, args=(x,)) for x in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {1: "1", 2: "2"}


def test_texts_of_the_program(compile_text) -> None:
    lib = compile_text(ADD)
    assert "define internal i32 @fn.main" in lib.source("llvm")
    assert "define" in lib.source("llvm-optimized")
    assert "entry.main" in lib.source("asm")
    with pytest.raises(ArgumentError, match=r"no source called 'ams'.*did you mean 'asm'"):
        lib.source("ams")


def test_code_is_made_for_the_target(compile_text, plain_target) -> None:
    assert "ymm" not in compile_text(ADD, target=plain_target).source("asm")
    assert "f16c" not in plain_target.instructions
    assert Processor("x86-64", "+avx,+fma,+f16c,-fma").instructions == {"avx", "f16c"}


def test_text_that_llvm_refuses_is_a_defect_of_ours() -> None:
    with pytest.raises(InvalidCodeError, match="defect of stepwell"):
        ObjectCode.of(["define void @f() { ret i32 0 }"], Processor.host())


def test_a_pass_manager_is_freed_once_after_each_optimization(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ModulePassManager.close` frees nothing in llvmlite 0.50, and each build would keep 60 KB."""
    freed: list[Any] = []
    dispose = ffi.lib.LLVMPY_DisposeNewModulePassManger
    monkeypatch.setitem(
        ffi.lib._fntab, "LLVMPY_DisposeNewModulePassManger", lambda manager: (freed.append(manager), dispose(manager))
    )
    ObjectCode.of(["define void @f() { ret void }"], Processor.host())
    gc.collect()
    assert len(freed) == 1
    assert freed[0].closed


def test_what_does_not_link_is_an_error_of_ours() -> None:
    text = "declare void @nobody()\ndefine void @f() { call void @nobody()\n ret void }"
    with pytest.raises(LinkError, match="does not link"):
        NativeModule(ObjectCode.of([text], Processor.host()).images, ["f"], [], {})


def test_long_blocks_are_compiled_with_less_effort(compile_text) -> None:
    from stepwell.backends.llvm.engine import _effort

    assert _effort(compile_text(ADD).source("llvm-optimized"), Processor.host()) == 3
    assert _effort("define void @f() {\n" + "  store i8 0, ptr %p\n" * 4001, Processor.host()) == 1


CONVOLUTION = """
relay.func @main("x" %x: tensor<2x4x1x3xi64>, "w" %w: tensor<2x4x1x2xi64>) {
  %0 = relay.nn.conv2d(%x, %w) {padding = 1} : (tensor<2x4x1x3xi64>, tensor<2x4x1x2xi64>) -> tensor<2x2x3x4xi64>
  %1 = relay.nn.relu(%0) : (tensor<2x2x3x4xi64>) -> tensor<2x2x3x4xi64>
  relay.return %1 : tensor<2x2x3x4xi64>
}
"""


def test_code_that_the_slp_vectorizer_of_llvm_breaks_is_compiled_without_it() -> None:
    module = parse_mlir(CONVOLUTION)
    inputs = [np.arange(24).reshape(2, 4, 1, 3) - 9, np.arange(16).reshape(2, 4, 1, 2) - 7]
    assert_near(run_graph(build_graph(module, opt_level=2), inputs), interpret_graph(module, inputs), 0)


def test_a_thread_compiles_after_the_end_of_the_main_thread() -> None:
    program = """
import threading

from stepwell.backends.llvm.engine import ObjectCode, Processor

def work():
    threading.main_thread().join()
    units = [f"define void @{name}() {{ ret void }}" for name in "ab"]
    print(len(ObjectCode.of(units, Processor.host()).images))

threading.Thread(target=work).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("2\n", "")
