"""Programs on several devices: what is read and printed, the pass that realizes hints, and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import (
    ArgumentError,
    Device,
    Module,
    ParseError,
    UnsupportedError,
    VirtualMachine,
    VMExecutable,
    apply_passes,
    build_relax,
    nd,
    parse_mlir,
    parse_tvmscript,
    register_func,
)
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import VerifyError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.ir import IRModule, VDevice
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.operators.relax import FuncOp
from stepwell.operators.relax.devices import param_devices

TYPE = 'R.Tensor((8,), "float32")'
ON_GPU = 'R.Tensor((8,), "float32", "GPU:0")'
PROGRAM = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("GPU", 0)]}})
    @T.prim_func
    def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * 2.0
    @R.function
    def main(x: {TYPE}, w: {ON_GPU}, c: R.Tensor((), "bool")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.twice, (R.add(x, R.const(1.0, "float32")),), out_sinfo={TYPE})
            b: {ON_GPU} = R.to_vdevice(a, "GPU:0")
            d = R.call_tir(cls.twice, (R.add(b, w),), out_sinfo={ON_GPU})
            e = R.multiply(d, R.const(0.5, "float32"))
            s = R.call_pure_packed("test.where", e, sinfo_args={ON_GPU})
            f = R.to_vdevice(s, "llvm")
            R.output(f)
        if c:
            g = R.add(f, x)
        else:
            g = R.subtract(f, x)
        return g
"""
HINTS = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("GPU", 0)]}})
    @R.function
    def main(x: {TYPE}, y: {TYPE}, z: {TYPE}):
        with R.dataflow():
            x1 = R.hint_on_device(x, "GPU:0")
            y1 = R.hint_on_device(y, "GPU")
            a = R.add(x1, y1)
            b = R.hint_on_device(a, "llvm")
            z1 = R.hint_on_device(z, "llvm:0")
            c = R.multiply(z1, b)
            d = R.hint_on_device(c, "vdevice:1")
            e = R.multiply(d, R.const(2.0, "float32"))
            R.output(e)
        return e
"""
X = np.arange(8, dtype="float32")
WHERE: list[str] = []


def where(array: Any) -> Any:
    """Records the device of an array."""
    WHERE.append(str(array.device))
    return array


register_func("test.where", where, override=True)


def program(text: str = PROGRAM, target: str = "cuda-emulated") -> Module:
    return parse_tvmscript(text.replace("GPU", target), "n.py")


@pytest.mark.parametrize("text", [PROGRAM, HINTS])
@pytest.mark.parametrize("style", ["classic", "0.27"])
def test_texts_are_read_back(text: str, style: str) -> None:
    module = program(text)
    script = module.script(style)
    assert parse_tvmscript(script).script(style) == script
    assert 'I.vdevice("cuda-emulated", 0)' in script
    assert str(parse_mlir(str(module))) == str(module)


PRINTED = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu",
        "tag": ""}, 0, "global"), I.vdevice({"arch": "sm_50", "keys": ["cuda", "gpu"], "kind": "cuda",
        "max_num_threads": 512, "tag": "", "thread_warp_size": 32}, 0, "global")]})
    @R.function
    def main(x: R.Tensor((8,), dtype="float32"), y: R.Tensor((8,), dtype="float32", vdevice="cuda:0:global")):
        x1: R.Tensor((8,), dtype="float32") = R.hint_on_device(x, R.device(device_type=2, index=0), "global")
        z: R.Tensor((8,), dtype="float32", vdevice="llvm:0:global") = R.to_vdevice(y, dst_vdevice="llvm:0:global")
        return z
"""
"""A program for two devices as TVM 0.27 prints it."""


