"""Names of TVM's versions: targets, lowering, comparison, analysis, tools, spellings of v0.5 and v0.6."""

import platform
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import DeviceError, LinkError, LoadError, OptionError, ScheduleError, UnsupportedError
from stepwell.frontends.tvm import te, tir, topi, tvm_ffi
from stepwell.frontends.tvm.contrib import cblas, cc, download, nvcc, utils
from stepwell.frontends.tvm.target import Target
from stepwell.tools.warm_python import WarmPython


def shifted(n: Any = 8) -> tuple[te.Schedule, te.Tensor, te.Tensor]:
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    return te.create_schedule(b.op), a, b


# Names of versions


def test_names_of_versions() -> None:
    assert tvm.runtime.DataType("uint8").type_code == tvm.runtime.TypeCode.UINT
    assert tvm.relax.expr.Function is tvm.relax.Function
    assert (tvm.cpu(3), tvm.device("llvm", 1)) == (tvm.cpu(), tvm.cpu())
    with pytest.raises(OptionError, match="there is no device cpu"):
        tvm.cpu(-1)
    assert not tvm.runtime.enabled("opengl")
    assert Target("nvidia/jetson-nano").attrs["registers_per_block"] == 32768
    operation: Any = te.placeholder((128,), "float16").op
    assert operation.dtype == "float16"
    with tvm.build_config(auto_unroll_min_depth=1):
        pass
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = tvm.relax.expr.Nothing


# Lowering


def test_a_sum_without_a_schedule_is_computed_by_many_threads(tmp_path: Path) -> None:
    a = te.placeholder((128, 128), name="A")
    total = topi.sum(a)
    program = tvm.build(topi.cuda.schedule_reduce(total), [a, total], "cuda-emulated")
    kernels = program.imported_modules[0]
    assert "__shfl_down_sync" in kernels.get_source()
    assert all(kernels.get_source(fmt) == kernels.get_source() for fmt in ("ptx", "llvm", "ll", "asm"))
    kernels.save(tmp_path / "sum.hsaco")
    loaded: Any = tvm.runtime.load_module(tmp_path / "sum.hsaco")
    program.import_module(loaded)
    assert "T_sum[()] = T.float32(0.0)\n        for" in str(tvm.lower(te.create_schedule(total.op), [a, total]))


@pytest.mark.parametrize(
    ("inline", "expected"),
    [
        (te.AutoInlineElemWise, ["B"]),
        (te.AutoInlineBroarcast, ["B", "C"]),
        (te.AutoInlineInjective, ["B", "C", "D"]),
    ],
)
def test_stages_of_a_kind_are_inlined(inline: Any, expected: list[str]) -> None:
    a, v = te.placeholder((8, 8), name="A"), te.placeholder((8,), name="V")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * v[j], name="C")
    d = te.compute((8, 8), lambda i, j: c[j, i] * 2.0, name="D")
    k = te.reduce_axis((0, 8), name="k")
    e = te.compute((8,), lambda i: te.sum(d[i, k], axis=k), name="E")
    f = te.compute((8,), lambda i: e[i] + 1.0, name="F")
    s = te.create_schedule(f.op)
    inline(s)
    text = str(tvm.lower(s, [a, v, f]))
    assert [name for name in "BCDE" if f"{name} = T.alloc_buffer" not in text] == expected


def test_simple_mode_prints_the_statements_alone() -> None:
    s, a, b = shifted()
    text = str(tvm.lower(s, [a, b], simple_mode=True))
    assert text.startswith("@T.prim_func\ndef main(")
    assert "func_attr" not in text
    assert "T.func_attr" in str(tvm.lower(s, [a, b]))


def test_an_output_may_be_left_out() -> None:
    s, a, _ = shifted()
    mod = tvm.lower(s, [a])
    assert len(mod["main"].params) == 1
    assert "B = T.alloc_buffer((8,))" in mod.astext()


def test_a_lowered_module_is_compiled_from_its_source() -> None:
    s, a, b = shifted()
    lowered = tvm.lower(s, [a, b])
    assert lowered.source is not None
    assert "T.block" in lowered.source.script()
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.build(lowered)(x, y)
    assert (y == x + 1).all()


def test_a_changed_module_is_compiled_as_it_is() -> None:
    s, a, b = shifted()
    lowered = tvm.lower(s, [a, b])
    doubled = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    lowered["main"] = te.create_prim_func([a, doubled])
    assert lowered.source is None
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.build(lowered)(x, y)
    assert (y == x * 2).all()


def test_a_reduction_across_threads_is_built_from_its_lowered_form() -> None:
    a = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    x = np.arange(128, dtype="float32").reshape(4, 32)
    for built in (tvm.build(s, [a, b], "cuda-emulated"), tvm.build(tvm.lower(s, [a, b]), target="cuda-emulated")):
        y = np.zeros(4, "float32")
        built(x, y)
        assert (y == x.sum(1)).all()


def test_binds_name_the_buffers_of_arguments() -> None:
    s, a, b = shifted()
    buffer = tir.decl_buffer(a.shape, a.dtype, name="Ab")
    assert len(tvm.lower(s, [buffer, b], binds={a: buffer})["main"].params) == 2
    with pytest.raises(OptionError, match="argument Ab: a buffer, expected the buffer of a tensor in binds"):
        tvm.lower(s, [buffer, b])


def test_several_functions_are_built_together() -> None:
    s, a, b = shifted()
    built = tvm.build([tvm.lower(s, [a, b], name="f"), tvm.lower(s, [a, b], name="g")], target_host="llvm")
    y = np.zeros(8, "float32")
    built["g"](np.ones(8, "float32"), y)
    assert (y == 2).all()
    with pytest.raises(OptionError, match="two functions called 'f'"):
        tvm.build([tvm.lower(s, [a, b], name="f")] * 2)


def test_compile_is_build_of_a_module() -> None:
    s, a, b = shifted()
    y = np.zeros(8, "float32")
    tvm.compile(tvm.lower(s, [a, b]), target="llvm")(np.ones(8, "float32"), y)
    assert (y == 2).all()
    with pytest.raises(OptionError, match="compile: options tir_pipeline are not supported"):
        tvm.compile(tvm.lower(s, [a, b]), tir_pipeline="default")


