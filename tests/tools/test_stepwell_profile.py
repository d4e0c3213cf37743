"""`stepwell profile`: kernels in the roofline model."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from stepwell import build_graph, relay
from stepwell.analysis.workload import Workload
from stepwell.core.remarks import Place, Remark
from stepwell.tools.profiling import machine
from stepwell.tools.profiling.kernels import Kernel
from stepwell.tools.profiling.machine import MachineLimits
from stepwell.tools.profiling.report import report
from stepwell.tools.stepwell import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_STEPS", 100)
    monkeypatch.setattr(machine, "_FLOATS", 1 << 12)
    monkeypatch.setattr(machine, "_REPEATS", 1)


def profile(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["profile", *map(str, args)])
    captured = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, captured.out, captured.err


@cache
def archive() -> bytes:
    """A compiled graph."""
    data = relay.var("data", shape=("batch", 16))
    net = relay.nn.relu(relay.nn.dense(data, relay.const(np.ones((16, 16), "float32")), units=16))
    net = relay.nn.dense(net, relay.const(np.ones((8, 16), "float32")), units=8)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.tar"
        build_graph(relay.module(relay.Function([data], net))).save(path)
        return path.read_bytes()


def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.tar"
    path.write_bytes(archive())
    return path


def row(table: str, name: str) -> list[str]:
    return next(line.split() for line in table.splitlines() if line.split()[:1] == [name])


def test_a_graph_has_a_row_for_each_kernel_with_its_work_and_its_schedule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, text, err = profile(capsys, graph(tmp_path), "--size", "batch=4", "--number", "2", "--threads", "1,2")
    assert (code, err) == (0, "")
    one, two, decisions = text.split("\n\n")
    assert one.startswith("1 thread: peak")
    assert two.startswith("2 threads: peak")
    name, calls, *_ = first = row(one, "fused_nn_contrib_dense_pack_nn_relu")
    assert calls == "1"
    assert first[4] == f"{4 * 16 * (2 * 16 + 1) / 1e6:.2f}"
    assert row(one, "all")[1] == "2"
    assert f"{name}:" in decisions
    assert "tir-schedule-" in decisions


def test_a_program_is_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, err = profile(capsys, ROOT / "examples/softmax.py", "--size", "m=3", "--size", "n=7", "--number", "1")
    assert (code, err) == (0, "")
    assert row(text, "softmax")[1:3] == ["1", "100.0%"]


@pytest.mark.parametrize(("features", "lanes"), [("-avx,-avx2,-avx512f", 4), ("-avx512f", 8)])
def test_decisions_are_those_for_the_target(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, features: str, lanes: int
) -> None:
    x = relay.var("x", shape=(4, 64, 64))
    (tmp_path / "graph.mlir").write_text(str(relay.module(relay.Function([x], relay.sum(x, axis=1)))))
    target = f"llvm -mcpu=x86-64-v3 -mattr={features}"
    code, text, err = profile(capsys, tmp_path / "graph.mlir", "--number", "1", "--target", target)
    assert (code, err) == (0, "")
    assert f"vectors of {lanes} lanes" in text


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_roofline_is_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"roofline{suffix}"
    _, text, _ = profile(capsys, graph(tmp_path), "--size", "batch=4", "--number", "1", "-o", picture)
    assert f"roofline: {picture}" in text
    content = picture.read_bytes()
    assert b"fused_nn_contrib_dense_pack_nn_relu" in content if suffix == ".svg" else content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("-O is for sources", ["graph.tar", "-O", "1"]),
        ("--fill is for graphs", [ROOT / "examples/softmax.py", "--fill", "ones"]),
        ("expected a picture that ends in .svg, .png, .pdf", ["graph.tar", "-o", "roofline.txt"]),
        ("--number 0, expected a positive number", ["graph.tar", "--number", "0"]),
        ("does not support profile, expected llvm", [ROOT / "examples/softmax.py", "--target", "cuda-emulated"]),
        ("no function 'm'", [ROOT / "examples/softmax.py", "--entry", "m"]),
    ],
)
def test_unsuitable_options_are_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    message: str,
    args: list[str | Path],
) -> None:
    graph(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, _, err = profile(capsys, *args)
    assert code == 1
    assert message in err


def test_a_kernel_is_limited_by_arithmetic_to_the_right_of_the_ridge() -> None:
    limits = MachineLimits(1, 100e9, 10e9)
    assert limits.ridge == 10
    assert [limits.limit(x) for x in (1, 10, 100)] == [10e9, 100e9, 100e9]
    kernels = [
        Kernel("left", 2, {1: 2e-3}, Workload(10_000_000, 10_000_000), ()),
        Kernel("right", 1, {1: 1e-3}, Workload(50_000_000, 1_000_000), (Remark("applied", "p", "m", Place()),)),
        Kernel("unknown", 1, {1: 3e-3}, None, ()),
    ]
    text = report(kernels, [limits])
    lines = [line.split() for line in text.splitlines()]
    assert lines[2] == ["unknown", "1", "50.0%", "3000.0", *"-" * 7]
    assert lines[3] == "left 2 33.3% 2000.0 10.00 10.00 5.0 5% 5.0 50% memory".split()
    assert lines[4] == "right 1 16.7% 1000.0 50.00 1.00 50.0 50% 1.0 10% arithmetic".split()
    assert lines[5] == ["all", "4", "100.0%", "6000.0"]
    assert "right:\n  p: applied: m" in text
    assert "left: no rule has scheduled it" in text
