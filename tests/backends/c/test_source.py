"""Programs as C: `backends.c`, compiled by the C compiler of the machine."""

import ctypes
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import stepwell.frontends.tvm as tvm
from stepwell import Module, OptionError, UnsupportedError, parse_tvmscript
from stepwell.backends.c import EmittedC, c_source
from stepwell.backends.cuda.emitter import KernelParameter
from stepwell.core.dtypes import dtype_of, numpy_dtype
from stepwell.frontends.tvm import relay, te
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.strategies import UNSHRUNK, programs
from stepwell.transforms.pipelines import lower_graph

OPTIONS = settings(
    UNSHRUNK, suppress_health_check=(*UNSHRUNK.suppress_health_check, HealthCheck.function_scoped_fixture)
)
FLAGS = (
    "-O1", "-std=c11", "-pedantic-errors", "-shared", "-fPIC", "-ffp-contract=off", "-Wall", "-Werror",
    "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-tautological-compare",
    "-Wno-maybe-uninitialized", "-Wno-misleading-indentation",
)  # fmt: skip
_TYPES = {
    "bool": ctypes.c_bool, "unsigned char": ctypes.c_ubyte, "signed char": ctypes.c_byte, "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort, "int": ctypes.c_int, "long long": ctypes.c_longlong, "float": ctypes.c_float,
    "double": ctypes.c_double, "void": None,
}  # fmt: skip

Compile = Callable[[Module], "Library"]


@pytest.fixture(scope="module")
def compile_c(tmp_path_factory) -> Compile:
    """Compiles a module with the C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no cc to compile with")
    folder = tmp_path_factory.mktemp("c")

    def compile_text(module: Module) -> Library:
        emitted = c_source(module)
        stem = folder / f"m{len(list(folder.glob('*.so')))}"
        stem.with_suffix(".c").write_text(emitted.source)
        command = ["cc", *FLAGS, str(stem.with_suffix(".c")), "-o", str(stem.with_suffix(".so")), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000] + emitted.source[:4000]
        return Library(emitted, stem.with_suffix(".so"))

    return compile_text


class Library:
    """The functions of a program, compiled by the C compiler: by name, callable with arrays and numbers."""

    def __init__(self, emitted: EmittedC, path: Path):
        self.source = emitted.source
        self._functions = {each.name: each for each in emitted.functions}
        self._library = ctypes.CDLL(str(path))

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]
        symbol = self._library[function.symbol]
        symbol.restype = _TYPES[function.result]
        return lambda *values: symbol(*(_passed(each, values[each.argument]) for each in function.parameters))


def _passed(parameter: KernelParameter, value: Any) -> Any:
    match parameter.role:
        case "pointer":
            return ctypes.c_void_p(value.ctypes.data)
        case "size":
            return ctypes.c_longlong(value.shape[parameter.axis])
        case "stride":
            return ctypes.c_longlong(value.strides[parameter.axis] // value.itemsize)
        case "offset":
            return ctypes.c_longlong(0)
        case _:
            bits = value if isinstance(value, np.generic) else np.array(value, numpy_dtype(parameter.dtype))
            return _TYPES[parameter.ctype].from_buffer_copy(bits.tobytes())


@OPTIONS
@given(program=programs(Features()))
def test_c_computes_exactly_what_the_oracle_computes(
    compile_c: Compile, program: tuple[Module, dict[str, Any]]
) -> None:
    module, arguments = program
    expected = oracle_results(module, arguments)
    got = results(compile_c(module)["main"], arguments)
    result = module.function_ops["main"].result_type
    if result is not None and dtype_of(result).name not in ("float32", "float64"):  # its bits in C
        dtype = numpy_dtype(dtype_of(result))
        number = np.int64(got["the result"]).astype(f"u{dtype.itemsize}").view(dtype)
        got["the result"] = float(number) if dtype_of(result).is_float else int(number)
    assert_same(got, expected)


def test_a_program_of_sizes_functions_and_memory_is_readable(compile_c: Compile) -> None:
    module = parse_tvmscript("""