def test_a_program_of_tvm_is_read() -> None:
    script = parse_tvmscript(PRINTED).script("0.27")
    assert '[I.vdevice("llvm", 0), I.vdevice({"kind": "cuda", "arch": "sm_50", "max_num_threads": 512}, 0)]' in script
    assert 'R.hint_on_device(x, "cuda:0")' in script
    assert 'R.to_vdevice(y, "llvm:0")' in script
    assert parse_tvmscript(script).script("0.27") == script


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"llvm:0:global")\n', '"llvm:0:texture")\n', "device 'llvm:0:texture', expected one of the module: llvm:0"),
        ("device_type=2", "device_type=7", "R.device: device type 7, expected one of 1, 2, 12"),
        ("index=0", 'index="a"', "expected two numbers, R.device(2, 0)"),
        ("index=0", "index=1", "device 'cuda:1', expected one of the module: llvm:0, cuda:0"),
    ],
)
def test_devices_that_are_not_supported_are_errors(old: str, new: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_tvmscript(PRINTED.replace(old, new, 1))
    assert message in str(error.value)


def test_a_hint_by_a_device_of_python() -> None:
    @I.ir_module
    class Hinted:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((8,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
            y = R.hint_on_device(x, tvm.cuda(0))
            z = R.hint_on_device(R.exp(y), tvm.cpu())
            return z

    after = relax.transform.RealizeVDevice()(IRModule(Hinted.op)).script()
    assert 'vdevice="cuda:0"' in after
    assert after.count('R.to_vdevice(lv, "llvm:0")') == 1


def test_hints_become_copies_and_devices_of_parameters() -> None:
    after = apply_passes(program(HINTS), "relax-realize-devices")
    main = after.functions["main"]
    assert isinstance(main, FuncOp)
    assert param_devices(main) == {"x": "cuda-emulated:0", "y": "cuda-emulated:0"}
    script = after.script()
    assert "hint_on_device" not in script
    assert script.count("R.to_vdevice") == 2
    for module in (program(HINTS), after):
        np.testing.assert_array_equal(interpret(module, "main", [X, X + 1, X]), 2 * X * (2 * X + 1))


def test_each_graph_runs_on_its_device(device: Device, target: str) -> None:
    machine = VirtualMachine(build_relax(program(target=target)))
    w = nd.array(X, device)
    WHERE.clear()
    for flag, expected in ((True, 2 * (X + 1) + X + X), (False, 2 * (X + 1))):
        for _ in range(2):
            result = machine["main"](X, w, np.array(flag))
            assert result.device == Device("cpu")
            np.testing.assert_array_equal(result.numpy(), expected)
    assert WHERE == [str(device)] * 4


def test_a_program_for_several_devices_is_saved_and_loaded(device: Device, target: str, path: Path) -> None:
    executable = build_relax(program(target=target))
    executable.save(path)
    loaded = VMExecutable.load(path)
    assert str(loaded.module) == str(executable.module)
    result = VirtualMachine(loaded, [Device("cpu"), device])["main"](X, nd.array(X, device), np.array(False))
    np.testing.assert_array_equal(result.numpy(), 2 * (X + 1))


def test_results_stay_on_their_device(device: Device, target: str) -> None:
    machine = VirtualMachine(build_relax(program(HINTS, target)), [Device("cpu"), device])
    result = machine["main"](nd.array(X, device), nd.array(X, device), X)
    assert result.device == device
    np.testing.assert_array_equal(result.numpy(), 4 * X * X)


FILLED = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("GPU", 0)]}})
    @R.function
    def main(x: {TYPE}, y: {ON_GPU}):
        with R.dataflow():
            a = R.add(x, R.VALUE)
            b = R.add(y, R.VALUE)
            c = R.add(x, R.VALUE)
            d = R.multiply(R.multiply(a, c), R.to_vdevice(b, "llvm"))
            R.output(d)
        return d
