"""The virtual machine: results, sizes checked at run time, packed functions, control flow, saved programs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import (
    ArgumentError,
    ExecutionError,
    LinkError,
    LoadError,
    Module,
    OptionError,
    UnsupportedError,
    VerifyError,
    VirtualMachine,
    VMExecutable,
    build,
    build_relax,
    nd,
    parse_mlir,
    parse_tvmscript,
    register_func,
)
from stepwell.backends.interpreter import interpret
from stepwell.core.cache import user_cache
from stepwell.frontends.relay.parameters import bind_parameters

KERNELS = """
@I.ir_module
class Module:
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.float32(2)
    @T.prim_func
    def iota(b: T.handle, start: T.int64):
        n = T.int64()
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = T.Cast("float32", vi + start)
    @T.prim_func
    def both(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)
                C[vi] = A[vi] - T.float32(1)
"""


def machine(body: str, target: str = "llvm") -> VirtualMachine:
    """The machine of a module of the kernels and functions."""
    return VirtualMachine(build_relax(parse_tvmscript(KERNELS + body), target))


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, "float32")


# ---- kernels and operators

CHAIN = """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((n,), "float32"))
            b = R.add(a, y)
            c = R.call_tir(cls.both, (b,), out_sinfo=[R.Tensor((n,), "float32"), R.Tensor((n,), "float32")])
            d = R.multiply(c[0], c[1])
            R.output(d, a)
        return (d, a)