def test_text_of_a_program_is_saved(tmp_path: Path) -> None:
    s, a, b = shifted()
    built = tvm.build(s, [a, b])
    built.save(tmp_path / "f.ll")
    assert "define" in (tmp_path / "f.ll").read_text()
    with pytest.raises(OptionError, match="format 'bc', expected ll, s, asm, o; export_library saves programs to load"):
        built.save(tmp_path / "f.bc")


# Targets


@pytest.mark.parametrize(
    ("given", "kind", "mcpu"),
    [
        ("llvm", "llvm", ""),
        ("llvm -mcpu=skylake-avx512", "llvm", "skylake-avx512"),
        ({"kind": "llvm", "mcpu": "haswell"}, "llvm", "haswell"),
        ('{"kind": "llvm", "mcpu": "haswell"}', "llvm", "haswell"),
        ("aws/cpu/c5.12xlarge", "llvm", "cascadelake"),
        ("cuda -arch=sm_80", "cuda", ""),
    ],
)
def test_a_target_has_many_forms(given: Any, kind: str, mcpu: str) -> None:
    target = Target(given)
    assert (target.kind.name, target.mcpu) == (kind, mcpu)
    assert Target(target.export()) == target
    assert Target(str(target)).attrs.get("mcpu", "") == mcpu


def test_a_tag_names_a_gpu() -> None:
    target = Target("nvidia/nvidia-a100")
    assert (target.arch, target.max_num_threads, target.thread_warp_size, target.tag) == (
        "sm_80", 1024, 32, "nvidia/nvidia-a100",
    )  # fmt: skip
    assert "nvidia/nvidia-a100" in tvm.target.list_tags()
    assert nvcc.get_target_compute_version(target) == "8.0"


def test_a_target_is_current_in_its_context() -> None:
    s, a, b = shifted()
    assert Target.current() is None
    with Target("cuda-emulated", host="llvm") as target:
        assert Target.current() is target
        assert target.host == Target("llvm")
        assert len(tvm.build(s, [a, b]).imported_modules) == 1
    with pytest.raises(OptionError, match="no current target"):
        Target.current(allow_none=False)


def test_other_kinds_exist_and_are_not_built_for() -> None:
    s, a, b = shifted()
    assert Target("opencl -device=mali").keys == ["mali", "opencl", "gpu"]
    with pytest.raises(UnsupportedError, match="no code generator for kind metal"):
        tvm.build(s, [a, b], "metal")
    with pytest.raises(UnsupportedError, match="no code generator for machine riscv64-linux"):
        tvm.build(s, [a, b], "llvm -mtriple=riscv64-linux")
    for text in ("llvm -target=riscv64-linux", "llvm -target riscv64-linux"):  # until v0.6
        assert tvm.target.create(text).mtriple == "riscv64-linux"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("lvm", "unknown kind 'lvm', did you mean 'llvm'"),
        ("llvm -mcpv=x", "target llvm has no option 'mcpv', did you mean 'mcpu'"),
        ("nvidia/nvidia-b100", "unknown tag 'nvidia/nvidia-b100'"),
        ("llvm mcpu=x", "'mcpu=x', expected -name=value"),
        (3, "target 3, expected text, a dictionary or a Target"),
    ],
)
def test_a_wrong_target_is_an_error(given: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Target(given)


def test_a_generic_function_has_versions_for_targets() -> None:
    @tvm.target.generic_func
    def name() -> str:
        return "generic"

    name.register("cpu", lambda: "cpu")
    assert name() == "generic"
    with Target("llvm"):
        assert name() == "cpu"
    with pytest.raises(OptionError, match="the key 'cpu' has a version already"):
        name.register("cpu", lambda: "again")


# Comparison and analysis


def test_programs_are_equal_up_to_names() -> None:
    _, a, b = shifted()
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda k: x[k] + 1.0, name="Y")
    z = te.compute((8,), lambda k: x[k] + 2.0, name="Y")
    first, second, third = (te.create_prim_func(args) for args in ([a, b], [x, y], [x, z]))
    assert tvm.ir.structural_equal(first, second)
    assert tvm.ir.structural_hash(first) == tvm.ir.structural_hash(second)
    assert not tvm.ir.structural_equal(first, third)
    with pytest.raises(ValueError, match=r"structural equality: .*1\.0.*, expected .*2\.0"):
        tvm.ir.assert_structural_equal(first, third)


def test_a_program_is_equal_to_the_text_of_its_schedule() -> None:
    x = te.placeholder((8,), name="X")
    sch = tvm.tir.Schedule(te.create_prim_func([x, te.compute((8,), lambda i: x[i] + 1.0, name="Y")]))
    sch.split(sch.get_loops(sch.get_block("Y"))[0], [2, 4])
    tvm.ir.assert_structural_equal(sch.mod, tvm.script.from_source(sch.mod.script()))


def test_expressions_are_equal_with_the_same_variables() -> None:
    x, y = te.var("x"), te.var("y")
    assert tvm.ir.structural_equal(x + 1, x + 1)
    assert not tvm.ir.structural_equal(x + 1, y + 1)
    assert tvm.ir.structural_equal(x + 1, y + 1, map_free_vars=True)
    assert not tvm.ir.structural_equal(x + y, y * x, map_free_vars=True)