"""


@pytest.mark.parametrize("value", ['full(R.shape([8]), R.const(2.0), "float32")', "exp(R.const(2.0))"])
def test_equal_values_on_two_devices_are_not_merged(value: str, device: Device, target: str) -> None:
    module = program(FILLED.replace("VALUE", value), target)
    apply_passes(module, "cse").verify()
    result = VirtualMachine(build_relax(module))["main"](X, nd.array(X, device))
    number = X + np.float32(2 if "full" in value else np.exp(np.float32(2)))
    np.testing.assert_allclose(result.numpy(), number**3, 1e-6)


def test_equal_values_on_one_device_are_merged() -> None:
    module = parse_tvmscript(ONE.replace("R.exp(x)", "R.add(R.add(x, R.exp(R.const(2.0))), R.exp(R.const(2.0)))"))
    assert apply_passes(module, "cse").script().count("R.exp") == 1


def test_arrays_and_devices_that_are_not_those_of_the_program_are_errors(device: Device, target: str) -> None:
    executable = build_relax(program(target=target))
    machine, flag = VirtualMachine(executable), np.array(True)
    gpu = device.kind
    with pytest.raises(ArgumentError, match=rf"argument 1 \(w\): an array on cpu\(0\), expected one on {gpu}\(0\)"):
        machine["main"](X, X, flag)
    with pytest.raises(ArgumentError, match=rf"argument 0 \(x\): an array on {gpu}\(0\), expected one on cpu\(0\)"):
        machine["main"](nd.array(X, device), nd.array(X, device), flag)
    for wrong in ([Device("cpu")], [device, Device("cpu")], device):
        with pytest.raises(ArgumentError, match=rf"expected cpu, {gpu}, as llvm:0, {target}:0"):
            VirtualMachine(executable, wrong)
    with pytest.raises(ArgumentError, match="2 devices, expected one"):
        VirtualMachine(build_relax(parse_tvmscript(ONE)), [Device("cpu"), device])


ONE = f"""
@R.function
def main(x: {TYPE}):
    y = R.exp(x)
    return y
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"GPU:0")\n            d',
            '"GPU:1")\n            d',
            "device 'cuda-emulated:1', expected one of the",
        ),
        ("R.add(b, w)", "R.add(a, w)", "values on llvm:0 and cuda-emulated:0, expected one device (R.to_vdevice)"),
        (
            f"sinfo_args={ON_GPU}",
            f"sinfo_args={TYPE[:-1]}, 'llvm')",
            "a value on cuda-emulated:0, expected it on",
        ),
        (
            'I.vdevice("GPU", 0)',
            'I.vdevice("GPU", 0, "texture")',
            "expected one of the module: llvm:0, cuda-emulated:0:texture",
        ),
        ('I.vdevice("GPU", 0)', 'I.vdevice("tpu", 0)', "tpu"),
        ('{"vdevice": [', '{"other": [', "expected vdevice"),
    ],
)
def test_errors_name_the_place(old: str, new: str, message: str) -> None:
    assert old in PROGRAM
    with pytest.raises(ParseError) as error:
        program(PROGRAM.replace(old, new, 1))
    assert message in str(error.value)
    assert str(error.value).startswith("n.py:")


def test_the_devices_of_a_program_are_verified() -> None:
    text = str(program())
    with pytest.raises(VerifyError, match=r"\(C1\) device 'cuda-emulated:0', expected one of the module: llvm:0"):
        parse_mlir(text.replace('["llvm", "cuda-emulated"]', '["llvm"]')).verify()
    with pytest.raises(VerifyError, match=r"\(C6\) relay.add: values on cuda-emulated:0 and llvm:0"):
        parse_mlir(text.replace('{param_devices = {w = "cuda-emulated:0"}}', "{note = 1 : i64}")).verify()


def test_a_device_is_replaced_under_the_names_of_tvm() -> None:
    mod = IRModule(program(HINTS).op)
    mod = relax.transform.RealizeVDevice()(mod)
    mod = relax.transform.UpdateVDevice(VDevice("cuda"), 1)(mod)
    assert 'I.vdevice("llvm", 0), I.vdevice("cuda", 0)' in mod.script()
    assert "emulated" not in str(mod)
    mod.verify()
    with pytest.raises(ArgumentError, match="device 2, expected one of the 2 devices"):
        relax.transform.UpdateVDevice(VDevice("cuda"), 2)(mod)


