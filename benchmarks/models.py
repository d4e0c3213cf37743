"""Compares the time of models exported by torch: compiled by Stepwell, in ONNX Runtime, compiled by TVM.

    python benchmarks/models.py [--runs N] [--models mlp,resnet18] [--threads 1,2] [--keep FOLDER]

Weights are random. Each tool runs in a process of its own, on a number of threads, in a Python with the tool:
STEPWELL_TORCH is a Python with torch, onnx and onnxruntime, STEPWELL_TVM a Python with apache-tvm and onnx; tools
without a Python are omitted. TVM is not tuned; `cblas` is Stepwell with matrix products by OpenBLAS. The error is the
largest difference from torch's output, divided by the largest output.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import relative_error, result_of_child

MODELS = ("mlp", "lstm", "encoder", "mobilenet", "resnet18", "densenet121")
EXPORTERS = ("torchscript", "dynamo")
TOOLS = {
    "torch": "STEPWELL_TORCH",
    "onnxruntime": "STEPWELL_TORCH",
    "stepwell": "",
    "cblas": "",
    "tvm": "STEPWELL_TVM",
}
"""The tools, and for each the variable that names its Python; empty for the running Python."""
TOLERANCE = 1e-4


# Models


def _models() -> dict[str, Callable[[], tuple[Any, tuple[int, ...]]]]:
    """By name a function that builds a model and returns it with the shape of its input."""
    import torch
    from torch import nn

    def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[Any]:
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        return [layer, nn.BatchNorm2d(outputs)]

    class Residual(nn.Module):
        """ResNet's basic block."""

        def __init__(self, inputs: int, outputs: int, stride: int):
            super().__init__()
            layers = [*conv(inputs, outputs, 3, stride), nn.ReLU(), *conv(outputs, outputs, 3)]
            self.body = nn.Sequential(*layers)
            same = stride == 1 and inputs == outputs
            self.skip = nn.Identity() if same else nn.Sequential(*conv(inputs, outputs, 1, stride))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.skip(x))

    class Inverted(nn.Module):
        """MobileNet-v2's block: expansion, depthwise convolution, projection."""

        def __init__(self, inputs: int, outputs: int, stride: int, widen: int):
            super().__init__()
            wide = inputs * widen
            first = [*conv(inputs, wide, 1), nn.ReLU6()] if widen > 1 else []
            self.body = nn.Sequential(*first, *conv(wide, wide, 3, stride, wide), nn.ReLU6(), *conv(wide, outputs, 1))
            self.same = stride == 1 and inputs == outputs

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.same else self.body(x)

    class Dense(nn.Module):
        """DenseNet's layer: 32 more channels, computed from all channels before."""

        def __init__(self, inputs: int):
            super().__init__()
            first = [nn.BatchNorm2d(inputs), nn.ReLU(), *conv(inputs, 128, 1)]
            self.body = nn.Sequential(*first, nn.ReLU(), nn.Conv2d(128, 32, 3, 1, 1, bias=False))

        def forward(self, x: Any) -> Any:
            return torch.cat([x, self.body(x)], 1)

    class Recurrent(nn.Module):
        """An LSTM with a classifier of its final output."""

        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(64, 128, batch_first=True)
            self.head = nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    class Encoder(nn.Module):
        """An encoder block of a transformer; torch's own block cannot be traced."""

        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads, self.scale = heads, (width // heads) ** -0.5
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.parts, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attention(self, x: Any) -> Any:
            batch, length, width = x.shape
            shape = (batch, length, self.heads, width // self.heads)
            q, k, v = (part.reshape(shape).transpose(1, 2) for part in self.parts(x).split(width, -1))
            weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, -1)
            return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.first(x))
            return x + self.body(self.second(x))

    def resnet18() -> tuple[Any, tuple[int, ...]]:
        layers = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            layers += [Residual(channels, outputs, stride), Residual(outputs, outputs, 1)]
            channels = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), (1, 3, 224, 224)

    def mobilenet() -> tuple[Any, tuple[int, ...]]:
        layers: list[Any] = [*conv(3, 32, 3, 2), nn.ReLU6()]
        channels = 32
        # Table 2 of arXiv:1801.04381: widening, channels, blocks, stride.
        rows = "1 16 1 1, 6 24 2 2, 6 32 3 2, 6 64 4 2, 6 96 3 1, 6 160 3 2, 6 320 1 1".split(",")
        table = [tuple(map(int, row.split())) for row in rows]
        for widen, outputs, count, stride in table:
            for n in range(count):
                layers.append(Inverted(channels, outputs, stride if n == 0 else 1, widen))
                channels = outputs
        layers += [*conv(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
        return nn.Sequential(*layers), (1, 3, 224, 224)

    def densenet121() -> tuple[Any, tuple[int, ...]]:
        layers: list[Any] = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for count in (6, 12, 24, 16):  # table 1 of arXiv:1608.06993
            if channels > 64:  # a transition
                norm = [nn.BatchNorm2d(channels), nn.ReLU()]
                layers += [*norm, nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
                channels //= 2
            layers += [Dense(channels + 32 * n) for n in range(count)]
            channels += 32 * count
        layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(channels, 1000)), (1, 3, 224, 224)

    def encoder() -> tuple[Any, tuple[int, ...]]:
        return Encoder(256, 4), (1, 128, 256)

    def mlp() -> tuple[Any, tuple[int, ...]]:
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 784)

    return {
        "mlp": mlp,
        "lstm": lambda: (Recurrent(), (1, 32, 64)),
        "encoder": encoder,
        "mobilenet": mobilenet,
        "resnet18": resnet18,
        "densenet121": densenet121,
    }


def _warm_up_norms(model: Any, x: Any) -> None:
    """Sets the means and variances of batch norms from their inputs, so that activations of random networks stay
    bounded."""
    import torch

    model.train()
    for each in model.modules():
        if isinstance(each, torch.nn.BatchNorm2d):
            each.momentum = 1.0
    with torch.no_grad():
        model(torch.cat([x, x.flip(-1)]))
    model.eval()


# Functions for child processes: arguments are JSON, and the last line of the output is the result as JSON


def export(name: str, exporter: str, folder: str) -> dict[str, Any]:
    """Writes a model, its input, and torch's output."""
    import torch

    torch.manual_seed(0)
    model, shape = _models()[name]()
    x = torch.randn(*shape)
    if len(shape) == 4:
        _warm_up_norms(model, x)
    model.eval()
    path = Path(folder)
    names: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(model, (x,), str(path / "model.onnx"), dynamo=exporter == "dynamo", external_data=False, **names)
    with torch.no_grad():
        np.savez(path / "torch.npz", x=x.numpy(), y=model(x).numpy())
    return {"version": torch.__version__}


def run_torch(name: str, folder: str, runs: int, threads: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, shape = _models()[name]()
    model.eval()
    x = torch.randn(*shape)

    def call() -> Any:
        with torch.no_grad():
            return model(x)

    return {"version": torch.__version__, "times": _times(call, runs)}


def run_onnxruntime(name: str, folder: str, runs: int, threads: int) -> dict[str, Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    compiled = time.perf_counter() - start
    x = np.load(f"{folder}/torch.npz")["x"]
    result = {
        "version": onnxruntime.__version__,
        "compile": compiled,
        "error": _error(session.run(None, {"x": x})[0], folder),
    }
    return {**result, "times": _times(lambda: session.run(None, {"x": x}), runs)}


def run_cblas(name: str, folder: str, runs: int, threads: int) -> dict[str, Any]:
    from importlib.metadata import version

    result = run_stepwell(name, folder, runs, threads, "llvm -libs=cblas")
    return {**result, "version": version("scipy-openblas32")}


def run_stepwell(name: str, folder: str, runs: int, threads: int, target: str = "llvm") -> dict[str, Any]:
    from importlib.metadata import version

    import stepwell
    from stepwell.backends.graph import Executable, GraphExecutor, build_graph
    from stepwell.frontends.onnx import from_onnx

    assert stepwell.get_num_threads() == threads
    sys.setrecursionlimit(20_000)
    start = time.perf_counter()
    built = build_graph(from_onnx(f"{folder}/model.onnx"), target=target)
    compiled = time.perf_counter() - start
    built.save(f"{folder}/out")
    start = time.perf_counter()
    executor = GraphExecutor(Executable.load(f"{folder}/out"))
    loaded = time.perf_counter() - start
    executor.run(x=np.load(f"{folder}/torch.npz")["x"])
    result = {"version": version("stepwell"), "compile": compiled, "load": loaded}
    return {**result, "error": _error(executor.get_output(0), folder), "times": _times(executor.run, runs)}


def run_tvm(name: str, folder: str, runs: int, threads: int) -> dict[str, Any]:
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.target.codegen import llvm_get_system_cpu

    x = np.load(f"{folder}/torch.npz")["x"]
    start = time.perf_counter()
    mod = from_onnx(onnx.load(f"{folder}/model.onnx"), shape_dict={"x": list(x.shape)})
    mod = relax.transform.DecomposeOpsForInference()(mod)
    target = tvm.target.Target({"kind": "llvm", "mcpu": llvm_get_system_cpu(), "num-cores": threads})
    machine = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    compiled = time.perf_counter() - start
    argument = tvm.runtime.tensor(x)
    result = machine["main"](argument)
    result = result if hasattr(result, "numpy") else result[0]
    measured = {"version": tvm.__version__, "compile": compiled, "error": _error(result.numpy(), folder)}
    return {**measured, "times": _times(lambda: machine["main"](argument), runs)}


def _error(got: Any, folder: str) -> float:
    return relative_error(got, np.load(f"{folder}/torch.npz")["y"])


def _times(call: Callable[[], Any], runs: int) -> list[float]:
    """The seconds of each run, after three warm-up runs; stops after 20 seconds, but not before three runs."""
    for _ in range(3):
        call()
    times: list[float] = []
    since = time.perf_counter()
    while len(times) < runs and (len(times) < 3 or time.perf_counter() - since < 20):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


# The parent process

_COLUMNS = ("median ms", "speed", "compile", "load", "error")


def _python(tool: str) -> str | None:
    return os.environ.get(TOOLS[tool]) if TOOLS[tool] else sys.executable


def _best(python: str, tool: str, rounds: int, **arguments: Any) -> dict[str, Any]:
    """The result of the fastest round of a tool, or of a failed round."""
    results = [result_of_child(__file__, python, f"run_{tool}", **arguments) for _ in range(rounds)]
    return min(results, key=lambda each: statistics.median(each.get("times", [0.0])))


def _report(name: str, exporter: str, folder: Path, options: argparse.Namespace, versions: dict[str, str]) -> list[str]:
    """The lines of the table for a model."""
    torch = _python("torch")
    assert torch is not None
    folder.mkdir(parents=True, exist_ok=True)
    exported = result_of_child(__file__, torch, "export", name=name, exporter=exporter, folder=str(folder))
    if "failed" in exported:
        return [f"{name:10} {exporter:12} not exported: {exported['failed']}"]
    lines: list[str] = []
    for threads in map(int, options.threads.split(",")):
        lines += _rows(f"{name:12}{exporter:12}{threads:8}", name, folder, threads, options, versions)
    return lines


def _rows(
    title: str, name: str, folder: Path, threads: int, options: argparse.Namespace, versions: dict[str, str]
) -> list[str]:
    """The lines of the table for an exported model on a number of threads, a line for each tool."""
    lines: list[str] = []
    base = 0.0
    for tool in TOOLS:
        python = _python(tool)
        if python is None:
            continue
        arguments = {"name": name, "folder": str(folder), "runs": options.runs, "threads": threads}
        result = _best(python, tool, options.rounds, **arguments)
        head = f"{title}  {tool:12}"
        if "failed" in result:
            lines.append(f"{head} failed: {result['failed'][:150]}")
            continue
        versions[tool] = result["version"]
        median = statistics.median(result["times"]) * 1e3
        base = base or median
        error = (
            "" if "error" not in result else f"{result['error']:9.1e}{'' if result['error'] < TOLERANCE else ' WRONG'}"
        )
        seconds = "".join(f"{result[each]:9.2f}" if each in result else " " * 9 for each in ("compile", "load"))
        lines.append(f"{head}{median:12.3f}{base / median:8.2f}{seconds}{error}")
    return lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=50, help="timed runs of each model")
    arguments.add_argument("--rounds", type=int, default=3, help="processes for each; the fastest one counts")
    arguments.add_argument("--models", default=",".join(MODELS), help="which, with commas between them")
    arguments.add_argument("--threads", default="1,2", help="numbers of threads, with commas between them")
    arguments.add_argument("--exporters", default=",".join(EXPORTERS), help="which, with commas between them")
    arguments.add_argument("--keep", type=Path, help="a folder to leave the models in")
    arguments.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        function, text = options.child
        print(json.dumps(globals()[function](**json.loads(text))))
        return
    if _python("torch") is None:
        sys.exit("STEPWELL_TORCH is not set: a Python with torch, onnx and onnxruntime, which the models come from")
    for tool in TOOLS:
        if _python(tool) is None:
            print(f"# {tool} is left out: {TOOLS[tool]} is not set", file=sys.stderr)
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        lines: list[str] = []
        for name in options.models.split(","):
            for exporter in options.exporters.split(","):
                rows = _report(name, exporter, (root / f"{name}-{exporter}").absolute(), options, versions)
                print("\n".join(rows), file=sys.stderr, flush=True)
                lines += rows
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    tools = ", ".join(f"{tool} {version}" for tool, version in versions.items())
    print(f"# {tools}; medians of {options.runs} runs, best of {options.rounds}; TVM is not tuned")
    print("# speed: how many times torch's; error: against torch, by the largest output; compile, load: seconds")
    columns = "".join(f"{each:>{width}}" for each, width in zip(_COLUMNS, (12, 8, 9, 9, 9), strict=True))
    print(f"{'model':12}{'exporter':12}{'threads':>8}  {'tool':12}{columns}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
