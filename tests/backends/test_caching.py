"""Compiled programs and graphs in the cache: compiled once, and never taken for another."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from xdsl.printer import Printer

import stepwell
from stepwell.backends import caching
from stepwell.backends.build import build
from stepwell.backends.cuda import nvrtc
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.cuda.program import DeviceProgram
from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.llvm import compile as llvm_compile
from stepwell.core.cache import VARIABLE, Cache, CacheEntry
from stepwell.core.errors import VerifyError
from stepwell.dialects.tir import StoreOp
from stepwell.module import Module
from stepwell.operators import OPERATORS
from stepwell.operators.definition import Operator
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.corpus import CorpusProgram, script_programs
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.strategies import programs

TEXT = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * T.float32(2)
"""
NET = """
relay.func @main("x" %x: tensor<2xf32>) {
  %w = relay.constant "w" : tensor<2xf32>
  %0 = relay.add(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.exp(%0) : (tensor<2xf32>) -> tensor<2xf32>
  relay.return %1 : tensor<2xf32>
}
"""


KERNEL = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        B[i] = A[i] * T.float32(2)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """The cache of the test."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return Cache(tmp_path / "cache")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with each module that is compiled to native code."""
    modules: list[Any] = []
    compile_native = llvm_compile.compile_native

    def record(module: Any, **options: Any) -> Any:
        modules.append(module)
        return compile_native(module, **options)

    monkeypatch.setattr(llvm_compile, "compile_native", record)
    return modules


