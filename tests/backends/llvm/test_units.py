"""The division of a module into units that are compiled apart."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import stepwell
from stepwell.backends.llvm import units
from stepwell.backends.llvm.units import Definition, ModuleText
from stepwell.backends.runtime import Program
from stepwell.core.errors import ExecutionError, LoadError

CALLS = """
func.func private @scaled(%x: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %holds = arith.cmpi sgt, %n, %c0 : i32
  cf.assert %holds, "n must be positive"
  %y = arith.addf %x, %x : f32
  func.return %y : f32
}
func.func @main(%A: memref<4xf32>, %n: i32) {
  %c1 = arith.constant 1 : index
  %x = memref.load %A[%c1] : memref<4xf32>
  %y = func.call @scaled(%x, %n) : (f32, i32) -> f32
  memref.store %y, %A[%c1] : memref<4xf32>
  func.return
}
"memref.global"() <{sym_name = "table", sym_visibility = "private", constant, type = memref<4xi8>,
  initial_value = dense<[1, 2, 3, 4]> : tensor<4xi8>}> : () -> ()
func.func @look(%i: i32) -> i8 {
  %k = arith.index_cast %i : i32 to index
  %t = memref.get_global @table : memref<4xi8>
  %x = memref.load %t[%k] : memref<4xi8>
  func.return %x : i8
}
"""


@pytest.fixture
def one_function_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_LINES", 1)


def test_a_small_module_is_one_unit(compile_text) -> None:
    assert compile_text(CALLS).source("llvm-optimized").count("ModuleID") == 1


@pytest.mark.usefixtures("one_function_each")
def test_units_call_and_read_symbols_of_each_other(compile_text) -> None:
    lib = compile_text(CALLS)
    assert lib.source("llvm-optimized").count("ModuleID") == 3
    a = np.arange(4, dtype="float32")
    lib["main"](a, 1)
    assert a.tolist() == [0, 2, 2, 3]
    assert [lib["look"](i) for i in range(4)] == [1, 2, 3, 4]
    with pytest.raises(ExecutionError, match="n must be positive"):
        lib["main"](a, 0)


@pytest.mark.usefixtures("one_function_each")
def test_saved_units_are_all_read(compile_text, tmp_path: Path) -> None:
    compile_text(CALLS).export(tmp_path / "lib")
    assert sorted(each.name for each in (tmp_path / "lib").glob("*.o")) == ["code.o", "code1.o", "code2.o"]
    a = np.arange(4, dtype="float32")
    Program.load(tmp_path / "lib")["main"](a, 1)
    assert a.tolist() == [0, 2, 2, 3]
    (tmp_path / "lib" / "code2.o").unlink()
    with pytest.raises(LoadError, match=r"code2\.o is missing"):
        Program.load(tmp_path / "lib")


WORKSPACES = """
@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "float32")):
        C = T.alloc_buffer((64, 512), "float32")
        for i, j in T.grid(64, 512):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(64, 512):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[63 - vi, vj]

    @T.prim_func
    def second(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "bfloat16")):
        C = T.alloc_buffer((64, 512), "bfloat16")
        for i, j in T.grid(64, 512):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.Cast("bfloat16", A[vi, vj])
        for i, j in T.grid(64, 512):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, 511 - vj]
"""


@pytest.mark.usefixtures("one_function_each")
def test_units_share_the_workspace_and_copy_conversions() -> None:
    lib = stepwell.build(stepwell.parse_tvmscript(WORKSPACES))
    assert lib.source("llvm-optimized").count("@stepwell.workspace = hidden") == 1
    a = np.random.default_rng(0).random((64, 512), "float32")
    b, rounded = np.zeros_like(a), np.zeros(a.shape, ml_dtypes.bfloat16)
    lib["first"](a, b)
    lib["second"](a, rounded)
    np.testing.assert_array_equal(b, a[::-1] + np.float32(1))
    np.testing.assert_array_equal(rounded, a[:, ::-1].astype(ml_dtypes.bfloat16))


def test_helpers_and_declarations_follow_their_uses() -> None:
    functions = [
        Definition.of_function("@fn.internal", "define internal i32 @fn.internal() {\n  call void @help()\n}"),
        Definition.of_function('@"fn.a b"', 'define internal i32 @"fn.a b"() {\n  call i32 @fn.internal()\n}'),
    ]
    variable = Definition.of_variable("@kept", "global", "ptr", "null")
    helpers = {"@help": "define internal void @help() {\n  load ptr, ptr @kept\n}", "@other": "unused"}
    text = ModuleText(["declare void @free(ptr)"], helpers, [variable], functions, ["exports"], "footer")
    assert text.units() == [text.whole()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "UNIT_LINES", 1)
        first, second = text.units()
    assert re.findall("^(?:define|declare|@kept).*|exports", first, re.MULTILINE) == [
        "declare void @free(ptr)",
        "define internal void @help() {",
        "@kept = hidden global ptr null",
        "define hidden i32 @fn.internal() {",
        "exports",
    ]
    assert re.findall("^(?:define|declare|@kept).*|exports", second, re.MULTILINE) == [
        "declare void @free(ptr)",
        "declare hidden i32 @fn.internal()",
        'define hidden i32 @"fn.a b"() {',
    ]
