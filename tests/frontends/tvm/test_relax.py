"""`tvm.relax`: the results of an article's programs, passes under TVM's names, saved programs."""

# pyright: reportInvalidTypeForm=false

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, UnsupportedError, VMExecutable, parse_tvmscript
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R

ARTICLE = Path(__file__).parents[2] / "data" / "articles" / "relax_end_to_end.py"


@pytest.fixture(scope="module")
def article() -> dict[str, Any]:
    return runpy.run_path(str(ARTICLE))


def test_all_variants_of_the_article_compute_the_results_of_numpy(article: dict[str, Any]) -> None:
    results = article["results"]
    assert {"numpy", "loops", "call_tir in numpy", "TensorIR", "libraries", "mixture", "bound parameters"} <= set(
        results
    )
    for value in results.values():
        np.testing.assert_allclose(value, results["numpy"], rtol=1e-4, atol=1e-5)


def test_functions_of_other_libraries_share_the_memory_of_the_machine(article: dict[str, Any]) -> None:
    assert article["addresses"]
    assert all(theirs == ours for theirs, ours in article["addresses"])


def test_torch_reads_arrays_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    array = tvm.nd.array(np.arange(4, dtype="float32"))
    torch.from_dlpack(array)[1] = 7
    np.testing.assert_array_equal(array.numpy(), [0, 7, 2, 3])


def test_bound_parameters_are_constants_in_the_script(article: dict[str, Any]) -> None:
    assert 'w0: R.Tensor((128, 784), dtype="float32") = metadata["relax.expr.Constant"]["w0"]' in article["script"]
    assert 'def main(x: R.Tensor((1, 784), dtype="float32"))' in article["script"]


@I.ir_module
class Operators:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            unused = R.exp(x)  # noqa: F841
            a = R.add(x, R.const(1.0))
            b = R.add(x, R.const(1.0))
            c = R.multiply(R.const(2.0), R.const(3.0))
            y = R.multiply(R.multiply(a, b), c)
            R.output(y)
        return y


def run(mod: Any, *args: Any) -> np.ndarray[Any, Any]:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args).numpy()


@pytest.mark.parametrize(
    ("transform", "present", "absent"),
    [
        (relax.transform.LegalizeOps, "R.call_tir(cls.multiply", "R.multiply("),
        (relax.transform.FoldConstant, "R.const(6.0", "R.const(3.0"),
        (relax.transform.DeadCodeElimination, "R.add(", "R.exp("),
        (relax.transform.EliminateCommonSubexpr, "R.multiply(a, a)", "R.multiply(a, b)"),
        (relax.transform.ToNonDataflow, "R.exp(", "R.dataflow("),
        (relax.transform.DataflowUseInplaceCalls, "R.call_tir_inplace(cls.multiply", "R.multiply("),
    ],
)
def test_passes_have_the_names_of_tvm(transform: Any, present: str, absent: str) -> None:
    before = IRModule(Operators.op, Operators.constants)
    after = transform()(before)
    assert present in after.script()
    assert absent in before.script()
    assert absent not in after.script()
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(run(after, x), 6 * (x + 1) ** 2)


def test_work_on_weights_is_done_once() -> None:
    @I.ir_module
    class Layer:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((2, 4), "float32"), b: R.Tensor((2,), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y = R.add(R.matmul(x, R.permute_dims(w)), b)
                R.output(y)
            return y

    vm = relax.VirtualMachine(relax.build(relax.transform.LiftTransformParams()(Layer), "llvm"), tvm.cpu())
    x, w, b = (np.arange(count, dtype="float32") for count in (12, 8, 2))
    weights = vm["main_transform_params"]([w.reshape(2, 4), b])
    assert [each.shape for each in weights] == [(2,), (4, 2)]
    got = vm["main"](x.reshape(3, 4), *weights).numpy()
    np.testing.assert_array_equal(got, x.reshape(3, 4) @ w.reshape(2, 4).T + b)
    with pytest.raises(UnsupportedError, match="shared_transform"):
        relax.transform.LiftTransformParams(shared_transform=True)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_context_controls_optimization(level: int) -> None:
    x = np.arange(8, dtype="float32").reshape(2, 4)
    with tvm.transform.PassContext(opt_level=level):
        np.testing.assert_array_equal(run(Operators, x), 6 * (x + 1) ** 2)


def test_a_program_is_exported_and_loaded(tmp_path: Path) -> None:
    executable = relax.build(Operators, "llvm")
    executable.export_library(tmp_path / "program.tar", "cc", options=[])
    loaded = tvm.runtime.load_module(tmp_path / "program.tar")
    assert isinstance(loaded, relax.Executable)
    assert isinstance(loaded.executable, VMExecutable)
    assert loaded.as_text() == executable.as_text()
    vm = relax.VirtualMachine(loaded, [tvm.cpu()])
    assert vm["main"](np.zeros((3, 4), "float32")).shape == (3, 4)
    assert vm.time_evaluator("main", tvm.cpu(), number=1)(np.zeros((3, 4), "float32")).mean > 0


def test_what_is_not_supported_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="BindParams"):
        relax.build(Operators, "llvm", params={"x": np.zeros(1)})
    with pytest.raises(ArgumentError, match="expected one: the program is compiled for one device"):
        relax.VirtualMachine(relax.build(Operators), [tvm.cpu(), tvm.cpu()])
    with pytest.raises(ArgumentError, match="function main: no parameter 'y'"):
        relax.transform.BindParams("main", {"y": np.zeros(1)})(IRModule(Operators.op))