@pytest.fixture
def compiled_cuda(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows with each text that is compiled for a GPU, by a compiler without one."""
    texts: list[str] = []

    def compile_text(source: str, architecture: str) -> nvrtc.CompiledCuda:
        texts.append(source)
        usage = {"main_kernel": nvrtc.KernelUsage(len(texts), 0, 0, 0, 0)}
        return nvrtc.CompiledCuda(architecture, b"image", f"// ptx for {architecture}", "", usage)

    compiler = nvrtc._Compiler("1", compile_text)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(nvrtc, "_compiler", lambda: compiler)
    return texts


def kept(cache: Cache) -> list[CacheEntry]:
    """The compiled programs and graphs of the cache, without the tables of the parser and the code of the runtime."""
    return [entry for entry in cache.entries() if entry.kind in ("program", "graph")]


def doubled(program: Any) -> list[float]:
    result = np.zeros(4, "float32")
    program(np.arange(4, dtype="float32"), result)
    return result.tolist()


def net(weights: tuple[float, float] = (1, 2)) -> Module:
    module = stepwell.parse_mlir(NET)
    module.constants["w"] = np.array(weights, "float32")
    return module


def outputs(executable: Executable) -> list[float]:
    executor = GraphExecutor(executable)
    executor.run(x=np.zeros(2, "float32"))
    return executor.get_output(0).copy().tolist()


def test_a_program_is_compiled_once(cache: Cache, compiled: list[Any]) -> None:
    first, second = (build(stepwell.parse_tvmscript(TEXT)) for _ in range(2))
    assert doubled(first) == doubled(second) == [0, 2, 4, 6]
    assert len(compiled) == 1
    assert [entry.kind for entry in kept(cache)] == ["program"]


def test_a_program_of_the_cache_has_the_texts_of_the_compiled_one(cache: Cache, compiled: list[Any]) -> None:
    module = stepwell.parse_tvmscript(TEXT)
    first, second = build(module), build(module)
    module.functions["main"].detach()  # the program was compiled from the module as it was
    for kind in ("llvm", "llvm-optimized", "asm"):
        assert second.source(kind) == first.source(kind)
    assert len(compiled) == 2, "compiled once more for all texts"


def test_a_program_for_a_gpu_is_compiled_once(cache: Cache, compiled_cuda: list[str]) -> None:
    first, second = (build(stepwell.parse_tvmscript(KERNEL), "cuda -arch=sm_90") for _ in range(2))
    assert len(compiled_cuda) == 1
    assert [entry.kind for entry in kept(cache)] == ["program"]
    assert isinstance(first, DeviceProgram)
    assert isinstance(second, DeviceProgram)
    assert second.usage == first.usage
    assert second.source("cuda") == first.source("cuda")
    assert len(compiled_cuda) == 1
    for kind in ("ptx", "llvm", "llvm-optimized", "asm"):
        assert second.source(kind) == first.source(kind)
    assert len(compiled_cuda) == 2, "compiled once more for all other texts"


def test_a_graph_for_a_gpu_is_compiled_once(cache: Cache, compiled_cuda: list[str]) -> None:
    for _ in range(2):
        executable = build_graph(net(), target="cuda -arch=sm_90")
        assert "ptx for sm_90" in executable.program.source("ptx")
    assert len(compiled_cuda) == 2, "once more for the text"
    assert [entry.kind for entry in kept(cache)] == ["graph"]


def test_another_architecture_or_compiler_of_gpus_is_another_entry(
    cache: Cache, compiled_cuda: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = stepwell.parse_tvmscript(KERNEL)
    build(module, "cuda -arch=sm_80")
    build(module, "cuda -arch=sm_90")
    compiler = nvrtc._compiler()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(nvrtc, "_compiler", lambda: replace(compiler, version="2"))
    build(module, "cuda -arch=sm_90")
    assert len(kept(cache)) == len(compiled_cuda) == 3


@pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")
def test_programs_for_an_emulated_gpu_are_kept_with_and_without_checks(cache: Cache) -> None:
    for target in ("cuda-emulated", "cuda-emulated -checks=0") * 2:
        program = build(stepwell.parse_tvmscript(KERNEL), target)
        assert isinstance(program, DeviceProgram)
        assert [code.checks for code in program.launcher.code] == [target == "cuda-emulated"]
        a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
        program(a, b)
        np.testing.assert_array_equal(b, a * 2)
    assert len(kept(cache)) == 2


def test_another_place_in_the_source_is_another_program(cache: Cache) -> None:
    for lines in ("", "\n\n"):  # messages of failed assertions contain places
        build(stepwell.parse_tvmscript(lines + TEXT))
    assert len(kept(cache)) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda: build(stepwell.parse_tvmscript(TEXT.replace("(2)", "(3)"))),
        lambda: build(stepwell.parse_tvmscript(TEXT), "llvm -fast-math-contract=1"),
        lambda: build(stepwell.parse_tvmscript(TEXT), "llvm -mcpu=x86-64"),
        lambda: build(stepwell.parse_tvmscript(TEXT), sanitize=True),
    ],
)
def test_another_program_or_target_is_another_entry(change: Callable[[], Any], cache: Cache) -> None:
    build(stepwell.parse_tvmscript(TEXT))
    change()
    assert len(kept(cache)) == 2


def test_a_changed_compiler_compiles_again(cache: Cache, compiled: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    build(stepwell.parse_tvmscript(TEXT))
    monkeypatch.setattr(caching, "_compiler", lambda: "another")
    build(stepwell.parse_tvmscript(TEXT))
    assert len(compiled) == 2


def test_the_version_of_the_compiler_changes_with_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version: Any = caching._compiler.__wrapped__  # pyright: ignore[reportPrivateUsage]
    (tmp_path / "backends").mkdir()
    monkeypatch.setattr(caching, "__file__", str(tmp_path / "backends" / "caching.py"))
    versions = [version()]
    (tmp_path / "core" / "inner").mkdir(parents=True)
    for name in ("core/inner/a.py", "module.py", "backends/b.h"):
        (tmp_path / name).write_text("text")
        versions.append(version())
    (tmp_path / "module.py").write_text("other text")
    versions.append(version())
    (tmp_path / "core" / "compiled.pyc").write_text("text")
    assert len({*versions}) == 5
    assert version() == versions[-1]


@pytest.mark.parametrize("program", script_programs(), ids=lambda program: program.name)
def test_the_text_of_a_key_is_that_of_the_module(program: CorpusProgram) -> None:
    module = stepwell.parse_tvmscript(program.text)
    text = caching._text(module)
    assert caching._text(caching._parse(text, module)) == text
    expected = StringIO()
    Printer(expected, print_generic_format=True, print_debuginfo=True).print_op(module.op)
    assert [line.strip() for line in text.splitlines()] == [line.strip() for line in expected.getvalue().splitlines()]


def test_equal_attributes_with_other_texts_are_other_programs(cache: Cache, compiled: list[Any]) -> None:
    for zero in ("0.0", "-0.0", "0.0"):
        text = TEXT.replace("A[i] * T.float32(2)", f"T.max(A[i], T.float32(0.0)) * T.float32({zero})")
        build(stepwell.parse_tvmscript(text))
    assert len(compiled) == 2


def test_a_module_that_breaks_its_constraints_is_rejected_each_time(cache: Cache, compiled: list[Any]) -> None:
    module = stepwell.parse_tvmscript(TEXT)
    build(module)
    (store,) = (op for op in module.op.walk() if isinstance(op, StoreOp))
    store.operands = store.operands[:2]  # without an index
    for _ in range(2):
        with pytest.raises(VerifyError):
            build(module)
    assert len(compiled) == 1
    assert len(kept(cache)) == 1


def test_a_broken_entry_is_compiled_again(cache: Cache, compiled: list[Any]) -> None:
    build(stepwell.parse_tvmscript(TEXT))
    (entry,) = kept(cache)
    content = entry.path.read_bytes()
    entry.path.write_bytes(content[:-2000].replace(b"main", b"niam"))
    with pytest.warns(RuntimeWarning, match="cache: a program is compiled again: "):
        assert doubled(build(stepwell.parse_tvmscript(TEXT))) == [0, 2, 4, 6]
    assert doubled(build(stepwell.parse_tvmscript(TEXT))) == [0, 2, 4, 6]
    assert len(compiled) == 2


def test_observed_passes_run(cache: Cache, compiled: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    remarks: list[Any] = []
    for _ in range(2):
        build(stepwell.parse_tvmscript(TEXT.replace("range", "T.vectorized")), remarks=remarks.append)
    assert len([each for each in remarks if each.pass_name == "tir-vectorize-loops"]) == 2
    monkeypatch.setenv("STEPWELL_VERIFY", "1")
    build(stepwell.parse_tvmscript(TEXT))
    build_graph(net(), after=lambda name, left: None)
    assert len(compiled) == 4
    assert kept(cache) == []


def test_a_graph_is_compiled_once(cache: Cache, compiled: list[Any]) -> None:
    first, second = build_graph(net()), build_graph(net())
    assert outputs(first) == outputs(second) == pytest.approx(np.exp([1, 2]), rel=1e-6)
    assert str(first.graph) == str(second.graph)
    assert first.program.source("llvm") == second.program.source("llvm")
    assert [entry.kind for entry in kept(cache)] == ["graph"]


def test_another_constant_or_option_is_another_graph(cache: Cache, compiled: list[Any]) -> None:
    assert outputs(build_graph(net())) != outputs(build_graph(net((1, 3))))
    build_graph(net(), opt_level=0)
    build_graph(net(), sanitize=True)
    assert len(compiled) == len(kept(cache)) == 4


def test_graphs_with_operators_of_other_packages_are_not_kept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    exp = OPERATORS["exp"]
    formula = lambda x: exp.formula(x)  # noqa: E731
    other = Operator("exp", exp.pattern, formula, exp.reference, exp.operands, exp.variadic, exp.attributes)
    monkeypatch.setitem(OPERATORS, "exp", other)
    build_graph(net())
    assert kept(cache) == []


def test_graphs_with_large_constants_are_not_kept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "user_cache", lambda: Cache(cache.folder, limit=15))
    build_graph(net())
    assert kept(cache) == []


def test_a_program_of_an_earlier_process_needs_no_passes_and_imports_no_operators_of_graphs(cache: Cache) -> None:
    program = (
        "import sys, stepwell\n"
        f"stepwell.build(stepwell.parse_tvmscript({TEXT!r}))\n"
        "print('stepwell.transforms.tir.simplify' in sys.modules)\n"
        "print(*(name for name in sys.modules if 'stepwell.operators' in name or 'tvmscript.relax' in name))\n"
    )
    first, second = (subprocess.run([sys.executable, "-c", program], capture_output=True, text=True) for _ in range(2))
    assert first.stdout.startswith("True\n")
    assert second.stdout == "False\n\n"
    assert [entry.kind for entry in kept(cache)] == ["program"]


@given(program=programs(Features()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_programs_of_the_cache_compute_exactly_what_the_oracle_computes(
    cache: Cache, program: tuple[Module, dict[str, Any]]
) -> None:
    module, arguments = program
    build(module)
    assert_same(results(build(module)["main"], arguments), oracle_results(module, arguments))