@T.prim_func
def scale(a: T.handle, b: T.handle, factor: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    C = T.alloc_buffer((n, 4))
    for i, j in T.grid(n, 4):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.exp(A[vi, vj])
    for i in T.parallel(n):
        for j in T.vectorized(4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] * factor
""")
    library = compile_c(module)
    text = library.source
    assert "void scale(const float* A, long long A_size0, float* B, long long B_size0, float factor) {" in text
    assert "float* C = malloc(" in text
    assert "if (C == NULL) {\n    abort();" in text
    assert "free(C);" in text
    assert "for (int j = 0; j < 4; ++j) {" in text
    a, b = np.linspace(-2, 2, 20, dtype=np.float32).reshape(5, 4), np.zeros((5, 4), np.float32)
    library["scale"](a, b, 2.0)
    np.testing.assert_allclose(b, 2 * np.exp(a), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_atomic_updates_are_loads_and_stores(compile_c: Compile, dtype: str) -> None:
    module = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), H: T.Buffer((8,), "{dtype}"), M: T.Buffer((2,), "{dtype}")):
    for i in T.parallel(64):
        one, number = T.Cast("{dtype}", 1), T.Cast("{dtype}", A[i])
        T.evaluate(T.call_extern("{dtype}", "atomicAdd", T.address_of(H[A[i] % 8]), one))
        T.evaluate(T.call_extern("{dtype}", "atomicMin", T.address_of(M[0]), number))
        T.evaluate(T.call_extern("{dtype}", "atomicMax", T.address_of(M[1]), number))
""")
    numbers = np.random.default_rng(0).integers(0, 200, 64).astype(np.int32)
    arguments = {"A": numbers, "H": np.zeros(8, numpy_dtype(dtype)), "M": np.full(2, 7, numpy_dtype(dtype))}
    got = results(compile_c(module)["main"], arguments)
    np.testing.assert_array_equal(got["H"].astype(int), np.bincount(numbers % 8, minlength=8))
    assert got["M"].astype(int).tolist() == [min(numbers.min(), 7), max(numbers.max(), 7)]


def test_a_failed_check_of_sizes_ends_the_program(compile_c: Compile, tmp_path: Path) -> None:
    module = parse_tvmscript("""
@T.prim_func
def copy(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        B[i] = A[i]
""")
    main = "int main(void) {\n  float a[2] = {1, 2}, b[3];\n  copy(a, 2, b, 3);\n  return 0;\n}\n"
    (tmp_path / "copy.c").write_text(c_source(module).source + main)
    subprocess.run(["cc", "-std=c11", str(tmp_path / "copy.c"), "-o", str(tmp_path / "copy"), "-lm"], check=True)
    done = subprocess.run([tmp_path / "copy"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGABRT
    assert "B: shape[0]" in done.stderr


def test_functions_of_others_are_declared(compile_c: Compile) -> None:
    module = parse_tvmscript("""
@T.prim_func
def roots(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.call_extern("float32", "sqrtf", A[i])
""")
    library = compile_c(module)
    assert "float sqrtf(float);" in library.source
    a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    library["roots"](a, b)
    np.testing.assert_array_equal(b, np.sqrt(a))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('T.evaluate(T.call_packed("f", A[0]))', "f is a function of Python, which the target c cannot call"),
        ('T.evaluate(T.call_extern("int32", "a b", A[0]))', "the function 'a b': expected an identifier of C"),
    ],
)
def test_calls_that_c_lacks_are_refused(statement: str, message: str) -> None:
    module = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    {statement}
""")
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        c_source(module)


def test_tvm_builds_for_c(tmp_path: Path) -> None:
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="b")
    module = tvm.build(te.create_schedule(b.op), [a, b], target="c", name="add_one")
    assert "void add_one(const float* " in module.get_source()
    module.save(tmp_path / "add_one.c")
    assert (tmp_path / "add_one.c").read_text() == module.get_source()
    x, y = tvm.nd.array(np.ones(64, np.float32)), tvm.nd.array(np.zeros(64, np.float32))
    module["add_one"](x, y)
    np.testing.assert_array_equal(y.numpy(), 2)
    with pytest.raises(OptionError, match="source format 'll', expected c"):
        module.get_source("ll")


def test_a_graph_is_a_function_that_calls_its_kernels(compile_c: Compile, tmp_path: Path) -> None:
    x = relay.var("x", shape=(2, 8))
    weight = np.random.default_rng(0).random((4, 8), np.float32)
    graph = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, relay.const(weight))))
    built = relay.build(tvm.IRModule.from_expr(relay.Function([x], graph)), target="c")
    built.lib.save(tmp_path / "graph.c")
    assert "fused_nn_dense_nn_relu(" in (tmp_path / "graph.c").read_text()
    library = compile_c(lower_graph(tvm.IRModule.from_expr(relay.Function([x], graph))))
    values, output = np.ones((2, 8), np.float32), np.zeros((2, 4), np.float32)
    library["main"](values, weight, output, np.zeros(4096, np.int8))
    scores = np.exp(np.maximum(values @ weight.T, 0))
    np.testing.assert_allclose(output, scores / scores.sum(1, keepdims=True), rtol=1e-5)