def test_an_analyzer_knows_ranges_and_conditions() -> None:
    x, y = te.var("x"), te.var("y")
    analyzer = tvm.arith.Analyzer()
    analyzer.bind(x, tvm.ir.Range(0, 8))
    assert tvm.ir.structural_equal(analyzer.simplify(x // 8), tir.const(0, "int32"))
    assert tvm.ir.structural_equal(analyzer.simplify(x + y - x), y)
    assert analyzer.can_prove(x < 8)
    assert not analyzer.can_prove(x < 7)
    assert not analyzer.can_prove(y < 4)
    with analyzer.constraint_scope(y < 3):
        assert analyzer.can_prove(y < 4)
        assert analyzer.const_int_bound(y).max_value == 2
    assert not analyzer.can_prove(y < 4)
    bound = analyzer.const_int_bound(x * 2 + 1)
    assert (bound.min_value, bound.max_value) == (1, 15)
    modular = analyzer.modular_set(x * 4 + 3)
    assert (modular.coeff, modular.base) == (4, 3)
    with pytest.raises(te.TeError, match="bind: variable x is bound already"):
        analyzer.bind(x, tvm.ir.Range(0, 4))


def test_overflow_of_64_bits_is_not_assumed_away() -> None:
    y, wide = te.var("y"), te.var("wide", "int64")
    assert tvm.arith.Analyzer().can_prove(y + 1 > y)
    assert not tvm.arith.Analyzer().can_prove(wide + 1 > wide)


def test_facts_about_functions() -> None:
    _, a, b = shifted()
    func = te.create_prim_func([a, b])
    assert tir.analysis.verify_well_formed(func)
    assert tir.analysis.estimate_tir_flops(func) == 8
    c = te.compute((8,), lambda i: b[i] * 2.0, name="C")
    assert tir.analysis.calculate_workspace_bytes(te.create_prim_func([a, c])) == 32
    x, y = te.var("x"), te.var("y")
    assert tir.analysis.undefined_vars(x + y, [y]) == [x]


def test_passes_have_the_names_of_tvm() -> None:
    _, a, b = shifted()
    mod = tvm.IRModule({"main": te.create_prim_func([a, b])})
    lowered = tvm.transform.Sequential([tir.transform.LowerOpaqueBlock(), tir.transform.Simplify()])(mod)
    assert "T.block(" not in lowered.script()
    assert tir.transform.UnrollLoop().info.name == "tir.UnrollLoop"
    assert list(tir.transform.Filter(lambda func: False)(mod)) == []
    tagged = tir.transform.Apply(lambda func: func.with_attr({"one": 1, "two": 2}))(mod)
    assert {"one", "two"} <= set(tagged["main"].attrs)
    assert "one" not in tagged["main"].without_attr("one").attrs


def test_names_of_v0_6_at_the_top() -> None:
    assert tvm.TVMContext is tvm.runtime.Device
    assert tvm.get_env_func("f") == tvm.ir.EnvFunc.get("f")
    tvm.register_func("test.names.twice", lambda x: x * 2, override=True)
    assert tvm.ir.EnvFunc.get("test.names.twice")(3) == 6
    with pytest.raises(tvm.TVMError, match=r"test\.names\.absent"):
        tvm.ir.EnvFunc.get("test.names.absent")()
    assert (te.var("n", tvm.int32).dtype, te.var("x", tvm.float32).dtype) == ("int32", "float32")
    x = tvm.relay.exp(tvm.relay.const(1.0))
    assert tvm.ir.structural_equal(tvm.load_json(tvm.save_json(x)), x)
    assert tvm.layout("NCHW16c").name == "NCHW16c"


def test_statements_as_a_sequence_and_as_a_list() -> None:
    one, two = tir.Evaluate(1), tir.Evaluate(2)
    three: Any = tir.stmt_seq(one, tir.IntImm("int32", 3), two).seq[1]
    assert three.value.value == 3
    assert tir.stmt_list(tir.SeqStmt([one, tir.SeqStmt([two, one])])) == [one, two, one]
    assert tir.stmt_list(one) == [one]


def test_modules_around_named_passes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    _, a, b = shifted()
    mod = tvm.IRModule({"main": te.create_prim_func([a, b])})
    shown = tvm.ir.instrument.PassPrintingInstrument(["tir.Simplify"], ["tir.RemoveNoOp"])
    with tvm.transform.PassContext(instruments=[shown]):
        tvm.transform.Sequential([tir.transform.Simplify(), tir.transform.RemoveNoOp()])(mod)
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("Print IR")] == [
        "Print IR before: tir.Simplify",
        "Print IR after: tir.RemoveNoOp",
    ]


def test_instruments_observe_passes() -> None:
    names: list[str] = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            names.append(info.name)

    timing = tvm.ir.instrument.PassTimingInstrument()
    s, a, b = shifted()
    with tvm.transform.PassContext(instruments=[Names(), timing]):
        tvm.lower(s, [a, b])
        text = timing.render()
    assert "tir-resolve-blocks" in names
    assert all(f"{name}: " in text for name in names)


def test_the_instruments_of_a_context_change() -> None:
    events: list[str] = []

    class Events(tvm.instrument.PassInstrument):
        def __init__(self, name: str):
            self.name = name

        def enter_pass_ctx(self) -> None:
            events.append(f"enter {self.name}")

        def exit_pass_ctx(self) -> None:
            events.append(f"exit {self.name}")

    with tvm.transform.PassContext(instruments=[Events("a")]) as context:
        context.override_instruments([Events("b")])
    assert events == ["enter a", "exit a", "enter b", "exit b"]


def test_programs_and_traces_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _, a, b = shifted()
    sch = tir.Schedule(tvm.IRModule({"main": te.create_prim_func([a, b])}))
    sch.parallel(sch.get_loops("B")[0])
    sch.mod.show("dark", black_format=False)
    assert "T.parallel(8)" in capsys.readouterr().out
    sch.trace.show()
    assert "sch.parallel(" in capsys.readouterr().out
    assert tvm.script.tirx is tvm.script.tir


# Functions, values, arrays


def test_functions_of_expressions_compute() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: tir.call_intrin("float32", "tir.exp", a[i]) + tir.sqrt(a[i]), name="B")
    x, y = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    tvm.build(te.create_schedule(b.op), [a, b])(x, y)
    np.testing.assert_allclose(y, np.exp(x) + np.sqrt(x), rtol=1e-5)
    with pytest.raises(te.TeError, match=r"no intrinsic 'tir\.nothing'"):
        tir.call_intrin("float32", "tir.nothing", a[0])
    assert int(tir.ceildiv(tir.const(7, "int32"), 2)) == 4  # pyright: ignore[reportArgumentType]


def test_values_convert_to_expressions() -> None:
    number, text = tvm.convert([2, "name"])
    assert (number.value, text.value) == (2, "name")
    assert (tvm.DataType("float").bits, tvm.DataType("int8x4").lanes, tvm.DataType("int8x4").itemsize) == (32, 4, 4)
    with pytest.raises(tvm.TVMError, match="expected a number, text"):
        tvm.runtime.convert(object())


def test_arrays_take_a_context() -> None:
    array = tvm.nd.array(np.ones(2, "float32"), ctx=tvm.cpu(0))
    assert tvm.nd.empty((2,), ctx=tvm.cpu(0)).ctx == array.ctx
    assert tvm.runtime.tensor([1, 2]).shape == (2,)
    with pytest.raises(UnsupportedError, match=r"memory scope 'global\.texture'"):
        tvm.nd.array(np.ones(2), mem_scope="global.texture")


