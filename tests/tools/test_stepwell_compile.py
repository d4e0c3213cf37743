"""`stepwell compile`, and `stepwell run` of its output."""

import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.graph import Executable
from stepwell.core import array_files
from stepwell.core.processors import get_num_threads
from stepwell.tools import compiling
from stepwell.tools.stepwell import main

ROWS = '#relay.sizes<"n">'
NET = f"""
relay.func @main("x" %x: tensor<?x8xf32, {ROWS}>) {{
  %w = relay.constant "w" : tensor<3x8xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, {ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {ROWS}>
  %1 = relay.nn.softmax(%0) : (tensor<?x3xf32, {ROWS}>) -> tensor<?x3xf32, {ROWS}>
  relay.return %1 : tensor<?x3xf32, {ROWS}>
}}
"""
WEIGHTS = np.random.default_rng(0).standard_normal((3, 8)).astype("float32")
TWO = """
relay.func @f("x" %x: tensor<2xf32>, "i" %i: tensor<2xi64>, "h" %h: tensor<2xbf16>) {
  %0 = relay.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
  relay.return %0 : tensor<2xf32>, %i : tensor<2xi64>, %h : tensor<2xbf16>
}
relay.func @g("x" %x: tensor<2xf32>) {
  relay.return %x : tensor<2xf32>
}
"""

Capture = pytest.CaptureFixture[str]


def stepwell(capsys: Capture, *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(arg) for arg in args])
    captured = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return write_net(tmp_path)


def write_net(folder: Path) -> Path:
    np.savez(folder / "weights.npz", w=WEIGHTS)
    (folder / "net.mlir").write_text(NET)
    return folder / "net.mlir"


