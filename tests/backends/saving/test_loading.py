"""Saving and loading of compiled programs."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell import LinkError, UnsupportedError
from stepwell.backends.cuda.build import build_emulated
from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.runtime import Program
from stepwell.core.target import Target
from stepwell.transforms.pipelines import lower

ADD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] + 1.0
"""


def test_a_program_computes_the_same_after_it_was_exported(path: Path) -> None:
    program = stepwell.build(stepwell.parse_tvmscript(ADD))
    program.export(path)
    loaded = Program.load(path)
    out = np.zeros(8, "float32")
    loaded(np.arange(8, dtype="float32"), out)
    assert out.tolist() == [i + 1 for i in range(8)]
    assert loaded["main"].signature == program["main"].signature
    with pytest.raises(stepwell.ArgumentError, match=r"no source called 'asm', there is none, for it was loaded"):
        loaded.source("asm")


def test_assertions_packed_functions_and_c_functions_come_along(path: Path) -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle, x: T.float32):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    assert x > T.float32(0), "x must be positive"
    T.evaluate(T.call_packed("test.saving.double", B))
    for i in range(n):
        A[i] = T.call_extern("float32", "hypotf", B[i], x)
"""
    called: list[int] = []
    stepwell.register_func("test.saving.double", lambda b: called.append(len(b)), override=True)
    stepwell.build(stepwell.parse_tvmscript(text)).export(path)
    loaded = Program.load(path)
    a, b = np.zeros(2, "float32"), np.array([3, 6], "float32")
    loaded(a, b, 4.0)
    assert called == [2]
    assert a[0] == 5
    with pytest.raises(stepwell.StepwellError, match="x must be positive"):
        loaded(a, b, -1.0)
    with pytest.raises(stepwell.ArgumentError, match="main: "):
        loaded(a, np.zeros(3, "float32"), 1.0)


def test_c_functions_that_nobody_has_are_an_error_of_linking(path: Path) -> None:
    callback = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 7)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    text = (
        '@T.prim_func\ndef main(A: T.Buffer((1,), "int32")):\n    A[0] = T.call_extern("int32", "test_saving_seven")\n'
    )
    symbols = {"test_saving_seven": address}
    compile_module(lower(stepwell.parse_tvmscript(text)).op, symbols=symbols).export(path)
    with pytest.raises(LinkError, match="test_saving_seven"):
        Program.load(path)
    out = np.zeros(1, "int32")
    Program.load(path, symbols)(out)
    assert out[0] == 7


def test_functions_of_python_cannot_be_saved(path: Path) -> None:
    program = stepwell.build(stepwell.parse_tvmscript(ADD), target="python")
    with pytest.raises(UnsupportedError, match="expected one of native code"):
        program.export(path)


def test_c_functions_are_given_to_programs_for_devices_too(path: Path) -> None:
    callback = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: called.append(7) or 0)
    called: list[int] = []
    symbols = {"test_saving_seven": ctypes.cast(callback, ctypes.c_void_p).value or 0}
    text = """
@T.prim_func
def main(A: T.Buffer((1,), "int32")):
    T.func_attr({"tir.is_host_func": True})
    T.evaluate(T.call_extern("int32", "test_saving_seven"))
"""
    build_emulated(stepwell.parse_tvmscript(text), Target("cuda-emulated"), symbols=symbols).export(path)
    Program.load(path, symbols)(np.zeros(1, "int32"))
    assert called == [7]