def test_names_of_the_top_until_v06() -> None:
    n = tvm.var("n")
    a = tvm.placeholder((n, 4), name="A", dtype="float")
    k = tvm.reduce_axis((0, 4), name="k")
    b = tvm.compute((n,), lambda i: tvm.sum(a[i, k], axis=k), name="B")
    s = tvm.create_schedule(b.op)
    with tvm.build_config(auto_unroll_max_step=16):
        built = tvm.build(s, [a, b], "llvm", target_host="llvm")
    x, y = np.ones((3, 4), "float32"), np.zeros(3, "float32")
    built(tvm.nd.array(x, ctx=tvm.cpu(0)), y)
    assert (y == 4).all()
    assert built.time_evaluator(built.entry_name, ctx=tvm.cpu(0), number=1)(x, y).mean > 0
    assert isinstance(n, tvm.expr.Var)
    with pytest.raises(OptionError, match="build_config: no option 'colour'"):
        tvm.build_config(colour=1)


def test_build_config_takes_functions_of_statements() -> None:
    s, a, b = shifted()
    seen: list[str] = []

    def look(stmt: Any) -> Any:
        seen.append(type(stmt).__name__)
        return stmt

    with tvm.build_config(add_lower_pass=[(1, look)]):
        tvm.lower(s, [a, b])
    assert seen == ["For"]


# Tools


def test_temporary_folders_are_removed() -> None:
    folder = utils.tempdir()
    Path(folder.relpath("a")).write_text("")
    assert folder.listdir() == ["a"]
    folder.remove()
    assert not folder.path.exists()


@pytest.mark.skipif(cc.get_cc() is None, reason="needs a C++ compiler")
def test_the_compiler_links_libraries(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text("int f() { return 3; }\n")
    cc.create_shared(tmp_path / "f.so", [str(source)])
    assert (tmp_path / "f.so").exists()
    source.write_text("int f( {\n")
    with pytest.raises(LinkError, match="status 1"):
        cc.create_shared(tmp_path / "g.so", [str(source)])


def test_devices_without_a_driver_do_not_exist() -> None:
    for name in ("opencl", "metal", "vulkan", "rocm"):
        dev = getattr(tvm, name)(0)
        assert not dev.exist
        assert dev == tvm.device(name, 0)
        with pytest.raises(DeviceError, match=f"there is no driver for {name}"):
            tvm.nd.array(np.ones(2), dev)
    assert tvm.cl(1) == tvm.testing.device_test(tvm.opencl(1), 4, 1)
    with pytest.raises(AssertionError, match="expected type 2 and index 1"):
        tvm.testing.device_test(tvm.opencl(1), 2, 1)


def test_the_compiler_of_targets() -> None:
    codegen = tvm.target.codegen
    assert not codegen.target_has_features("no-such-feature")
    haswell, v4 = tvm.target.Target("llvm -mcpu=haswell"), tvm.target.Target("llvm -mcpu=x86-64-v4")
    if platform.machine() == "x86_64":
        assert codegen.llvm_cpu_has_features(["avx2", "fma"], haswell)
        assert not codegen.target_has_features("avx512f", haswell)
        assert codegen.llvm_cpu_has_features("avx512f", tvm.target.Target("llvm -mcpu=haswell -mattr=+avx512f"))
        assert [codegen.llvm_get_vector_width(each) for each in (haswell, v4)] == [256, 512]
        assert "haswell" in codegen.llvm_get_cpu_archlist(haswell)
    with tvm.target.Target("llvm -mattr=+some-feature"):
        assert "some-feature" in codegen.llvm_get_cpu_features()
    assert codegen.llvm_get_vector_width() >= 128
    assert codegen.llvm_get_system_cpu() in codegen.llvm_get_cpu_archlist()
    assert codegen.llvm_get_system_triple().startswith(platform.machine())
    assert len(codegen.llvm_get_targets()) == 1
    assert codegen.llvm_get_system_x86_vendor() in ("intel", "amd", "unimplemented")
    with pytest.raises(UnsupportedError, match="no code generator for machine riscv64-linux-gnu"):
        codegen.llvm_get_cpu_features(tvm.target.Target("llvm -mtriple=riscv64-linux-gnu"))
    s, a, b = shifted(4)
    numbers, result = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    codegen.build_module(tvm.lower(s, [a, b]), "llvm")["main"](numbers, result)
    assert (result == numbers + 1).all()


def test_the_runtime() -> None:
    codes = [tvm.DataType(name).type_code for name in ("int8x4", "uint16", "bool", "float32", "bfloat16", "handle")]
    assert codes == [0, 1, 1, 2, 4, tvm.DataTypeCode.HANDLE]
    assert tvm.DataType("handle").itemsize == 8
    assert tvm.runtime.num_threads() >= 1
    tvm.runtime.device_sync(tvm.cpu())
    assert tvm.testing.echo(3) == 3
    assert tvm.target.codegen.llvm_lookup_intrinsic_id("llvm.sqrt.f32") == "llvm.sqrt.f32"
    assert isinstance(lambda: None, tvm.runtime.PackedFunc)
    s, a, b = shifted()
    built = tvm.build(s, [a, b])
    assert isinstance(built["main"], tvm.runtime.PackedFunc)
    assert built.type_key == "llvm"
    assert not isinstance(3, tvm.runtime.PackedFunc)


def test_versions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    tvm.support.describe()
    assert f"TVM_VERSION: {tvm.__version__}" in capsys.readouterr().out


def test_loops_of_stages_have_relations() -> None:
    s, _, b = shifted()
    assert isinstance(b.op, te.BaseComputeOp)
    outer, inner = s[b].split(b.op.axis[0], 4)
    fused = s[b].fuse(outer, inner)
    assert [type(each) for each in s[b].relations] == [te.schedule.Split, te.schedule.Fuse]
    assert list(s[b].leaf_iter_vars) == [fused]


def test_facts_about_schedules() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((4,), lambda i: b[i] * 2.0, name="C")]))
    assert tir.schedule.analysis.has_block(sch, "B")
    assert not tir.schedule.analysis.has_block(sch, "D")
    assert [tir.schedule.analysis.is_output_block(sch, sch.get_block(name)) for name in "BC"] == [False, True]
    assert isinstance(sch.get_block("B"), tir.schedule.BlockRV)


