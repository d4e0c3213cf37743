"""tvmc: models from files to packages and results, in Python and in a shell."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell import ArgumentError, LoadError, OptionError, UnsupportedError
from stepwell.frontends import relay
from stepwell.frontends.tvm import IRModule, nd
from stepwell.frontends.tvm.driver import tvmc
from stepwell.frontends.tvm.driver.tvmc.main import main, parse_shape_string

onnx = pytest.importorskip("onnx")
W = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
X = np.linspace(-2, 2, 8, dtype="float32").reshape(2, 4)


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    """A model with the result `x @ W.T` of any number of rows."""
    helper: Any = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, ("n", 4))],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(W.T), "w")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def graph() -> tvmc.TVMCModel:
    """The same model with a parameter `w`."""
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    return tvmc.TVMCModel(IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), {"w": nd.array(W)})


def test_a_model_of_a_file_is_compiled_and_runs(onnx_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tvmc.load(str(onnx_file), shape_dict={"x": [2, 4]})
    model.summary()
    assert "nn.matmul(%x" in capsys.readouterr().out
    result = tvmc.run(tvmc.compile(model, target="llvm"), device="cpu", inputs={"x": X})
    np.testing.assert_allclose(result.get_output("output_0"), X @ W.T, rtol=1e-6)
    assert "Execution time summary:" in str(result)
    assert str(result).endswith("['output_0']")
    assert len(result.times.results) == 1


def test_times_are_those_of_a_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    package = tvmc.compile(graph(), "llvm")
    assert len(tvmc.run(package, benchmark=True, repeat=3, number=2, end_to_end=True).times.results) == 3
    tvmc.run(package, profile=True)
    assert "dense" in capsys.readouterr().out


def test_parameters_stay_inside_of_packages_and_saved_models(tmp_path: Path) -> None:
    graph().save(tmp_path / "model.tar")
    again = tvmc.TVMCModel(model_path=tmp_path / "model.tar")
    tvmc.compile(again, "llvm", package_path=tmp_path / "package.tar", dump_code="relay, ll")
    package = tvmc.TVMCPackage(tmp_path / "package.tar")
    assert [spec.name for spec in package.library.executable.inputs] == ["x"]
    np.testing.assert_allclose(tvmc.run(package, inputs={"x": X}).outputs["output_0"], X @ W.T, rtol=1e-6)
    assert "nn.dense" in (tmp_path / "package.tar.relay").read_text()
    assert "define" in (tmp_path / "package.tar.ll").read_text()


def test_a_saved_model_keeps_data_types_that_numpy_lacks(tmp_path: Path) -> None:
    x = relay.var("x", shape=(2,), dtype="bfloat16")
    half = np.array([0.5, -3], ml_dtypes.bfloat16)
    model = tvmc.TVMCModel(IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(half)))))
    model.save(tmp_path / "model.tar")
    (again,) = tvmc.TVMCModel(model_path=tmp_path / "model.tar").mod.constants.values()
    np.testing.assert_array_equal(np.asarray(again), half, strict=True)


def test_layouts_and_precisions_are_those_of_the_passes() -> None:
    x, w = relay.var("x", shape=(1, 3, 5, 5)), relay.var("w", shape=(2, 3, 3, 3))
    model = tvmc.TVMCModel(IRModule.from_expr(relay.Function([x, w], relay.nn.conv2d(x, w))))
    inputs = {"x": np.ones((1, 3, 5, 5), "float32"), "w": np.ones((2, 3, 3, 3), "float32")}
    cases: list[dict[str, Any]] = [{"desired_layout": "NHWC"}, {"mixed_precision": True}, {"alter_layout": "NCHW"}]
    for options in cases:
        result = tvmc.run(tvmc.compile(model, "llvm", **options), inputs=inputs).get_output("output_0")
        np.testing.assert_array_equal(result, np.full((1, 2, 3, 3), 27))
        assert result.dtype == ("float16" if "mixed_precision" in options else "float32")


def test_inputs_that_are_not_given_are_filled() -> None:
    package = tvmc.compile(graph(), "llvm")
    np.testing.assert_allclose(tvmc.run(package, fill_mode="ones").outputs["output_0"], [W.sum(1)] * 2, rtol=1e-6)
    np.testing.assert_array_equal(tvmc.run(package, fill_mode="zeros").outputs["output_0"], np.zeros((2, 3)))
    assert tvmc.run(package).outputs["output_0"].any()


def run(*arguments: Any) -> int:
    return main([str(each) for each in arguments])


def test_a_shell_compiles_and_runs(onnx_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = onnx_file.parent
    np.savez(folder / "in.npz", x=X)
    package = folder / "package.tar"
    assert run("compile", onnx_file, "-o", package, "--input-shapes", "x:[2,4]", "--pass-config", "tir.noalias=1") == 0
    measured = ["--print-time", "--repeat", 2, "--number", 1, "--print-top", 2]
    assert run("run", package, "-i", folder / "in.npz", "-o", folder / "out.npz", *measured) == 0
    np.testing.assert_allclose(np.load(folder / "out.npz")["output_0"], X @ W.T, rtol=1e-6)
    printed = capsys.readouterr().out
    assert "mean (ms)" in printed
    assert f"{int(np.argmax(X @ W.T))}." in printed


def test_mistakes_of_the_user_are_messages(onnx_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["compile", onnx_file.with_suffix(".h5")], "suffix '.h5', expected .onnx, .pt"),
        (["compile", onnx_file.with_name("other.onnx")], "no such file"),
        (["run", onnx_file], "model.onnx"),
    ):
        assert run(*arguments) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("data:[1,3,224,224]", {"data": [1, 3, 224, 224]}),
        ("a:0:[1, n] 'b':[ ]", {"a:0": [1, "n"], "b": []}),
        ('"x":[2],y:[3]', {"x": [2], "y": [3]}),
    ],
)
def test_shapes_of_a_command_line(text: str, shapes: dict[str, Sequence[Any]]) -> None:
    assert parse_shape_string(text) == shapes


def test_wrong_uses_are_errors(tmp_path: Path, onnx_file: Path) -> None:
    package = tvmc.compile(graph(), "llvm")
    with pytest.raises(OptionError, match="input 'y', expected x"):
        tvmc.run(package, inputs={"y": X})
    with pytest.raises(ArgumentError, match="x: float32 of shape"):
        tvmc.run(package, inputs={"x": X[0]})
    with pytest.raises(OptionError, match="fill_mode 'twos', expected random, zeros, ones"):
        tvmc.run(package, fill_mode="twos")
    with pytest.raises(UnsupportedError, match=r"tvmc\.run: hostname is not supported"):
        tvmc.run(package, hostname="board")
    with pytest.raises(ArgumentError, match=r"input x, .* size n is not known"):
        tvmc.run(tvmc.compile(tvmc.load(onnx_file), "llvm"))
    with pytest.raises(FileNotFoundError, match=r"records\.log: no such file of tuning records"):
        tvmc.compile(graph(), "llvm", tuning_records="records.log")
    with pytest.raises(UnsupportedError, match=r"tvmc\.tune: hostname is not supported"):
        tvmc.tune(graph(), "llvm", hostname="board")
    with pytest.raises(OptionError, match="tuner 'best', expected ga, gridsearch"):
        tvmc.tune(graph(), "llvm", tuner="best")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"output_format": "mlf"}, "output_format 'mlf', expected 'so' or 'tar'"),
        ({"dump_code": "ptx"}, "dump_code 'ptx', expected relay, ll, asm"),
        ({"desired_layout": "CHWN"}, "desired_layout 'CHWN', expected NCHW, NHWC"),
        ({"pass_context_configs": ["a"]}, "pass config 'a', expected NAME=VALUE"),
    ]
    for options, message in cases:
        with pytest.raises(OptionError, match=message):
            tvmc.compile(graph(), "llvm", **options)
    with pytest.raises(OptionError, match="format 'caffe', expected onnx, pytorch, relay, mlir"):
        tvmc.load(onnx_file, model_format="caffe")
    with pytest.raises(ArgumentError, match="expected either mod or model_path"):
        tvmc.TVMCModel()
    (tmp_path / "other.tar").write_text("text")
    with pytest.raises(LoadError, match=r"no model of TVMCModel\.save"):
        tvmc.TVMCModel(model_path=tmp_path / "other.tar")


@pytest.mark.parametrize("scheduler", [[], ["--enable-autoscheduler"]])
def test_kernels_of_a_model_are_measured_once(scheduler: list[str], onnx_file: Path, tmp_path: Path) -> None:
    records, package = tmp_path / "records.json", tmp_path / "package.tar"
    options = ["--input-shapes", "x:[2,4]", "--repeat", "1", "--number", "1"]
    assert main(["tune", str(onnx_file), "-o", str(records), *options, *scheduler, "--trials", "5"]) == 0
    (line,) = records.read_text().splitlines()
    assert json.loads(line)
    compiled = ["compile", str(onnx_file), "-o", str(package), "--tuning-records", str(records), *options[:2]]
    assert main(compiled) == 0
    result = tvmc.run(tvmc.TVMCPackage(str(package)), inputs={"x": X})
    np.testing.assert_allclose(result.get_output("output_0"), X @ W.T, rtol=1e-6)
    more = tvmc.tune(tvmc.load(onnx_file, shape_dict={"x": [2, 4]}), "llvm", prior_records=records, trials=0)
    assert Path(more).read_text() == records.read_text()
