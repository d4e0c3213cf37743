"""Memory of programs whose sizes have upper bounds: it is allocated once, calls beyond the bound are errors, and poison
finds tensors that are used after their memory is free."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from stepwell import (
    ArgumentError,
    Device,
    Module,
    SizeError,
    VerifyError,
    VirtualMachine,
    VMExecutable,
    build_relax,
    parse_mlir,
    parse_tvmscript,
    register_func,
)
from stepwell.backends.relax.memory import Memory
from stepwell.transforms.relay import placement

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    R.func_attr({"tir_var_upper_bound": {"n": 8}})
    n = T.int64()
    a = R.call_dps_packed("test.plan", (x,), out_sinfo=R.Tensor((n, 4), "float32"))
    s = R.sum(a, axis=[1], keepdims=True)
    b = R.nn.softmax(R.add(s, R.permute_dims(s)))
    c = R.call_dps_packed("test.plan", (b,), out_sinfo=R.Tensor((n, n), "float32"))
    d = R.call_dps_packed("test.plan", (c,), out_sinfo=R.Tensor((n, n), "float32"))
    return d
"""


def module() -> Module:
    register_func("test.plan", lambda x, y: np.add(x, 1, out=y), override=True)
    return parse_tvmscript(PROGRAM)


@cache
def executable() -> VMExecutable:
    """The compiled `PROGRAM`."""
    return build_relax(module())


def machine(**options: Any) -> VirtualMachine:
    """A machine for the compiled `PROGRAM`, with the packed function of `module`."""
    module()
    return VirtualMachine(executable(), **options)


def ones(rows: int) -> np.ndarray[Any, Any]:
    return np.ones((rows, 4), "float32")


def expected(rows: int) -> np.ndarray[Any, Any]:
    """The result of `PROGRAM` for ones: rows of equal probabilities, and 2."""
    return np.full((rows, rows), 1 / max(rows, 1) + 2, "float32")


def test_memory_is_allocated_once_for_the_bound() -> None:
    vm = machine()
    sizes: list[int] = []
    initialize = Memory.__init__

    def record(self: Memory, size: int, device: Any) -> None:
        sizes.append(size)
        initialize(self, size, device)

    with patch.object(Memory, "__init__", record):
        for rows in (3, 8, 1, 0, 8):
            np.testing.assert_allclose(vm["main"](ones(rows)).numpy(), expected(rows), rtol=1e-6)
    (graph,) = vm.executable.graphs.values()
    assert sorted(sizes) == sorted([graph.workspace, placement.workspace_of(vm.executable.functions["main"])])
    assert graph.workspace >= 8 * 8 * 4
    assert placement.workspace_of(vm.executable.functions["main"]) == 2 * 8 * 8 * 4


def test_results_do_not_share_the_memory() -> None:
    vm = machine()
    first = vm["main"](ones(8))
    vm["main"](2 * ones(5))
    np.testing.assert_allclose(first.numpy(), expected(8), rtol=1e-6)


def test_a_call_beyond_the_bound_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="main: size n is 9, expected at most 8"):
        machine()["main"](ones(9))


def test_a_negative_extent_is_an_error() -> None:
    text = PROGRAM.replace(
        '(b,), out_sinfo=R.Tensor((n, n), "float32")', '(b,), out_sinfo=R.Tensor((n - 2,), "float32")'
    )
    mod = parse_tvmscript(text)
    register_func("test.plan", lambda x, y: y.fill(1), override=True)
    vm = VirtualMachine(build_relax(mod))
    assert vm["main"](ones(2)).shape == (2, 2)
    with pytest.raises(SizeError, match=r"main: result of relax.call_dps_packed: extent -1 of dimension 0"):
        vm["main"](ones(1))


def test_a_cast_beyond_the_bound_is_an_error() -> None:
    vm = VirtualMachine(
        build_relax(
            parse_tvmscript("""
@R.function
def main(x: R.Object):
    R.func_attr({"tir_var_upper_bound": {"m": 2}})
    m = T.int64()
    y = R.match_cast(x, R.Tensor((m,), "float32"))
    z = R.exp(y)
    return z
    """)
        )
    )
    np.testing.assert_array_equal(vm["main"](np.zeros(2, "float32")).numpy(), [1, 1])
    with pytest.raises(ArgumentError, match="main: size m is 3, expected at most 2"):
        vm["main"](np.zeros(3, "float32"))


def test_a_loaded_program_has_the_plan(tmp_path: Path) -> None:
    machine().executable.save(tmp_path / "program.tar")
    vm = VirtualMachine(VMExecutable.load(tmp_path / "program.tar"))
    np.testing.assert_allclose(vm["main"](ones(8)).numpy(), expected(8), rtol=1e-6)
    with pytest.raises(ArgumentError, match="main: size n is 9, expected at most 8"):
        vm["main"](ones(9))