SCOPED = """
@I.ir_module
class Scoped:
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 0, "global.texture")]}
    )

    @R.function
    def main(x: R.Tensor((8,), "float32"), w: R.Tensor((8,), "float32", "cuda:0:global.texture")):
        a = R.to_vdevice(R.exp(x), "cuda:0:global")
        b = R.to_vdevice(a, "vdevice:2")
        c: R.Tensor((8,), "float32", "cuda:0:global.texture") = R.add(b, w)
        d = R.hint_on_device(c, R.device(2, 0), "global")
        return R.hint_on_device(d, "llvm")
"""
"""A program with two memory scopes of one device."""


def test_memory_scopes_are_read_and_printed_and_no_target_has_them() -> None:
    mod = parse_tvmscript(SCOPED)
    for style in ("classic", "0.27"):
        script = mod.script(style)
        assert 'I.vdevice("cuda", 0), I.vdevice("cuda", 0, "global.texture")' in script
        assert '"cuda:0:global.texture")' in script
        assert parse_tvmscript(script).script(style) == script
    assert 'memory_scopes = ["global", "global", "global.texture"]' in str(mod)
    parse_mlir(str(mod)).verify()
    realized = relax.transform.RealizeVDevice()(IRModule(mod.op))
    assert 'R.to_vdevice(c, "cuda:0")' in realized.script()
    with pytest.raises(UnsupportedError, match=r"device 'cuda:0:global.texture': memory scope 'global.texture', which"):
        build_relax(realized)
    with pytest.raises(ParseError, match=r"values on cuda:0 and cuda:0:global.texture, expected one device"):
        parse_tvmscript(SCOPED.replace("R.add(b, w)", "R.add(a, w)"))


def test_memory_scopes_under_the_names_of_tvm() -> None:
    devices = [VDevice("llvm"), VDevice("cuda"), VDevice("cuda", 0, "global.texture")]
    mod = IRModule(parse_tvmscript(SCOPED).op)
    assert mod.global_infos == {"vdevice": devices}
    assert mod["main"].params[1].struct_info.vdevice == devices[2]
    again = IRModule(parse_tvmscript(SCOPED).op)
    again.update_global_info("vdevice", devices)
    assert again.script() == mod.script()
    updated = relax.transform.UpdateVDevice(VDevice("cuda", 0, "global.texture-weight"), 2)(mod)
    assert '"cuda:0:global.texture-weight")' in updated.script()
    assert '"cuda:0:global.texture")' not in updated.script()
    back = relax.transform.UpdateVDevice(VDevice("cuda-emulated"), 2)(mod)
    assert back.global_infos["vdevice"][2] == VDevice("cuda-emulated")
    assert "memory_scopes" not in str(back)