def test_the_kernels_of_a_machine_are_measured() -> None:
    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.exp(x)))
    machine = tvm.runtime.profiler_vm.VirtualMachineProfiler(tvm.relay.vm.compile(mod, "llvm"), tvm.cpu())
    report = machine.profile(np.ones(2, "float32"))
    assert isinstance(report, tvm.runtime.profiling.Report)
    assert report.calls[0]["Duration (us)"] > 0


def test_compute_versions_are_numbers() -> None:
    assert nvcc.parse_compute_version("7.5") == (7, 5)
    assert nvcc.have_tensorcore("7.5")
    assert not nvcc.have_bf16("7.5")
    with pytest.raises(OptionError, match="compute version 'x', expected two numbers"):
        nvcc.parse_compute_version("x")
    if not tvm.cuda(0).exist:
        with pytest.raises(DeviceError, match="no compute version"):
            nvcc.get_target_compute_version()


def test_files_are_copied_once(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "folder" / "target"
    source.write_text("1")
    download.download(source.as_uri(), target)
    source.write_text("2")
    download.download(source.as_uri(), target)
    assert target.read_text() == "1"
    download.download(source.as_uri(), target, overwrite=True)
    assert target.read_text() == "2"
    with pytest.raises(LoadError, match="missing"):
        download.download((tmp_path / "missing").as_uri(), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_blas_multiplies_matrices() -> None:
    a, b = te.placeholder((3, 4), name="A"), te.placeholder((5, 4), name="B")
    c = cblas.matmul(a, b, transb=True)
    x, y = np.arange(12, dtype="float32").reshape(3, 4), np.arange(20, dtype="float32").reshape(5, 4)
    z = np.zeros((3, 5), "float32")
    tvm.build(te.create_schedule(c.op), [a, b, c])(x, y, z)
    assert (z == x @ y.T).all()


def test_schedules_of_operators_are_default_schedules() -> None:
    a = te.placeholder((2, 8), name="A")
    b = topi.nn.softmax(a)
    x, y = np.random.default_rng(0).random((2, 8), np.float32), np.zeros((2, 8), "float32")
    for target, schedule in (("llvm", topi.x86.schedule_softmax), ("cuda-emulated", topi.cuda.schedule_softmax)):
        tvm.build(schedule([b]), [a, b], target)(x, y)
        np.testing.assert_allclose(y, topi.testing.softmax_python(x), rtol=1e-5)
    with pytest.raises(AttributeError, match="no attribute 'schedule_nothing'"):
        topi.generic.schedule_nothing


@pytest.mark.parametrize("padding", ["SAME", "VALID", 1])
def test_references_of_convolutions_agree_with_operators(padding: Any) -> None:
    a, w = te.placeholder((1, 2, 6, 6), name="A"), te.placeholder((3, 2, 3, 3), name="W")
    pads: Any = {"SAME": 1, "VALID": 0}.get(padding, padding)
    b = topi.nn.conv2d_nchw(a, w, 1, pads, 1)
    rng = np.random.default_rng(0)
    x, v = rng.random((1, 2, 6, 6), np.float32), rng.random((3, 2, 3, 3), np.float32)
    expected = topi.testing.conv2d_nchw_python(x, v, 1, padding)
    y = np.zeros(expected.shape, "float32")
    tvm.build(te.create_schedule(b.op), [a, w, b])(x, v, y)
    np.testing.assert_allclose(y, expected, rtol=1e-4)


def test_an_operator_is_compared_with_its_reference() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    args = (tvm.cpu(0), topi.exp, topi.testing.get_injective_schedule("llvm"))
    topi.testing.compare_numpy_tvm([x], np.exp(x), "llvm", *args)
    with pytest.raises(AssertionError):
        topi.testing.compare_numpy_tvm([x], np.exp(x) + 1, "llvm", *args)


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        (topi.testing.strided_slice_python(np.arange(6), [1], [5], [2]), [1, 3]),
        (topi.testing.strided_slice_python(np.arange(6), [1], [2], [1], "size"), [1, 2]),
        (topi.testing.one_hot(np.array([0, 2]), 1, 0, 3, -1, "int32"), [[1, 0, 0], [0, 0, 1]]),
        (topi.testing.dilate_python(np.array([1, 2]), [2]), [1, 0, 2]),
        (topi.testing.gather_python(np.array([[1, 2], [3, 4]]), 1, np.array([[1], [0]])), [[2], [3]]),
        (topi.testing.dense(np.eye(2), np.array([[1.0, -2.0]]), use_relu=True), [[1], [0]]),
    ],
)
def test_references_of_topi(value: Any, reference: Any) -> None:
    assert np.array_equal(value, reference)


# Packages


PROGRAM = """
import platform
import sys
import tvm, topi
from tvm import te
from tvm.contrib import utils
import tvm.testing, topi.testing
from topi.util import get_const_tuple
import tvm.script.relax
from tvm.script.tir import prim_func
from tvm.meta_schedule.runner.config import EvaluatorConfig
from tvm.contrib import emscripten
from tvm.tir.tensor_intrin.arm_cpu import DP4A_INTRIN
import stepwell.frontends.tvm as own
assert tvm is own and topi is own.topi and utils is own.contrib.utils
assert tvm.__spec__.name == own.__name__
assert sys.argv[1:] == ["one"], sys.argv
try:
    import tvm.nothing
except ModuleNotFoundError:
    print(get_const_tuple(te.placeholder((2, 3)).shape))
"""