"""


def test_operators_and_kernels_are_one_native_function() -> None:
    vm = machine(CHAIN)
    d, a = vm["main"](array(1, 2, 3), nd.array(array(4, 5, 6)))
    np.testing.assert_array_equal(d.numpy(), (array(6, 9, 12) + 1) * (array(6, 9, 12) - 1))
    np.testing.assert_array_equal(a.numpy(), array(2, 4, 6))
    assert list(vm.executable.graphs) == ["main_graph"]


@pytest.mark.parametrize("size", [0, 1, 2, 7, 64])
def test_one_program_runs_for_all_sizes(size: int) -> None:
    vm = machine(CHAIN)
    x = np.arange(size, dtype="float32")
    d, _ = vm["main"](x, x)
    np.testing.assert_array_equal(d.numpy(), (3 * x + 1) * (3 * x - 1))


def test_a_size_without_a_tensor_is_a_number_of_native_code() -> None:
    vm = machine("""
    @R.function
    def main(s: R.Shape(["n"]), start: R.Prim("int64", value="m")):
        n = T.int64()
        m = T.int64()
        a = R.call_tir(cls.iota, (), out_sinfo=R.Tensor((2 * n,), "float32"), tir_vars=R.shape([m]))
        b = R.add(a, R.const(1.0, "float32"))
        return b
    """)
    np.testing.assert_array_equal(vm["main"]((2,), 10).numpy(), array(11, 12, 13, 14))


@pytest.mark.parametrize("number", [0, 3])
def test_a_number_follows_the_tensors_of_a_kernel(number: int) -> None:
    vm = machine(f"""
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.call_tir(cls.iota, (), out_sinfo=R.Tensor((4,), "float32"), tir_vars=R.shape([{number}]))
        return R.add(a, x)
    """)
    np.testing.assert_array_equal(vm["main"](array(0, 0, 0, 1)).numpy(), np.arange(4) + number + array(0, 0, 0, 1))


def test_a_kernel_with_a_tensor_of_unknown_shape_checks_it_when_it_is_called() -> None:
    vm = machine("""
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")):
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((3,), "float32"))
        return y
    """)
    np.testing.assert_array_equal(vm["main"](array(1, 2, 3)).numpy(), array(2, 4, 6))
    with pytest.raises(ArgumentError, match="double"):
        vm["main"](array(1, 2))


def test_constants_are_in_the_program() -> None:
    mod = parse_tvmscript(KERNELS + CHAIN)
    bound = bind_parameters(mod, {"y": array(1, 1, 1)})
    d, _ = VirtualMachine(build_relax(bound))["main"](array(1, 2, 3))
    np.testing.assert_array_equal(d.numpy(), array(4, 6, 8) * array(2, 4, 6))
    with pytest.raises(ArgumentError, match=r"n = 2 from argument 0|match_cast"):
        VirtualMachine(build_relax(bound))["main"](array(1, 2))
    with pytest.raises(ArgumentError, match="function main: no parameter 'z'"):
        bind_parameters(mod, {"z": array(1)})
    with pytest.raises(ArgumentError, match="function other: no function"):
        bind_parameters(mod, {"z": array(1)}, "other")
    with pytest.raises(ArgumentError, match="parameter y: tensor<1x1xf32>"):
        bind_parameters(mod, {"y": np.ones((1, 1), "float32")})


def test_a_returned_constant_is_an_array() -> None:
    mod = parse_tvmscript("@R.function\ndef main() -> R.Object:\n    return (R.const(2.0), R.shape([3]), R.str('a'))")
    number, shape, text = VirtualMachine(build_relax(mod))["main"]()
    assert (float(number.numpy()), shape, text) == (2.0, (3,), "a")


# ---- sizes at run time


def test_a_size_with_two_values_is_named() -> None:
    vm = machine(CHAIN)
    with pytest.raises(ArgumentError, match=r"^main: n = 4 from argument 0, 8 from argument 1$"):
        vm["main"](np.zeros(4, "float32"), np.zeros(8, "float32"))


SIGNATURE = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n * 2",), "float32"), s: R.Shape(["n", 4]),
         k: R.Prim("int64"), t: R.Tuple(R.Tensor((2,), "int32"), R.Prim("float32")), o: R.Object):
    n = T.int64()
    return (s, k, t, o)
"""
GOOD = (np.ones((2, 4), "float32"), np.ones(4, "float32"), (2, 4), 3, (np.ones(2, "int32"), 0.5), "any")


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, np.ones((2, 5), "float32"), "argument 0 (x): float32 of shape (2, 5), expected float32[n, 4]"),
        (0, np.ones((2, 4)), "argument 0 (x): float64 of shape (2, 4), expected float32[n, 4]"),
        (0, np.ones(4, "float32"), "argument 0 (x): float32 of shape (4,), expected float32[n, 4]"),
        (0, "text", "argument 0 (x): a value of type str, expected float32[n, 4]"),
        (0, None, "argument 0 (x): a value of type NoneType, expected float32[n, 4]"),
        (1, np.ones(5, "float32"), "argument 1 (y): size 5 of dimension 0, expected 2 * n = 4 where n = 2"),
        (2, (3, 4), "n = 2 from argument 0, 3 from argument 2"),
        (2, (2, 5), "argument 2 (s): shape (2, 5), expected shape (n, 4)"),
        (2, (2,), "argument 2 (s): shape (2,), expected shape (n, 4)"),
        (2, 7, "argument 2 (s): a value of type int, expected shape (n, 4)"),
        (3, 0.5, "argument 3 (k): a value of type float, expected int64"),
        (4, (1,), "argument 4 (t): a value of type tuple, expected a tuple of 2 values"),
        (4, (np.ones(2, "int32"), "a"), "argument 4 (t): a value of type str, expected float32"),
    ],
)
def test_arguments_are_checked(index: int, value: object, message: str) -> None:
    main = VirtualMachine(build_relax(parse_tvmscript(SIGNATURE)))["main"]
    arguments = list(GOOD)
    s, k, t, o = main(*arguments)
    assert (s, k, t[1], o) == ((2, 4), 3, 0.5, "any")
    arguments[index] = value  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(ArgumentError) as caught:
        main(*arguments)
    assert str(caught.value) == f"main: {message}"


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(ArgumentError, match=r"main: expected 2 arguments \(x, y\), got 1"):
        machine(CHAIN)["main"](array(1))
    with pytest.raises(ArgumentError, match="no function 'mian', did you mean 'main'"):
        machine(CHAIN)["mian"]


def test_limits_of_sizes_are_checked() -> None:
    mod = parse_tvmscript("""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    R.func_attr({"size_limits": ["n <= 4"]})
    n = T.int64()
    return R.exp(x)
    """)
    main = VirtualMachine(build_relax(mod))["main"]
    assert main(np.zeros(4, "float32")).shape == (4,)
    with pytest.raises(ArgumentError, match="main: size n is 5, expected at most 4"):
        main(np.zeros(5, "float32"))


def test_a_cast_determines_a_size() -> None:
    vm = machine("""
    @R.function
    def main(x: R.Object):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, "n * 2"), "float32"))
        z = R.sum(y, axis=1)
        w = R.call_tir(cls.double, (z,), out_sinfo=R.Tensor((n,), "float32"))
        return (w, R.prim_value(n + 1), R.shape_of(y))
    """)
    w, number, shape = vm["main"](np.ones((2, 4), "float32"))
    np.testing.assert_array_equal(w.numpy(), array(8, 8))
    assert (number, shape) == (3, (2, 4))
    with pytest.raises(ArgumentError, match=r"match_cast to float32\[n, 2 \* n\]: size 5 of dimension 1, expected"):
        vm["main"](np.ones((2, 5), "float32"))