def test_the_former_names_are_those_of_today() -> None:
    assert relax.vm.build is relax.build
    assert relax.vm.VirtualMachine is relax.VirtualMachine


def test_parameters_become_a_tuple() -> None:
    x, w, b = (relax.Var(name, relax.TensorStructInfo((2,), "float32")) for name in "xwb")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w, b], attrs={"num_input": 1}):
        with builder.dataflow():
            y = builder.emit_output(builder.emit(x * w) + b)
        builder.emit_func_output(y)
    mod = relax.transform.BundleModelParams("weights")(builder.get())
    assert [param.name_hint for param in mod["main"].params] == ["x", "weights"]
    values = np.float32(3) * np.ones((3, 2), "float32")
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    assert machine["main"](values[0], (values[1], values[2])).numpy().tolist() == [12, 12]


def test_a_trace_has_the_passes_of_its_context() -> None:
    mod = relax.testing.get_relax_matmul_module((2, 2), (2, 2), "float32")
    trace = relax.transform.tuning_api.Trace(mod)
    with tvm.transform.PassContext(trace=trace):
        legal = relax.transform.LegalizeOps()(relax.backend.DispatchSortScan()(mod))
    assert trace.names == ["DispatchSortScan", "LegalizeOps"]
    assert (trace.size, str(trace.out_mod)) == (2, str(legal))


WORDS_OF_2022 = """
@R.function
def main(x: Tensor((3, 4), "float32"), y: Tensor((3, 4), "float32")):
    with relax.dataflow():
        lv0 = relax.multiply(x, y)
        gv0 = relax.add(lv0, y)
        relax.output(gv0)
    return gv0
"""


def test_words_of_2022_are_words_of_today() -> None:
    x, w = (relax.Var(name, relax.TensorStructInfo((2, 2), "float32")) for name in "xw")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit(relax.op.relu(relax.op.dense(x, w)))
            y = builder.emit_output(relax.op.linear_algebra.matmul(y, relax.op.nn.leaky_relu(w, 0.5)))
        builder.emit_func_output(y)
    values = np.array([[1, -2], [3, 4]], "float32")
    expected = np.maximum(values @ values.T, 0) @ np.where(values > 0, values, values / 2)
    machine = relax.VirtualMachine(tvm.compile(builder.get(), "llvm"), tvm.cpu(), profile=True)
    np.testing.assert_allclose(machine["main"](values, values).numpy(), expected)
    array = np.full((3, 4), 2, "float32")
    mod = parse_tvmscript(WORDS_OF_2022, extra_vars={"relax": relax})
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    assert (machine["main"](array, array).numpy() == 6).all()


def test_memory_is_estimated_with_and_without_sharing() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((512, 512), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = x
            for _ in range(4):
                y = builder.emit(relax.op.nn.softmax(relax.op.matmul(y, x)))
            y = builder.emit_output(y)
        builder.emit_func_output(y)
    text = relax.analysis.estimate_memory_usage(builder.get())
    alone, shared, share = (float(each) for each in re.findall(r"([\d.e-]+)(?: GB|%)", text))
    assert "Function main" in text
    assert alone >= 6 * 2**20 / 2**30 > 3 * 2**20 / 2**30 >= shared > 0
    assert share == pytest.approx(100 * shared / alone, abs=0.2)
    allocated = relax.transform.CallTIRRewrite()(relax.transform.LegalizeOps()(builder.get()))
    assert "Function main" in relax.analysis.estimate_memory_usage(allocated)
    assert "have 0.0 GB" in relax.analysis.estimate_memory_usage(IRModule(Operators.op))


@I.ir_module
class Convolution:
    @R.function
    def main(
        x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((3, 2, 3, 3), "float32"), b: R.Tensor((3, 1, 1), "float32")
    ) -> R.Tensor((1, 3, 4, 4), "float32"):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=(1, 1))
            z = R.nn.relu(R.add(y, b))
            R.output(z)
        return z


def test_legal_kernels_are_fused_to_kernels_with_the_names_of_tvm() -> None:
    passes = (relax.transform.LegalizeOps, relax.transform.AnnotateTIROpPattern)
    passes = (*passes, relax.transform.FuseOps, relax.transform.FuseTIR)
    mod = tvm.transform.Sequential([each() for each in passes])(Convolution)
    sch = tvm.tir.Schedule(mod)
    for name in ("pad_temp", "conv2d_nchw", "T_add", "compute"):
        sch.get_block(name, "fused_conv2d_add_relu")
    assert {name.name_hint for name in mod.functions} == {"fused_conv2d_add_relu", "main"}
    arrays = [np.random.default_rng(0).random(shape, "float32") for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (3, 1, 1))]
    before, after = (relax.VirtualMachine(relax.build(each), tvm.cpu())["main"](*arrays) for each in (Convolution, mod))
    np.testing.assert_allclose(after.numpy(), before.numpy(), rtol=1e-5)