def test_a_program_runs_with_its_own_imports(warm_python: WarmPython, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = warm_python.run("-m", "stepwell.frontends.tvm", str(program), "one")
    assert done.stdout == "(2, 3)\n", done.stderr


def test_a_command_without_a_program_is_an_error(warm_python: WarmPython) -> None:
    done = warm_python.run("-m", "stepwell.frontends.tvm")
    assert done.returncode == 1
    assert "usage: python -m stepwell.frontends.tvm [--emulate-gpu[=checked]] PROGRAM" in done.stderr


CHILDREN = """
import multiprocessing, subprocess, sys

def names():
    import topi, tvm.te
    return tvm.__name__, tvm.te is sys.modules["stepwell.frontends.tvm.te"], str(tvm.cuda(0))

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(names))
    subprocess.run([sys.executable, "-c", "from tvm import te, topi; import tvm; print(tvm.cuda(0), topi.__name__)"])
"""


def test_processes_of_a_program_import_the_same_names(warm_python: WarmPython, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CHILDREN)
    done = warm_python.run("-m", "stepwell.frontends.tvm", "--emulate-gpu", str(program))
    assert done.stdout.splitlines() == [
        "('stepwell.frontends.tvm', True, 'cuda_emulated(0)')",
        "cuda_emulated(0) stepwell.frontends.tvm.topi",
    ], done.stderr


TESTS = """
import tvm.testing

size = tvm.testing.parameter(1, 2)

@tvm.testing.parametrize_targets("llvm")
def test_size(size, target, dev):
    assert size in (1, 2) and target == "llvm" and dev == tvm.cpu(0)

@tvm.testing.requires_opencl
def test_opencl():
    assert False

@tvm.testing.requires_metal()
def test_metal():
    assert False

if __name__ == "__main__":
    tvm.testing.main()
"""


def test_marks_and_fixtures_of_tests(warm_python: WarmPython, tmp_path: Path) -> None:
    program = tmp_path / "test_sizes.py"
    program.write_text("import stepwell.frontends.tvm as own\nown.install()\n" + TESTS)
    done = warm_python.run(str(program), "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "2 passed, 2 skipped" in done.stdout, done.stdout + done.stderr


def test_a_function_on_buffers_is_a_module_of_its_global_symbol() -> None:
    _, a, b = shifted()
    func = te.create_prim_func([a, b])
    assert list(tvm.IRModule.from_expr(func.with_attr("global_symbol", "shift"))) == ["shift"]
    assert list(tvm.IRModule.from_expr(func)) == ["main"]


def test_other_packages_of_tvm_are_modules() -> None:
    assert tvm.support.utils is tvm.contrib.utils
    assert tvm_ffi.structural_equal(tvm.tir.Var("x", "int32") + 1, tvm.tir.Var("y", "int32") + 1, map_free_vars=True)


def test_submodules_have_the_names_of_their_package(warm_python: WarmPython, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from tvm.tir.expr import IntImm\n"
        "from tvm.relay.op.nn import conv2d\n"
        "from tvm.te.schedule import Schedule\n"
        "from tvm.error import TVMError\n"
        "import tvm, tvm.te.tensor\n"
        "assert IntImm is tvm.tir.IntImm is tvm.tir.expr.IntImm\n"
        "assert Schedule is tvm.te.Schedule and conv2d is tvm.relay.nn.conv2d and tvm.te.tensor is tvm.te\n"
        "assert TVMError is tvm.TVMError\n"
        "from tvm.topi.nn.pad import pad\n"
        "from topi.cuda.pooling import schedule_pool\n"
        "from tvm import te, topi\n"
        "data = te.placeholder((2, 3))\n"
        "assert list(topi.nn.pad(data, [1, 1]).shape) == list(pad(data, [1, 1]).shape) == [4, 5]\n"
        "assert topi.nn.pad.dense is topi.nn.dense and schedule_pool is topi.cuda.schedule_pool\n"
        "from tvm.topi.testing.conv2d_nchw_python import conv2d_nchw_python\n"
        "from topi.testing.dense import dense\n"
        "assert dense is topi.testing.dense.dense and conv2d_nchw_python is topi.testing.dense.conv2d_nchw_python\n"
        "assert 'dense' in topi.testing.dense.__all__\n"
        "from tvm.relax.op.binary import add\n"
        "from tvm.runtime.device import Device\n"
        "from tvm.script.ir_builder.tir.frame import ForFrame\n"
        "assert str(add) == str(tvm.relax.op.add) and Device is tvm.runtime.Device\n"
        "try:\n"
        "    from topi.nn.conv2d import SpatialPack\n"
        "except ImportError as error:\n"
        "    assert \"cannot import name 'SpatialPack'\" in str(error)\n"
        "for absent in ('tvm.tir.usmp', 'tvm.target.datatype', 'tvm.te.nothing'):\n"
        "    try:\n"
        "        __import__(absent)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
        "from tvm import micro\n"
        "from tvm.contrib.cudnn import softmax\n"
        "assert tvm.micro is micro\n"
        "for absent in (micro.generate_project, softmax):\n"
        "  try:\n"
        "    absent('conv2d')\n"
        "  except tvm.TVMError as error:\n"
        "    print(error)\n"
    )
    done = warm_python.run("-m", "stepwell.frontends.tvm", str(program))
    lines = done.stdout.splitlines()
    assert lines[0] == "module 'tvm.tir.usmp' is absent in Stepwell: the memory of graphs is planned by relay.build"
    assert lines[1].startswith("module 'tvm.target.datatype' is absent in Stepwell: types of users' own are absent")
    assert lines[2] == "No module named 'tvm.te.nothing'"
    assert lines[3].startswith("tvm.micro.generate_project is absent in Stepwell: programs run on this machine")
    assert lines[4].startswith("tvm.contrib.cudnn.softmax is absent in Stepwell: relay.build with the")


def test_a_scope_tags_the_tensors_that_it_computes() -> None:
    a = te.placeholder((8,), name="A")

    @te.tag_scope(tag=topi.tag.ELEMWISE)
    def double(x: te.Tensor) -> te.Tensor:
        return te.compute((8,), lambda i: x[i] * 2.0, name="B")

    assert topi.tag.is_broadcast(double(a).op.tag)
    assert te.compute((8,), lambda i: a[i], name="C").op.tag == ""
    with te.tag_scope("conv"), pytest.raises(te.TeError, match="tag 'own' within tag_scope 'conv'"):
        te.compute((8,), lambda i: a[i], name="C", tag="own")
    with te.tag_scope("conv"), pytest.raises(te.TeError, match="tag_scope 'pool' within tag_scope 'conv'"):
        te.tag_scope("pool").__enter__()


def test_a_device_has_a_target() -> None:
    kinds = [Target.from_device(each).kind.name for each in (tvm.cpu(), "cuda", tvm.device("cuda-emulated"))]
    assert kinds == ["llvm", "cuda", "cuda-emulated"]


def test_a_context_of_v0_7_traces_passes() -> None:
    seen: list[tuple[str, bool]] = []
    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.exp(x)))
    with tvm.relay.build_config(opt_level=3, trace=lambda mod, info, is_before: seen.append((info.name, is_before))):
        tvm.relay.transform.FoldConstant()(mod)
    assert seen == [("FoldConstant", True), ("FoldConstant", False)]