@pytest.fixture(scope="module")
def compiled_net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output for the net, which tests must not modify."""
    net = write_net(tmp_path_factory.mktemp("net"))
    folder = net.parent / "out"
    with pytest.raises(SystemExit) as stop:
        main(["compile", str(net), "-o", str(folder), "--constants", str(net.parent / "weights.npz")])
    assert stop.value.code == 0
    return folder


@pytest.fixture
def out(compiled_net: Path, net: Path) -> Path:
    return Path(shutil.copytree(compiled_net, net.parent / "out"))


def compiled(capsys: Capture, net: Path, path: Path, *args: str) -> tuple[int, str, str]:
    return stepwell(capsys, "compile", net, "-o", path, "--constants", net.parent / "weights.npz", *args)


def refused(capsys: Capture, message: str, *args: object) -> None:
    """Asserts that a command fails with a message and exit code 1, without a traceback and without a new file."""
    folder = next(Path(str(arg)).parent for arg in args if isinstance(arg, Path))
    before = sorted(folder.iterdir())
    code, _, err = stepwell(capsys, *args)
    assert code == 1
    assert re.search(message, err), err
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


# compile


@pytest.mark.parametrize("name", ["out", "out.tar"])
def test_a_graph_is_compiled_and_runs(capsys: Capture, net: Path, name: str) -> None:
    code, text, err = compiled(capsys, net, net.parent / name)
    assert code == 0
    for line in ("inputs +x: float32.n, 8", "kernels +2 in 2 calls", "constants +96 bytes", "workspace +0 bytes, 0 be"):
        assert re.search(line, text)
    assert re.findall(r"^\w+", err, re.MULTILINE) == ["read", "compile", "write"]
    code, text, _ = stepwell(capsys, "run", net.parent / name, "--size", "n=4")
    assert code == 0
    assert "output0: float32[4, 3] from" in text
    assert re.search(r"median [\d.]+ us of 20 times 1 \(mean [\d.]+, std [\d.]+, from [\d.]+ to [\d.]+\)", text)


def test_a_sanitized_graph_is_compiled(capsys: Capture, net: Path) -> None:
    code, text, _ = compiled(capsys, net, net.parent / "out", "--sanitize", "--print-after", "tir-sanitize")
    assert code == 0
    assert "tir-sanitize" in text
    assert stepwell(capsys, "run", net.parent / "out", "--size", "n=4")[0] == 0


def test_fusion_depends_on_the_level(capsys: Capture, net: Path) -> None:
    net.write_text(NET.replace("nn.softmax", "exp"))
    assert "kernels     2 in 2 calls" in compiled(capsys, net, net.parent / "out", "-O0")[1]
    assert "kernels     1 in 1 calls" in compiled(capsys, net, net.parent / "out", "-O1")[1]


def test_programs_are_shown_after_passes(capsys: Capture, net: Path) -> None:
    passes = ["--print-after", "relay-fuse-operators", "--print-after", "tir-simplify"]
    _, text, _ = compiled(capsys, net, net.parent / "out", *passes)
    assert "after relay-fuse-operators" in text
    assert "relay.func primitive @fused_nn_dense" in text
    assert "tir.for" in text.split("after tir-simplify")[1]


def test_models_of_onnx_are_compiled(capsys: Capture, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 8, opset_import: ["" : 17]> agraph (float[N, C] x) => (float[N, C] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "relu.onnx")
    code, text, err = stepwell(
        capsys, "compile", tmp_path / "relu.onnx", "-o", tmp_path / "out", "--input-shape", "x:rows,3"
    )
    assert code == 0, err
    assert "inputs      x: float32[rows, 3]" in text
    assert stepwell(capsys, "run", tmp_path / "out", "--size", "rows=2")[0] == 0
    refused(capsys, "no such file|No such file", "compile", tmp_path / "none.onnx", "-o", tmp_path / "two")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "relu.onnx").read_bytes()[:20])
    refused(capsys, "cut.onnx", "compile", tmp_path / "cut.onnx", "-o", tmp_path / "two")
    model = ("compile", tmp_path / "relu.onnx", "-o", tmp_path / "two")
    refused(capsys, "shapes of z, expected inputs: x", *model, "--input-shape", "z:3")
    refused(capsys, "--constants: a model of ONNX has its own", *model, "--constants", "w.npz")


def test_a_graph_is_compiled_for_a_device_and_runs(capsys: Capture, net: Path, out: Path) -> None:
    if compiler() is None:
        pytest.skip("needs g++ and binutils")
    there = net.parent / "device"
    passes = ["--print-after", "gpu-outline-kernels"]
    code, text, err = compiled(capsys, net, there, "--target", "cuda-emulated", *passes)
    assert code == 0, err
    assert "after gpu-outline-kernels" in text
    assert re.findall(r"^\w+", err, re.MULTILINE) == ["read", "optimise", "lower", "native", "write"]
    shown: list[str] = []
    for folder in (out, there):
        code, text, err = stepwell(capsys, "run", folder, "--size", "n=4", "--seed", "3", "--profile")
        assert code == 0, err
        shown.append(next(line for line in text.splitlines() if line.startswith("output0: float32[4, 3]")))
        assert "fused_nn_softmax" in text
    numbers = [[float(number) for number in re.findall(r"\d\.\d+", line)] for line in shown]
    np.testing.assert_allclose(*numbers, rtol=1e-5)
    refused(capsys, "no such pass runs", "compile", net, "-o", net.parent / "two", "--target", "cuda-emulated",
            "--print-after", "tir-schedule-cpu")  # fmt: skip


def test_a_function_is_chosen_by_name(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "two.mlir").write_text(TWO)
    two = ("compile", tmp_path / "two.mlir", "-o", tmp_path / "out")
    refused(capsys, "which function. --entry one of f, g", *two)
    refused(capsys, "no function 'h'", *two, "--entry", "h")
    code, text, err = stepwell(capsys, *two, "--entry", "f")
    assert code == 0, err
    assert "i: int64[2]" in text


def test_constants_must_be_there_and_of_their_type(capsys: Capture, net: Path) -> None:
    model = ("compile", net, "-o", net.parent / "out")
    refused(capsys, r"constant 'w', tensor<3x8xf32>, is missing: --constants FILE\.npz", *model)
    np.savez(net.parent / "weights.npz", w=WEIGHTS.T)
    constants = ("--constants", net.parent / "weights.npz")
    refused(capsys, r"constant 'w': float32 of shape \(8, 3\), expected tensor<3x8xf32>", *model, *constants)
    np.savez(net.parent / "weights.npz", w=np.zeros((3, 8)))
    refused(capsys, r"constant 'w': float64 of shape \(3, 8\), expected tensor<3x8xf32>", *model, *constants)
    np.save(net.parent / "weights.npy", WEIGHTS)
    refused(capsys, "one array without a name", *model, "--constants", net.parent / "weights.npy")
    (net.parent / "weights.npz").write_bytes(b"PK\x03\x04 no zip")
    refused(capsys, "weights.npz: no arrays of numpy", *model, *constants)


def test_wrong_files_and_options_of_compile_are_refused(capsys: Capture, net: Path) -> None:
    model = ("compile", net, "-o", net.parent / "out")
    refused(capsys, "unknown kind 'cuba', did you mean 'cuda'", *model, "--target", "cuba")
    refused(capsys, "--print-after tir-simplfy: no such pass runs, did you", *model, "--print-after", "tir-simplfy")
    refused(capsys, "--input-shape: a .mlir file says", *model, "--input-shape", "x:3")
    net.write_text("relay.func @main(")
    refused(capsys, r"net\.mlir:1:\d+: error:", *model)
    net.write_text(NET.replace("-> tensor<?x3xf32", "-> tensor<?x4xf32"))
    refused(capsys, r"net\.mlir:5:\d+: error:", *model)
    net.write_text('tir.func @main("x" %x: memref<8xf32>) {}')
    refused(capsys, "expected relay.func", *model)
    net.with_suffix(".pt").write_text("")
    model = ("compile", net.with_suffix(".pt"), "-o", net.parent / "out")
    refused(capsys, r"net\.pt: expected a file that ends in \.onnx or \.mlir", *model)


def test_other_files_are_not_overwritten_and_nothing_is_compiled(
    capsys: Capture, net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "build_graph", None)
    refused(capsys, "there is something else, expected a folder", "compile", net, "-o", net.parent)
    (net.parent / "notes.tar").write_text("mine")
    refused(capsys, "there is something else, expected a tar", "compile", net, "-o", net.parent / "notes.tar")
    refused(capsys, "does not exist", "compile", net, "-o", net.parent / "no" / "out")


def test_a_compilation_that_is_interrupted_leaves_nothing(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stepwell.backends.saving.writing.checksum", interrupt)
    before = sorted(net.parent.iterdir())
    with pytest.raises(SystemExit) as stopped:
        main(["compile", str(net), "-o", str(net.parent / "out"), "--constants", str(net.parent / "weights.npz")])
    assert stopped.value.code == 128 + signal.SIGINT
    assert sorted(net.parent.iterdir()) == before


def test_a_compilation_that_is_terminated_leaves_nothing(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("stepwell.backends.saving.writing.checksum", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    before = sorted(net.parent.iterdir())
    with pytest.raises(SystemExit) as stopped:
        main(["compile", str(net), "-o", str(net.parent / "out"), "--constants", str(net.parent / "weights.npz")])
    assert stopped.value.code == 128 + signal.SIGTERM
    assert sorted(net.parent.iterdir()) == before
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize("shape", ["x", "x:a b", ":3", "x:1,,2"])
def test_a_malformed_shape_is_a_usage_error(capsys: Capture, shape: str) -> None:
    code, _, err = stepwell(capsys, "compile", "m.onnx", "-o", "out", "--input-shape", shape)
    assert code == 2
    assert "expected NAME:SIZE,SIZE,..." in err


# run


def test_inputs_are_read_and_outputs_written(capsys: Capture, out: Path) -> None:
    x = np.random.default_rng(1).standard_normal((5, 8)).astype("float32")
    np.savez(out.parent / "in.npz", x=x)
    code, _, err = stepwell(capsys, "run", out, "-i", out.parent / "in.npz", "-o", out.parent / "y.npz")
    assert code == 0, err
    scores = np.exp(x @ WEIGHTS.T)
    expected = scores / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(np.load(out.parent / "y.npz")["output0"], expected, rtol=1e-5)


@pytest.mark.parametrize(("fill", "expected"), [("zeros", "from 0.0 to 0.0"), ("ones", "from 1.0 to 1.0")])
def test_inputs_are_filled(capsys: Capture, out: Path, fill: str, expected: str) -> None:
    _, text, _ = stepwell(capsys, "run", out, "--fill", fill, "--size", "n=2")
    assert f"x: float32[2, 8] {expected}" in text


def test_made_up_inputs_depend_on_the_seed_alone(capsys: Capture, out: Path) -> None:
    lines = [stepwell(capsys, "run", out, "--size", "n=2", "--seed", seed)[1].splitlines()[0] for seed in "112"]
    assert lines[0] == lines[1] != lines[2]


def test_what_is_not_given_is_filled_only_if_that_is_said(capsys: Capture, tmp_path: Path) -> None:
    import ml_dtypes

    (tmp_path / "two.mlir").write_text(TWO)
    assert stepwell(capsys, "compile", tmp_path / "two.mlir", "-o", tmp_path / "out", "--entry", "f")[0] == 0
    np.savez(tmp_path / "in.npz", x=np.zeros(2, "float32"), h=np.array([1, 2], ml_dtypes.bfloat16))
    given = ("run", tmp_path / "out", "-i", tmp_path / "in.npz")
    refused(capsys, r"in\.npz: inputs are missing, expected i: int64\[2\] \(or --fill\)", *given)
    code, text, err = stepwell(capsys, *given, "--fill", "ones", "-o", tmp_path / "out.npz")
    assert code == 0, err
    assert "i: int64[2] from 1 to 1" in text
    assert "h: bfloat16[2] from 1.0 to 2.0" in text


def test_results_of_small_types_can_be_read_again(tmp_path: Path) -> None:
    import ml_dtypes

    from stepwell.core.array_files import read_arrays, write_arrays

    for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16, ml_dtypes.int4):
        array = np.array([[1, 2, -2]], dtype)
        write_arrays(tmp_path / "out.npz", {"y": array})
        np.testing.assert_array_equal(read_arrays(tmp_path / "out.npz")["y"].view(dtype), array)


def test_kernels_are_timed(capsys: Capture, out: Path) -> None:
    _, text, _ = stepwell(capsys, "run", out, "--size", "n=2", "--profile", "--repeat", "3", "--number", "2")
    assert re.search(r"of 3 times 2 ", text)
    row = r" +1 +[\d.]+% +[\d.]+  2x3\n"
    assert re.search(rf"kernel +calls +share +us, .*\nfused_nn_dense{row}fused_nn_softmax{row}all +2 +100.0%", text)


def test_kernels_are_timed_with_numbers_of_threads(capsys: Capture, out: Path) -> None:
    before = get_num_threads()
    _, text, _ = stepwell(capsys, "run", out, "--size", "n=2", "--profile", "--repeat", "2", "--threads", "1,2")
    assert re.search(r"^1 thread: median .*\n2 threads: median ", text, re.MULTILINE)
    assert re.search(r"kernel +calls +share +us, 1 thread +us, 2 threads  shape\n", text)
    assert get_num_threads() == before
    refused(capsys, "threads: expected a number of threads, from 1 to 512, got 513", "run", out, "--size", "n=2",
            "--threads", "513")  # fmt: skip


def test_wrong_inputs_are_refused(capsys: Capture, out: Path) -> None:
    refused(capsys, "input x, float32.n, 8.: size n is not known: --size n=N", "run", out)
    refused(capsys, "--size m: no such size.*there is n", "run", out, "--size", "m=3")
    file = out.parent / "in.npz"
    cases: dict[str, dict[str, Any]] = {
        r"in\.npz: no input 'xs', did you mean 'x'.*there is x": {"xs": WEIGHTS},
        r"x: float64 of shape \(3, 8\), expected float32\[n, 8\]": {"x": WEIGHTS.astype(float)},
        r"x: shape \(8, 3\), expected float32\[n, 8\]": {"x": WEIGHTS.T},
    }
    for message, inputs in cases.items():
        np.savez(file, **inputs)
        refused(capsys, message, "run", out, "-i", file, "-o", out.parent / "y.npz")
    np.savez(file, x=WEIGHTS)
    refused(capsys, r"x: shape \(3, 8\), expected .* where n = 4", "run", out, "-i", file, "--size", "n=4")
    refused(capsys, "No such file", "run", out, "-i", out.parent / "none.npz")
    refused(capsys, "No such file", "run", out, "-i", file, "-o", out.parent / "no" / "y.npz")


def test_options_of_programs_and_graphs_are_told_apart(capsys: Capture, out: Path) -> None:
    refused(capsys, "out: --check is for programs", "run", out, "--check")
    refused(capsys, "out: --target is for programs", "run", out, "--target", "python")
    program = out.parent / "p.py"
    program.write_text("")
    refused(capsys, r"p\.py: --inputs is for compiled graphs", "run", program, "-i", "x.npz")
    refused(capsys, r"p\.py: --profile is for compiled graphs", "run", program, "--profile")


def test_broken_folders_are_refused(capsys: Capture, out: Path) -> None:
    refused(capsys, r"no stepwell\.json there", "run", out.parent)
    refused(capsys, "nothing.tar: there is nothing", "run", out.parent / "nothing.tar")
    content = (out / "constants.bin").read_bytes()
    (out / "constants.bin").write_bytes(content[:-1] + b"\xff")
    refused(capsys, r"out: checksum of constants\.bin is \w+, expected \w+", "run", out, "--size", "n=2")
    (out / "constants.bin").unlink()
    refused(capsys, r"out: constants\.bin is missing", "run", out, "--size", "n=2")


def test_outputs_that_cannot_be_written_leave_nothing(
    capsys: Capture, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **arrays: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(array_files.np, "savez", fail)
    refused(capsys, "no space left", "run", out, "--size", "n=2", "-o", out.parent / "y.npz")


def test_the_graph_is_there_for_programs_of_others(out: Path) -> None:
    executable = Executable.load(out)
    assert [spec.name for spec in executable.inputs] == ["x"]
    assert np.array_equal(executable.constants["w"], WEIGHTS)
