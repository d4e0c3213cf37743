"""Compares calls of the virtual machine with direct calls of the same native code, onnxruntime and PyTorch, for a
perceptron that is so small that calls take most of the time.

The perceptron has layers of `--width` elements: a product, a bias and relu. "kernels" calls the native function of the
program's graph with prepared arrays, without a check of the program's types and without allocations. "graph" is the
program as compiled: one graph. "functions" is a program with a function for each layer, which the machine calls;
"packed" is the program with a packed function after each layer, which does nothing. us: the median of batches of calls.
steps: the calls of a run that the machine executes. ns/step: the time beyond "kernels", by steps.

    python benchmarks/machine_calls.py [--layers N] [--width N] [--batch N] [--runs N]

Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import describe_package, machine, medians_in_turn, relative_error, time_of_batch

from stepwell import VirtualMachine, build_relax, parse_tvmscript, register_func, set_num_threads

Array = np.ndarray[Any, Any]
SECONDS = 0.02
"""The time of a batch of calls."""
PACKED = "benchmark.identity"


@dataclass(frozen=True)
class Perceptron:
    """The sizes of the perceptron, and its weights: a matrix of (inputs, outputs) and a bias for each layer."""

    layers: int
    width: int
    batch: int

    def arguments(self) -> list[Array]:
        """An input, and the weights and biases in turn."""
        rng = np.random.default_rng(0)
        shapes = [(self.batch, self.width), *[(self.width, self.width), (self.width,)] * self.layers]
        return [rng.standard_normal(shape).astype("float32") / self.width**0.5 for shape in shapes]

    def expected(self, arguments: list[Array]) -> Array:
        """The result by numpy."""
        x, *weights = arguments
        for w, b in zip(weights[::2], weights[1::2], strict=True):
            x = np.maximum(x @ w + b, 0)
        return x

    def _type(self, *shape: int) -> str:
        return f'R.Tensor({shape}, "float32")'

    @property
    def signature(self) -> str:
        """The parameters of the program: x, w0, b0, w1, ..."""
        weights = [f"w{n}: {self._type(self.width, self.width)}, b{n}: {self._type(self.width)}" for n in self._range]
        return ", ".join([f"x0: {self._type(self.batch, self.width)}", *weights])

    @property
    def _range(self) -> range:
        return range(self.layers)

    def graph(self) -> str:
        """The program with operators alone."""
        return self._program([f"x{n + 1} = R.nn.relu(R.matmul(x{n}, w{n}) + b{n})" for n in self._range])

    def functions(self) -> str:
        """The program with a function for each layer."""
        layer = (
            f"    @R.function\n    def layer(x: {self._type(self.batch, self.width)}, "
            f"w: {self._type(self.width, self.width)}, b: {self._type(self.width)}):\n"
            "        y = R.nn.relu(R.matmul(x, w) + b)\n        return y\n"
        )
        return self._program([f"x{n + 1} = cls.layer(x{n}, w{n}, b{n})" for n in self._range], layer)

    def packed(self) -> str:
        """The program with a call of a packed function after each layer."""
        lines: list[str] = []
        for n in self._range:
            lines.append(f"y{n} = R.nn.relu(R.matmul(x{n}, w{n}) + b{n})")
            lines.append(f'x{n + 1} = R.call_packed("{PACKED}", y{n}, sinfo_args={self._type(self.batch, self.width)})')
        return self._program(lines, impure=True)

    def _program(self, lines: list[str], functions: str = "", impure: bool = False) -> str:
        body = "".join(f"        {line}\n" for line in ["cls = Module", *lines, f"return x{self.layers}"])
        pure = "(pure=False)" if impure else ""
        return f"@I.ir_module\nclass Module:\n{functions}    @R.function{pure}\n    def main({self.signature}):\n{body}"


def of_machine(text: str) -> tuple[VirtualMachine, Callable[..., Any]]:
    """The machine of a program and its function."""
    vm = VirtualMachine(build_relax(parse_tvmscript(text)))
    return vm, vm["main"]


def direct(vm: VirtualMachine, arguments: list[Array], batch: int, width: int) -> Callable[[], Array]:
    """The call of the native function of the only graph of a program."""
    ((name, description),) = vm.executable.graphs.items()
    function, out = vm.executable.program[name], np.empty((batch, width), "float32")
    memory = [np.empty(description.workspace, "uint8")] if description.workspace else []
    ordered = [*arguments, out, *memory]

    def run() -> Array:
        function(*ordered)
        return out

    return run


def of_onnxruntime(perceptron: Perceptron, arguments: list[Array]) -> Callable[[], Array]:
    """A session of onnxruntime on one thread."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    shape = [perceptron.batch, perceptron.width]
    nodes, constants = [], []
    for n, (w, b) in enumerate(zip(arguments[1::2], arguments[2::2], strict=True)):
        constants += [numpy_helper.from_array(w, f"w{n}"), numpy_helper.from_array(b, f"b{n}")]
        nodes.append(helper.make_node("Gemm", [f"x{n}", f"w{n}", f"b{n}"], [f"y{n}"]))
        nodes.append(helper.make_node("Relu", [f"y{n}"], [f"x{n + 1}"]))
    last = f"x{perceptron.layers}"
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", last)]
    graph = helper.make_graph(nodes, "perceptron", [values[0]], [values[1]], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {"x0": arguments[0]}
    return lambda: session.run(None, feed)[0]


def of_torch(_: Perceptron, arguments: list[Array]) -> Callable[[], Array]:
    """The perceptron in PyTorch, eagerly, on one thread."""
    import torch

    torch.set_num_threads(1)
    x, *weights = map(torch.from_numpy, arguments)

    def run() -> Array:
        with torch.inference_mode():
            y = x
            for w, b in zip(weights[::2], weights[1::2], strict=True):
                y = torch.relu(torch.addmm(b, y, w))
            return y.numpy()

    return run


PEERS = {"onnxruntime": of_onnxruntime, "torch": of_torch}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--layers", type=int, default=4, help="the number of layers")
    arguments.add_argument("--width", type=int, default=16, help="the elements of a layer")
    arguments.add_argument("--batch", type=int, default=1, help="the rows of the input")
    arguments.add_argument("--runs", type=int, default=15, help="how often to run each batch of calls")
    options = arguments.parse_args()
    set_num_threads(1)
    register_func(PACKED, lambda x: x, override=True)
    perceptron = Perceptron(options.layers, options.width, options.batch)
    values = perceptron.arguments()
    graph, main_of_graph = of_machine(perceptron.graph())
    ways: dict[str, tuple[int, Callable[[], Any]]] = {
        "kernels": (0, direct(graph, values, options.batch, options.width)),
        "graph": (1, lambda: main_of_graph(*values)),
    }
    for name, text, steps in (
        ("functions", perceptron.functions(), 2 * options.layers),
        ("packed", perceptron.packed(), 2 * options.layers),
    ):
        _, function = of_machine(text)
        ways[name] = steps, lambda function=function: function(*values)
    for name, make in PEERS.items():
        if find_spec(name) is not None:
            ways[name] = 0, make(perceptron, values)
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'onnxruntime', 'torch', 'numpy')))}; {' '.join(sys.argv)}")
    print(f"# {perceptron}; batches of {1e3 * SECONDS:g} ms, {options.runs} runs, one thread")
    print(f"{'way':12}{'us':>9}{'steps':>7}{'ns/step':>9}{'error':>10}")
    measurements = {name: lambda call=call: [time_of_batch(call, SECONDS)] for name, (_, call) in ways.items()}
    medians = {name: numbers[0] for name, numbers in medians_in_turn(measurements, options.runs).items()}
    for name, (steps, call) in ways.items():
        result = call()
        array = result if isinstance(result, np.ndarray) else result.numpy()
        error = relative_error(array, perceptron.expected(values))
        beyond = f"{1e9 * (medians[name] - medians['kernels']) / steps:9.0f}" if steps else f"{'':9}"
        print(f"{name:12}{1e6 * medians[name]:9.2f}{steps:7}{beyond}{error:10.1e}", flush=True)


if __name__ == "__main__":
    main()