def test_operators_have_facts() -> None:
    add, conv = tvm.ir.Op.get("add"), tvm.ir.Op.get("nn.conv2d")
    assert add.get_attr("TOpPattern") == 1
    assert conv.has_attr("FTVMFakeQuantizationToInteger")
    assert not tvm.ir.Op.get("nn.softmax").has_attr("FTVMFakeQuantizationToInteger")
    assert conv.get_attr("FTVMMixedPrecisionConversionType")(None, "float16") == (0, "float16", "float16")
    tvm.ir.register_op_attr("add", "FOwn", 3)
    assert add.get_attr("FOwn") == 3
    add.reset_attr("FOwn")
    assert add.get_attr("FOwn") is None


def test_the_script_of_graphs_is_the_text_of_relay() -> None:
    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.relay.Module.from_expr(tvm.relay.Function([x], tvm.relay.exp(x)))
    assert mod.script() == mod.astext(show_meta_data=False)
    assert "exp(%x)" in mod.script()


def test_passes_have_the_types_of_tvm() -> None:
    made = tvm.transform.module_pass(lambda mod, ctx: mod, opt_level=1, name="same")
    assert isinstance(made, tvm.transform.ModulePass)
    assert isinstance(made, tvm.ir.transform.ModulePass)
    assert isinstance(tvm.relay.transform.InferType(), tvm.relay.transform.FunctionPass)
    assert isinstance(tvm.relay.transform.Sequential([made]), tvm.transform.Pass)


def test_a_default_schedule_for_a_gpu() -> None:
    a = te.placeholder((64,), name="A")
    mod = tvm.IRModule({"main": te.create_prim_func([a, te.compute((64,), lambda i: a[i] + 1.0, name="B")])})
    with Target("cuda"):
        assert "threadIdx.x" in tir.transform.DefaultGPUSchedule()(mod).script()


def test_registered_functions_are_listed() -> None:
    tvm.register_func("stepwell.tests.names.listed", lambda: None)
    assert "stepwell.tests.names.listed" in tvm.registry.list_global_func_names()


def test_files_of_packages_of_tvm_are_those_packages(warm_python: WarmPython) -> None:
    lines = [
        "from tvm.relay.op.nn.nn import conv2d",
        "from tvm.relay.analysis.analysis import free_vars",
        "import tvm.relay.frontend.pytorch, tvm.relax.pipeline",
        "from tvm._ffi.registry import register_func",
        "import tvm.s_tir.pipeline, tvm.dlight.gpu.fallback, tvm.relax.frontend.torch.fx_translator",
        "from tvm.topi.nn.conv2d import *",
        "assert conv2d_nchw is tvm.topi.nn.conv2d_nchw",
        "from tvm.topi.nn.bnn import *",
        "from tvm.topi.einsum import einsum",
        "import tvm.topi.nn.conv1d_transpose, tvm.topi.image.resize, tvm.topi.random.kernel",
    ]
    code = "import stepwell.frontends.tvm as t; t.install()\n" + "\n".join(lines)
    done = warm_python.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_pipelines_of_kernels_leave_them_to_the_build() -> None:
    _, a, b = shifted()
    mod = tvm.IRModule({"main": te.create_prim_func([a, b])})
    pipelines = tvm.tir.pipeline
    for each in (pipelines.get_default_tir_pipeline(), pipelines.finalize_host_passes()):
        assert each(mod).script() == mod.script()
    with pytest.raises(OptionError, match="pipeline 'nothing', expected one of default"):
        pipelines.get_tir_pipeline("nothing")


def test_data_types_of_numpy_are_data_types() -> None:
    dtypes: Any = (np.float16, np.dtype("float16"))
    x: Any = tvm.relay.var("x", shape=(1,))
    for dtype in dtypes:
        assert tvm.relay.const(1, dtype).data.dtype == "float16"
        assert tvm.relax.const(1, dtype).data.dtype == "float16"
        assert te.placeholder((1,), dtype).dtype == "float16"
        assert te.var("n", np.int64).astype(dtype).dtype == "float16"
        typed: Any = tvm.relay.var("x", shape=(1,), dtype=dtype).type_annotation
        assert typed.dtype == "float16"
        cast: Any = tvm.relay.cast(x, dtype)
        assert cast.attrs.dtype == "float16"
        assert tvm.relax.TensorStructInfo((1,), dtype).dtype == "float16"
        assert tvm.nd.empty((1,), dtype).dtype == "float16"


def test_lists_and_tuples_are_arrays_of_nodes() -> None:
    assert isinstance((1, 2), tvm.ir.Array)
    assert isinstance([], tvm.ir.container.Array)
    assert not isinstance({}, tvm.ir.Array)
    assert tvm.ir.Array([1, 2])[1] == 2


def test_devices_by_the_names_of_their_arguments() -> None:
    assert tvm.device(dev_type="cpu", dev_id=0) == tvm.cpu()
    assert tvm.cuda(dev_id=0) == tvm.cuda(0)


def test_graphs_of_users_are_read() -> None:
    x = tvm.relay.frontend.common.new_var("x", shape=(1, 2))
    y = tvm.relay.var("y", shape=(1, 2))
    bound = tvm.relay.expr.bind(tvm.relay.Function([x, y], x + y), {y: tvm.relay.const(np.ones((1, 2), "float32"))})
    assert [each.name_hint for each in bound.params] == ["x"]
    mod = tvm.relay.transform.FastMath()(tvm.IRModule.from_expr(bound))
    library = tvm.relay.build(mod, "llvm")
    shapes, dtypes = tvm.driver.tvmc.runner.get_input_info(library.get_graph_json(), library.get_params())
    assert (shapes, dtypes) == ({"x": [1, 2]}, {"x": "float32"})
    assert tvm.driver.tvmc.transform.apply_graph_transforms(mod, {"mixed_precision": True})


def test_inputs_of_models_of_onnx_have_types() -> None:
    onnx = pytest.importorskip("onnx")
    info = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, [1, "n"])
    name, shape, dtype, names = tvm.relay.frontend.onnx.get_info(info)
    assert (name, shape[0], dtype, names) == ("x", 1, "float16", [1, "n"])
    assert isinstance(shape[1], tvm.relay.Any)