def test_profiles_use_the_memory() -> None:
    profile = machine().profile("main", ones(4))
    np.testing.assert_allclose(profile.result.numpy(), expected(4), rtol=1e-6)


def test_poison_finds_functions_that_keep_operands() -> None:
    vm = machine(poisons=True)
    kept: list[Any] = []
    register_func("test.plan", lambda x, y: (kept.append(x), np.add(x, 1, out=y)), override=True)
    np.testing.assert_allclose(vm["main"](ones(2)).numpy(), expected(2), rtol=1e-6)
    assert [bool(np.isnan(each).all()) for each in kept] == [False, True, True]


def test_poison_finds_tensors_in_the_memory_of_others() -> None:
    with patch.object(placement, "_lowest", lambda tensor, others: 0):  # pyright: ignore[reportUnknownLambdaType]
        wrong = build_relax(module())
    got = VirtualMachine(wrong, poisons=True)["main"](ones(2)).numpy()
    assert not np.allclose(got, expected(2), equal_nan=False)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ("3 : i64", "(C5) tir_var_upper_bound 3 : i64, expected a bound for each name"),
        ("{n = -1 : i64}", "(C5) tir_var_upper_bound: n = -1 : i64, expected an integer from 0 on"),
        ('{n = "8"}', '(C5) tir_var_upper_bound: n = "8", expected an integer from 0 on'),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        'relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> attrs {tir_var_upper_bound = BOUNDS} {\n'
        "  relax.return %x : tensor<8xf32>\n}",
        'relay.func @main("x" %x: tensor<8xf32>) attrs {tir_var_upper_bound = BOUNDS} {\n'
        "  relay.return %x : tensor<8xf32>\n}",
    ],
)
def test_bounds_are_verified(text: str, bounds: str, message: str) -> None:
    with pytest.raises(VerifyError) as info:
        parse_mlir(text.replace("BOUNDS", bounds)).verify()
    assert message in str(info.value)


MIXED = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("GPU", 0)]})
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 8}})
        n = T.int64()
        a = R.call_dps_packed("test.step", (x,), out_sinfo=R.Tensor((n, 4), "float32"))
        b = R.call_dps_packed("test.step", (a,), out_sinfo=R.Tensor((n, 4), "float32"))
        c = R.to_vdevice(b, "GPU:0")
        d = R.exp(c)
        e = R.call_dps_packed("test.move", (d,), out_sinfo=R.Tensor((n, 4), "float32", "GPU:0"))
        f = R.call_dps_packed("test.move", (e,), out_sinfo=R.Tensor((n, 4), "float32", "GPU:0"))
        g = R.exp(f)
        h = R.to_vdevice(g, "llvm")
        i = R.add(h, x)
        return i
"""
"""A program with planned results on two devices: `a` and `b` on the first one, `d` to `g` on the second one."""


@pytest.mark.parametrize("poisons", [False, True])
def test_each_device_has_a_memory(device: Device, target: str, poisons: bool) -> None:
    register_func("test.step", lambda x, y: np.add(x, 1, out=y), override=True)
    register_func("test.move", lambda x, y: y.copyfrom(x.numpy()), override=True)
    vm = VirtualMachine(build_relax(parse_tvmscript(MIXED.replace("GPU", target))), poisons=poisons)
    made: list[tuple[str, int]] = []
    initialize = Memory.__init__

    def record(self: Memory, size: int, device: Device) -> None:
        made.append((device.kind, size))
        initialize(self, size, device)

    with patch.object(Memory, "__init__", record):
        for rows in (3, 8, 1, 8):
            x = np.linspace(-4, -2, rows * 4, dtype="float32").reshape(rows, 4)
            np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(np.exp(x + 2)) + x, 1e-5, 1e-5)
    assert sorted(made) == sorted([("cpu", 2 * 8 * 4 * 4), (device.kind, 2 * 8 * 4 * 4)])


def test_poison_finds_tensors_in_the_memory_of_others_on_a_device(device: Device, target: str) -> None:
    register_func("test.step", lambda x, y: np.add(x, 1, out=y), override=True)
    register_func("test.move", lambda x, y: y.copyfrom(x.numpy()), override=True)
    with patch.object(placement, "_lowest", lambda tensor, others: 0):  # pyright: ignore[reportUnknownLambdaType]
        executable = build_relax(parse_tvmscript(MIXED.replace("GPU", target)))
    x = np.full((2, 4), -3, "float32")
    got = VirtualMachine(executable, poisons=True)["main"](x).numpy()
    assert not np.allclose(got, np.exp(np.exp(x + 2)) + x)