# ---- packed functions


class Foreign:
    """An array of another library, by DLPack."""

    def __init__(self, data: np.ndarray[Any, Any]):
        self.data = data

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()


PACKED = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    y = R.call_dps_packed("test.add_one", (x, R.prim_value(2 * n)), out_sinfo=R.Tensor((n,), "float32"))
    z = R.call_packed("test.effect", y, R.shape([n, 4]), "text", sinfo_args=R.Tensor(ndim=1, dtype="float32"))
    w = R.call_pure_packed("test.sorted", z, sinfo_args=R.Tensor((n,), "float32"))
    return R.add(w, x)
"""


def test_packed_functions_share_memory_with_the_machine() -> None:
    seen: list[Any] = []

    def add_one(x: Any, number: int, out: Any) -> None:
        seen.append((type(x), number, x.__array_interface__["data"][0]))
        np.add(x, 1, out=out)

    def effect(y: Any, shape: tuple[int, ...], text: str) -> Any:
        seen.append((shape, text))
        return Foreign(y[::-1].copy())

    register_func("test.add_one", add_one, override=True)
    register_func("test.effect", effect, override=True)
    register_func("test.sorted", np.sort, override=True)
    x = array(3, 1, 2)
    result = VirtualMachine(build_relax(parse_tvmscript(PACKED)))["main"](Foreign(x))
    np.testing.assert_array_equal(result.numpy(), array(2, 3, 4) + x)
    assert seen == [(np.ndarray, 6, x.__array_interface__["data"][0]), ((3, 4), "text")]


def test_errors_of_packed_functions_have_their_names() -> None:
    mod = parse_tvmscript("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.call_pure_packed("test.fails", x, sinfo_args=R.Tensor((2,), "float32"))
    return y
    """)
    main = VirtualMachine(build_relax(mod))["main"]
    register_func("test.fails", lambda x: 1 / 0, override=True)
    with pytest.raises(ExecutionError, match=r"packed function 'test\.fails' failed: ZeroDivisionError"):
        main(array(1, 2))
    register_func("test.fails", lambda x: np.ones(3, "float32"), override=True)
    with pytest.raises(ArgumentError, match=r"result of packed function 'test.fails': float32 of shape \(3,\)"):
        main(array(1, 2))
    unknown = parse_tvmscript("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.call_dps_packed("test.fials", (x,), out_sinfo=R.Tensor((2,), "float32"))
    return y
    """)
    with pytest.raises(LinkError, match=r"packed function 'test\.fials' is not registered, did you mean 'test\.fails'"):
        VirtualMachine(build_relax(unknown))["main"](array(1, 2))


def test_effects_happen_in_order() -> None:
    events: list[float] = []
    register_func("test.log", lambda x: events.append(float(x.sum())), override=True)
    mod = parse_tvmscript("""
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    a = R.add(x, x)
    u = R.call_packed("test.log", a)
    if c:
        v = R.call_packed("test.log", R.add(a, x))
        y = R.add(a, a)
    else:
        y = x
    b = R.add(y, R.const(1.0))
    w = R.call_packed("test.log", b)
    return b
    """)
    main = VirtualMachine(build_relax(mod))["main"]
    main(array(1, 2), np.array(True))
    assert events == [6, 9, 14]
    events.clear()
    main(array(1, 2), np.array(False))
    assert events == [6, 5]


def test_functions_for_their_effect_return_nothing() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    u = R.call_packed("test.effect_alone", x, sinfo_args=R.Tensor((2,), "float32"))
    return RESULT
    """
    register_func("test.effect_alone", lambda x: None, override=True)
    unread, read = (parse_tvmscript(text.replace("RESULT", each)) for each in ("x", "u"))
    np.testing.assert_array_equal(VirtualMachine(build_relax(unread))["main"](array(1, 2)).numpy(), [1, 2])
    np.testing.assert_array_equal(interpret(unread, "main", [array(1, 2)]), [1, 2])
    for run in (VirtualMachine(build_relax(read))["main"], lambda x: interpret(read, "main", [x])):
        with pytest.raises(ArgumentError, match="a value of type NoneType"):
            run(array(1, 2))


# ---- functions

RECURSION = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), limit: R.Tensor((), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        more = R.less(R.sum(x), limit)
        if more:
            y = cls.main(R.add(x, R.const(1.0)), limit)
        else:
            y = cls.scale(x, x)
        return y
    @R.function(private=True)
    def scale(x: R.Tensor(("a",), "float32"), y: R.Tensor(("a",), "float32")) -> R.Tensor(("a",), "float32"):
        a = T.int64()
        return R.multiply(x, y)
"""


def test_functions_call_each_other_and_themselves() -> None:
    main = VirtualMachine(build_relax(parse_tvmscript(RECURSION)))["main"]
    np.testing.assert_array_equal(main(array(0, 1), np.array(7, "float32")).numpy(), array(9, 16))


def test_inputs_and_outputs_are_kept() -> None:
    vm = machine(CHAIN)
    with pytest.raises(ExecutionError, match="no arguments of main have been set"):
        vm.invoke_stateful("main")
    with pytest.raises(ExecutionError, match="main has not been invoked"):
        vm.get_outputs("main")
    vm.set_input("main", array(1), array(2))
    vm.invoke_stateful("main")
    assert vm.get_outputs("main")[0].numpy() == 15
    assert vm.time_evaluator("main", number=2)(array(1), array(2)).mean > 0


def test_threads_and_nested_calls_have_workspaces_of_their_own() -> None:
    mod = parse_tvmscript("""
@I.ir_module
class Module:
    @T.prim_func
    def nested(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.call_packed("test.nested", A)
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(1)
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.call_tir(cls.nested, (x,), out_sinfo=R.Tensor((64,), "float32"))
        b = R.call_tir(cls.nested, (a,), out_sinfo=R.Tensor((64,), "float32"))
        c = R.call_tir(cls.nested, (b,), out_sinfo=R.Tensor((64,), "float32"))
        return c
    """)
    vm = VirtualMachine(build_relax(mod))
    depth = threading.local()

    def nested(_: Any) -> None:
        depth.value = getattr(depth, "value", 0) + 1
        if depth.value < 3:
            np.testing.assert_array_equal(vm["main"](np.full(64, 50, "float32")).numpy(), 53)
        depth.value -= 1

    register_func("test.nested", nested, override=True)
    assert vm.executable.graphs["main_graph"].workspace > 0
    failures: list[BaseException] = []

    def call(start: float) -> None:
        try:
            for _ in range(5):
                np.testing.assert_array_equal(vm["main"](np.full(64, start, "float32")).numpy(), start + 3)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---- programs


def test_a_program_is_saved_and_loaded(tmp_path: Path) -> None:
    executable = build_relax(bind_parameters(parse_tvmscript(KERNELS + CHAIN), {"y": array(1, 1)}))
    for path in (tmp_path / "program.tar", tmp_path / "folder"):
        executable.save(path)
        loaded = VMExecutable.load(path)
        d, _ = VirtualMachine(loaded)["main"](array(1, 2))
        np.testing.assert_array_equal(d.numpy(), array(4, 6) * array(2, 4))
        assert str(loaded.module) == str(executable.module)


def test_a_broken_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    build_relax(parse_tvmscript(KERNELS + CHAIN)).save(path)
    content = path.read_bytes()
    used = len(content.rstrip(b"\0"))  # a tar ends in blocks of zeros
    for size in (0, 1, 512, *range(600, used, used // 7), used - 1):
        path.write_bytes(content[:size])
        with pytest.raises(LoadError, match=r"program\.tar"):
            VMExecutable.load(path)


def test_a_program_of_another_version_is_refused(tmp_path: Path, edit: Callable[..., None]) -> None:
    build_relax(parse_tvmscript(KERNELS + CHAIN)).save(tmp_path / "program")
    edit(tmp_path / "program", lambda said: said.update(format=said["format"] + 1))
    with pytest.raises(LoadError, match=r"format \d+ of stepwell \d.*, expected format \d+ of stepwell \d"):
        VMExecutable.load(tmp_path / "program")


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    if user_cache() is None:
        pytest.skip("no cache")
    mod = parse_tvmscript(KERNELS + CHAIN)
    first, second = (VirtualMachine(build_relax(mod))["main"](array(1), array(2))[0].numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_program_without_native_code_runs(tmp_path: Path) -> None:
    executable = build_relax(parse_tvmscript("@R.function\ndef main(x: R.Object):\n    return (x, x)"))
    executable.save(tmp_path / "program.tar")
    assert VirtualMachine(VMExecutable.load(tmp_path / "program.tar"))["main"](3) == (3, 3)


def test_modules_without_programs_are_refused() -> None:
    with pytest.raises(OptionError, match="a module of double, iota, both, expected a function of relax"):
        build_relax(parse_tvmscript(KERNELS))
    with pytest.raises(UnsupportedError, match="build_relax"):
        build(parse_tvmscript(KERNELS + CHAIN))
    broken = parse_mlir('relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {\n  relax.return %x : tensor<4xf32>\n}')
    func = broken.functions["f"]
    func.properties["impure"] = func.properties["result_type"]
    with pytest.raises(VerifyError):
        build_relax(broken)


def test_a_constant_has_an_array() -> None:
    mod = parse_tvmscript("""
@R.function
def main():
    w: R.Tensor((4,), "float32") = metadata["ir.GenericConst"][0]
    return R.exp(w)
""")
    with pytest.raises(OptionError, match="no array of constant '0' in the module"):
        build_relax(mod)
    mod.constants["0"] = np.zeros(4, "float32")
    np.testing.assert_array_equal(VirtualMachine(build_relax(mod))["main"]().numpy(), np.ones(4))


def test_a_graph_of_relay_runs_as_a_program() -> None:
    from stepwell import apply_passes, relay

    x = relay.var("x", shape=("n", 4))
    parts = relay.split(relay.nn.relu(x), 2, axis=1)
    graph = relay.module(relay.Function([x], relay.Tuple([parts[0], parts[1]])))
    vm = VirtualMachine(build_relax(apply_passes(graph, "convert-relay-to-relax")))
    data = np.arange(-4, 4, dtype="float32").reshape(2, 4)
    left, right = vm["main"](data)
    np.testing.assert_array_equal(np.hstack([left.numpy(), right.numpy()]), np.maximum(data, 0))


def test_devices_are_checked() -> None:
    from stepwell import device

    executable = build_relax(parse_tvmscript(KERNELS + CHAIN))
    with pytest.raises(ArgumentError, match="the program is compiled for cpu"):
        VirtualMachine(executable, device("cuda-emulated"))


def test_a_program_runs_on_a_device(target: str) -> None:
    vm = machine(CHAIN, target)
    x = np.arange(5, dtype="float32")
    d, _ = vm["main"](nd.array(x, vm.device), nd.array(x, vm.device))
    np.testing.assert_array_equal(d.numpy(), (3 * x + 1) * (3 * x - 1))
    with pytest.raises(ArgumentError, match="an array on cpu"):
        vm["main"](x, x)


def test_the_module_is_not_changed() -> None:
    mod: Module = parse_tvmscript(KERNELS + CHAIN)
    before = str(mod)
    build_relax(mod)
    assert str(mod) == before


def test_one_program_computes_batches_of_1_to_64_images() -> None:
    mod = parse_tvmscript("""
@R.function
def main(x: R.Tensor(("batch", 28, 28), "float32"), w0: R.Tensor((16, 784), "float32"), b0: R.Tensor((16,), "float32"),
         w1: R.Tensor((10, 16), "float32")) -> R.Tensor(("batch", 10), "float32"):
    batch = T.int64()
    with R.dataflow():
        rows = R.reshape(x, (batch, 784))
        hidden = R.nn.relu(R.matmul(rows, R.permute_dims(w0)) + b0)
        y = R.nn.softmax(R.matmul(hidden, R.permute_dims(w1)))
        R.output(y)
    return y
    """)
    random = np.random.default_rng(0)
    w0, b0, w1 = (random.normal(0, 0.1, shape).astype("float32") for shape in ((16, 784), (16,), (10, 16)))
    main = VirtualMachine(build_relax(bind_parameters(mod, {"w0": w0, "b0": b0, "w1": w1})))["main"]
    for batch in range(1, 65):
        x = random.uniform(0, 1, (batch, 28, 28)).astype("float32")
        scores = np.exp(np.maximum(x.reshape(batch, 784) @ w0.T + b0, 0) @ w1.T)
        np.testing.assert_allclose(main(x).numpy(), scores / scores.sum(axis=1, keepdims=True), rtol=2e-5)


def test_an_error_of_native_code_names_the_parameter_of_the_function() -> None:
    text = '@R.function\ndef main(n: R.Tensor(("n", 2), "float32"), second: R.Tensor((2, 2), "float32")):\n'
    main = VirtualMachine(build_relax(parse_tvmscript(text + "    return R.matmul(n, second)")))["main"]
    square = np.ones((2, 2), "float32")
    np.testing.assert_array_equal(main(square, square).numpy(), 2 * square)
    with pytest.raises(ArgumentError, match=r"argument second: expected a C-contiguous array, got strides \(4, 8\)"):
        main(square, np.asfortranarray(square))