def test_loops_become_blocks_by_the_name_of_v0_8() -> None:
    a = te.placeholder((8,), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")]))
    _, inner = sch.split(sch.get_loops("B")[0], [None, 4])
    sch.blockize(loop=inner)
    assert tir.schedule.analysis.has_block(sch, "B_o")
    with pytest.raises(ScheduleError, match="expected a loop, a block or a list of blocks"):
        sch.blockize()


def test_unknown_sizes_have_a_class_in_tir() -> None:
    assert isinstance(tvm.relay.Any(), tvm.tir.Any)
    assert not isinstance(te.placeholder((2,)).shape[0], tvm.tir.Any)


def test_buffers_are_numbers_with_a_side_as_in_v0_8() -> None:
    a = te.placeholder((8, 4), name="A")
    func = te.create_prim_func([a, te.compute((8, 4), lambda i, j: a[i, j] + 1.0, name="B")])
    texts = set[str]()
    for arguments, options in (
        ((("read", 0), lambda i, j: (j, i)), {}),
        ((0, "read", lambda i, j: (j, i)), {}),
        ((0, "read"), {"index_map": lambda i, j: (j, i)}),
        ((), {"buffer_index": 0, "buffer_index_type": "read", "index_map": lambda i, j: (j, i)}),
    ):
        sch = tir.Schedule(func)
        sch.transform_layout("B", *arguments, **options)  # pyright: ignore[reportArgumentType]
        texts.add(sch.mod.script())
    assert len(texts) == 1
    sch = tir.Schedule(func)
    copy = sch.reindex("B", 0, "read")
    assert len(sch.get_consumers(copy)) == 1
    with pytest.raises(ScheduleError, match='buffer 0: expected "read" or "write" after its number'):
        sch.reindex("B", 0)


FILL = """
@T.prim_func
def fill(c: T.handle):
    C = T.match_buffer(c, (16, 16), "float32", align=128, offset_factor=16, scope="wmma.accumulator")
    with T.block("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        BODY
"""
LOOPS = """for i, j in T.grid(16, 16):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)"""
CALL = 'T.evaluate(T.tvm_fill_fragment(C.data, 16, 16, 16, C.elem_offset // 256, T.float32(0), dtype="handle"))'


def test_fragments_may_be_parameters_of_intrinsics() -> None:
    description, implementation = (tvm.script.from_source(FILL.replace("BODY", body)) for body in (LOOPS, CALL))
    tir.TensorIntrin.register("tests.names.fill", description, implementation, override=True)
    assert tir.TensorIntrin.get("tests.names.fill")


def test_negative_positions_are_gathered() -> None:
    data, rows = np.arange(6, dtype="float32").reshape(2, 3), np.array([[-1], [0]])
    x, i = tvm.relay.var("x", shape=(2, 3)), tvm.relay.var("i", shape=(2, 1), dtype="int64")
    func = tvm.relay.Function([x, i], tvm.relay.gather(x, 1, i, support_negative_indices=True))
    run = tvm.relay.create_executor("graph", mod=tvm.IRModule.from_expr(func), target="llvm").evaluate()
    assert run(data, rows).numpy().tolist() == [[2], [3]]


def test_a_module_has_the_registered_functions_of_its_prefix() -> None:
    tvm.register_func("names_of_a_test.twice", lambda x: 2 * x, override=True)
    module = ModuleType("names_of_a_test")
    with patch.dict(sys.modules, {module.__name__: module}):
        tvm_ffi.init_ffi_api("names_of_a_test")
    assert module.twice(4) == 8  # pyright: ignore[reportAttributeAccessIssue]


def test_arithmetic_by_name() -> None:
    generic = tvm.tir.generic
    n, a = te.var("n"), te.placeholder((4,), name="A")
    assert str(generic.add(n, 1)) == "n + 1"
    assert str(generic.subtract(1, n)) == "1 - n"
    assert str(generic.multiply(n, n)) == "n * n"
    assert str(generic.divide(n, 2)) == str(tir.div(n, 2))
    assert str(generic.floordiv(n, 2)) == "n // 2"
    assert generic.cast(n, "float32").dtype == "float32"
    assert generic.cast(a, "int8").dtype == "int8"
    assert generic.divide(1.0, a).shape == a.shape


def test_a_flattened_buffer_has_a_dimension_for_each_axis_of_memory() -> None:
    n = te.var("n")

    def flattened(*args: Any, **options: Any) -> Any:
        buffer: Any = tir.decl_buffer(*args, **options)
        return buffer.get_flattened_buffer()

    flat = flattened((4, n))
    assert [str(size) for size in flat.shape] == ["4 * n"]
    assert flat.get_flattened_buffer() is flat
    parts = flattened((4, 16, 32), axis_separators=[2])
    assert list(parts.shape) == [64, 32]
    assert parts.axis_separators == (1,)
    strided = flattened((4, 6), strides=(8, 1), elem_offset=3)
    assert list(strided.shape) == [32]
    assert strided.elem_offset == 3


def test_variables_of_a_function_are_declared_once() -> None:
    x, y = te.var("x"), te.var("y")
    z = tir.Evaluate(x + y)
    assert tir.analysis.verify_ssa(tir.PrimFunc([x, y], z))
    assert not tir.analysis.verify_ssa(tir.PrimFunc([x, y], tir.LetStmt(x, 1, z)))
    loop = tir.For(x, 0, 4, tir.ForKind.SERIAL, z)
    assert tir.analysis.verify_ssa(tir.PrimFunc([y], loop))
    assert not tir.analysis.verify_ssa(tir.PrimFunc([y], tir.SeqStmt([loop, loop])))
    _, a, b = shifted()
    assert tir.analysis.verify_ssa(te.create_prim_func([a, b]))


def test_blocks_with_axes_use_no_loops_inside() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
"""
    assert tir.analysis.verify_well_formed(tvm.script.from_source(text))
    assert tir.analysis.verify_well_formed(tvm.script.from_source(text.replace("v = T.axis.spatial(8, i)", "v = i")))
    wrong = tvm.script.from_source(text.replace("A[v]", "A[i]"))
    assert not tir.analysis.verify_well_formed(wrong, assert_mode=False)
    with pytest.raises(tvm.TVMError, match="block B: loop variable i is used inside of it, expected an axis"):
        tir.analysis.verify_well_formed(wrong)