def built(target: str, info: relax.StructInfo | None = None) -> IRModule:
    """`x + 1` on the first device and `y` on the second one. info: of the result of a packed function of the second."""
    devices = [VDevice("llvm"), VDevice(target)]
    builder = relax.BlockBuilder(IRModule(global_infos={"vdevice": devices}))
    x = relax.Var("x", relax.TensorStructInfo((8,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((8,), "float32", devices[1]))
    info = info or relax.TensorStructInfo((8,), vdevice=f"{target}:0")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            a = builder.emit(relax.op.add(x, relax.const(1.0)))
            b = builder.emit(relax.op.to_vdevice(a, devices[1]))
            c = builder.emit(relax.op.call_pure_packed("test.where", relax.op.add(b, y), sinfo_args=info))
            d = builder.emit_output(relax.op.to_vdevice(c, "llvm"))
        builder.emit_func_output(d)
    return builder.get()


def test_programs_for_devices_are_built(device: Device, target: str) -> None:
    mod = built(target)
    (_, y), main = mod["main"].params, mod["main"]
    assert mod.global_infos == {"vdevice": [VDevice("llvm"), VDevice(target)]}
    assert y.struct_info == relax.TensorStructInfo((8,), vdevice=VDevice(target))
    assert y.struct_info != relax.TensorStructInfo((8,))
    assert y.struct_info.vdevice == VDevice(target)
    moves = [each.value for each in main.body.blocks[0].bindings if each.value.op.name == "relax.to_vdevice"]
    assert [each.attrs.dst_vdevice for each in moves] == [VDevice(target), VDevice("llvm")]
    again = IRModule({"main": relax.Function(main.params, main.body, attrs={"global_symbol": "main"})})
    again.update_global_info("vdevice", [VDevice("llvm"), VDevice(target)])
    for each in (mod, again):
        assert each.script() == mod.script()
        WHERE.clear()
        result = VirtualMachine(build_relax(each))["main"](X, nd.array(X, device))
        np.testing.assert_array_equal(result.numpy(), 2 * X + 1)
        assert WHERE == [str(device)]


def test_hints_are_built() -> None:
    builder = relax.BlockBuilder(IRModule(global_infos={"vdevice": [VDevice("llvm"), VDevice("cuda")]}))
    x = relax.Var("x", relax.TensorStructInfo((8,)))
    with builder.function("main", [x]):
        a = builder.emit(relax.op.hint_on_device(x, tvm.cuda(0)))
        builder.emit_func_output(builder.emit(relax.op.hint_on_device(relax.op.exp(a), tvm.cpu(), "global")))
    mod = builder.get()
    hints = [binding.value for binding in mod["main"].body.blocks[0].bindings][::2]
    assert [each.attrs.dst_vdevice for each in hints] == [VDevice("cuda"), VDevice("llvm")]
    assert 'R.to_vdevice(lv, "llvm:0")' in relax.transform.RealizeVDevice()(mod).script()


def test_errors_of_built_devices() -> None:
    with pytest.raises(ArgumentError, match=r"a value on cuda:0, expected it on llvm:0 \(relax.op.to_vdevice\)"):
        built("cuda", relax.TensorStructInfo((8,), vdevice="llvm:0"))
    with pytest.raises(ArgumentError, match="device 'cuda:1', expected one of the module: llvm:0, cuda:0"):
        built("cuda", relax.TensorStructInfo((8,), vdevice="cuda:1"))
    with pytest.raises(ArgumentError, match="1, expected a device"):
        relax.TensorStructInfo((8,), vdevice=1)  # pyright: ignore[reportArgumentType]
    hint = relax.op.hint_on_device(relax.const(1.0), "cuda", "texture")
    assert hint.attrs.dst_vdevice == VDevice("cuda", 0, "texture")
    with pytest.raises(UnsupportedError, match="global info 'mesh', expected 'vdevice'"):
        IRModule().update_global_info("mesh", [])
    with pytest.raises(ArgumentError, match="devices cuda:1, expected cuda:0"):
        IRModule().update_global_info("vdevice", [VDevice("cuda", 1)])


def test_sizes_as_values_are_on_the_device_of_their_readers() -> None:
    """A slice reads at indices that begin with a size."""
    mod = program(
        """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("GPU", 0)]})
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        y = R.strided_slice(R.to_vdevice(x, "GPU:0"), axes=[0], begin=[m], end=[n])
        return R.to_vdevice(y, "llvm:0")
"""
    )
    x = np.arange(10, dtype="float32").reshape(5, 2)
    np.testing.assert_array_equal(VirtualMachine(build_relax(mod))["main"](x).numpy(), x[2:])


def test_a_graph_whose_results_nothing_reads_has_a_device() -> None:
    text = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32", vdevice="llvm:1"):
        a = R.ones((2, 3), "float32")
        b = R.to_vdevice(a, "llvm:1")
        y: R.Tensor((2, 3), "float32", vdevice="llvm:1") = R.to_vdevice(x, "llvm:1")
        z = R.add(y, y)
        return z
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for level in (0, 2):
        machine = VirtualMachine(build_relax(parse_tvmscript(text), opt_level=level))
        np.testing.assert_array_equal(machine["main"](x).numpy(), x + x)
