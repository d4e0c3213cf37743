"""A compiled graph: inputs and outputs, constants, and native code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Block, SSAValue

from ...core.diagnostics import did_you_mean
from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, OptionError
from ...core.target import Target
from ...dialects.attributes import UNSHARED
from ...expressions.sizes import evaluate_size
from ...module import FunctionNotFoundError, Module
from ...operators.relay import CallOp, ConstantOp, FuncOp, IfOp, Size, SizeLimit, dtype_of_tensor, free_sizes, shape_of
from ...transforms.pipelines import AfterPass, lower, lower_graph
from ...transforms.relay.libraries import libraries_of, library_symbols
from ...transforms.relay.plan_memory import ALIGNMENT, offsets_of, workspace_of
from ...transforms.relay.to_tir import arrays_of
from ..devices.device import Device
from ..devices.nd import HostArray, NDArray, empty_on
from ..devices.nd import array as nd_array
from ..llvm import Processor, compile_module
from ..runtime.program import Program

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a graph: an input, a constant, an intermediate or an output. Dynamic sizes are expressions of size
    names.
    """

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def concrete(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with size names replaced. sizes: the value of each size name."""
        return tuple(size if isinstance(size, int) else evaluate_size(size, sizes) for size in self.shape)

    def bind(self, array: Array, sizes: dict[str, int]) -> None:
        """Checks an array against this tensor, and binds the size names in its shape. Raises ArgumentError for a
        mismatch.
        """
        if array.dtype != numpy_dtype(self.dtype) or array.ndim != len(self.shape):
            raise ArgumentError(f"{self.name}: {array.dtype} of shape {array.shape}, expected {self}")
        for size, extent in zip(self.shape, array.shape, strict=True):
            if isinstance(size, str) and size.isidentifier():
                sizes.setdefault(size, extent)
        known = [size if isinstance(size, int) else _try_evaluate(size, sizes) for size in self.shape]
        if any(size not in (None, extent) for size, extent in zip(known, array.shape, strict=True)):
            where = ", ".join(f"{name} = {number}" for name, number in sizes.items())
            suffix = f" where {where}" if sizes else ""
            raise ArgumentError(f"{self.name}: shape {array.shape}, expected {self}{suffix}")

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def _try_evaluate(size: str, sizes: Mapping[str, int]) -> int | None:
    try:
        return evaluate_size(size, sizes)
    except KeyError:
        return None


@dataclass(frozen=True)
class Step:
    """A call of one kernel of a graph: its function, the indices of the tensors it reads and writes, and its size
    arguments.
    """

    kernel: str
    sizes: tuple[str, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """Two alternative sequences of steps. condition: the index of the bool tensor that selects `then` or `orelse`."""

    condition: int
    then: Steps
    orelse: Steps


Steps: TypeAlias = "tuple[Step | Branch, ...]"


def _calls(steps: Steps) -> Iterator[Step]:
    for each in steps:
        if isinstance(each, Branch):
            yield from _calls(each.then)
            yield from _calls(each.orelse)
        else:
            yield each


@dataclass(frozen=True)
class Executable:
    """A compiled graph.

    inputs, outputs: the tensors it takes and returns, in order.  constants: arrays by name.  library: native code,
    whose `entry` takes inputs, constants, outputs and the workspace, in the memory of a device of the library's kind.
    workspace, unshared: the bytes of the memory that its tensors share, and the bytes without sharing.  tensors: all
    tensors, each with its offset in the workspace; steps: the kernels in order.  returned: the indices of the outputs
    among `tensors`.  graph: the program, with a call of each kernel.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: Mapping[str, Array]
    library: Program
    entry: str
    workspace: int
    unshared: int
    tensors: tuple[tuple[TensorSpec, int | None], ...]
    steps: Steps
    returned: tuple[int, ...]
    graph: Module
    _placed: dict[Device, Mapping[str, NDArray]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def device(self, device: Device | None = None) -> Device:
        """The device on which the graph runs: `device`, by default the first device of the graph's kind. Raises
        ArgumentError for a device of another kind.
        """
        kind = self.library.device_kind
        if device is not None and device.kind != kind:
            raise ArgumentError(f"the graph is compiled for {kind}, expected such a device, got {device}")
        return device or Device(kind)

    def constants_on(self, device: Device) -> Mapping[str, NDArray]:
        """The constants in the memory of a device, copied there on first use. Raises the errors of `nd.array`."""
        if device not in self._placed:
            self._placed[device] = {name: placed(array, device) for name, array in self.constants.items()}
        return self._placed[device]

    @property
    def calls(self) -> list[Step]:
        """The kernel calls of all branches; a run executes a subset of them."""
        return list(_calls(self.steps))

    @property
    def size_limits(self) -> list[SizeLimit]:
        """The bounds that sizes must satisfy."""
        func = self.graph.functions[self.entry]
        assert isinstance(func, FuncOp)
        return func.size_limits

    def input(self, key: str | int) -> TensorSpec:
        """The input with a name or index. Raises ArgumentError for an unknown key."""
        return self.inputs[_index("input", self.inputs, key)]

    def output_index(self, key: str | int) -> int:
        """The index of the output with a name or index. Raises ArgumentError for an unknown key."""
        return _index("output", self.outputs, key)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the graph with its code and constants: as one file if `path` ends in `.tar`, else as a folder.

        Replaces a graph saved at `path`. Raises OptionError if `path` holds anything else, and OSError.
        """
        from .saving import save_executable

        save_executable(self, Path(path))

    @staticmethod
    def load(path: str | os.PathLike[str], symbols: Mapping[str, int] | None = None) -> Executable:
        """Loads a graph that `save` saved. It is native code: load only files you trust.

        symbols: addresses of C symbols, which take precedence over those of the graph's libraries and of the process.
        Raises LoadError if the files are broken or for another machine; LinkError for an undefined C symbol; the errors
        of `library_symbols`.
        """
        from .saving import load_executable

        return load_executable(Path(path), symbols)


def build_graph(
    mod: Module,
    *,
    target: Target | str | Mapping[str, Any] = "llvm",
    entry: str = "main",
    opt_level: int = 2,
    after: AfterPass | None = None,
) -> Executable:
    """Compiles a function of the `relay` dialect and its callees: to native code of this machine (`llvm`), or to
    kernels of a GPU (`cuda`, `cuda-emulated`), which need not be present.

    mod: is not modified.  target: as accepted by `Target.of`, with the libraries to offload supported operators to,
    `llvm -libs=cblas`.  opt_level: 0 for a kernel per operator and no rewriting, 1 adds fusion, 2 adds rewriting.
    after: is called with the module after each pass.

    Raises FunctionNotFoundError if `entry` does not exist, OptionError if it is not a graph and for an invalid target,
    PluginError for a library or compiler that is not installed, UnsupportedError for a graph that cannot be compiled.
    """
    target = Target.of(target)
    mod.verify()
    func = mod.functions.get(entry)
    if func is None:
        raise FunctionNotFoundError(f"no function {entry!r}{did_you_mean(entry, mod.functions)}")
    if not isinstance(func, FuncOp):
        raise OptionError(f"function {entry!r} is {func.name}, expected relay.func")
    libraries = tuple(library.name for library in libraries_of(target))
    graph = lower_graph(mod, opt_level, libraries, after)
    return describe(graph, _compile(graph, target, after), entry)


def _compile(graph: Module, target: Target, after: AfterPass | None) -> Program:
    symbols = library_symbols(graph, target)
    if target.kind == "llvm":
        lowered = lower(graph, after, contract=target.contract)
        return compile_module(lowered.op, target=Processor.of(target), symbols=symbols)
    from ..cuda.build import build_cuda, build_emulated

    if target.kind == "cuda":
        return build_cuda(graph, target, after, symbols)
    return build_emulated(graph, target, after, symbols)


def _index(kind: str, specs: Sequence[TensorSpec], key: str | int) -> int:
    names = [spec.name for spec in specs]
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    if key not in names:
        near = did_you_mean(key, names) if isinstance(key, str) else ""
        raise ArgumentError(f"no {kind} {key!r}{near}, there is {', '.join(names) or 'none'}")
    return names.index(str(key))


def describe(graph: Module, library: Program, entry: str) -> Executable:
    """Creates the `Executable` of a graph of kernel calls and its native code."""
    func = graph.functions[entry]
    assert isinstance(func, FuncOp)
    names = list(arrays_of(func))
    table = _Tensors()
    inputs = [table.add(value, name) for name, value in func.params]
    for op in func.walk():
        if isinstance(op, ConstantOp) and op.array_name is not None:
            table.add(op.result, op.array_name.data)
    steps = table.steps(func.body.block)
    outputs = [TensorSpec(name, shape_of(value), dtype_of_tensor(value)) for name, value in func.results_]
    return Executable(
        tuple(table.specs[n] for n in inputs),
        tuple(outputs),
        {name: np.ascontiguousarray(graph.constants[name]) for name in names},
        library,
        entry,
        workspace_of(func),
        workspace_of(func, UNSHARED),
        tuple(zip(table.specs, table.offsets, strict=True)),
        steps,
        tuple(table.numbers[value] for value in func.returned),
        graph,
    )


class _Tensors:
    """The tensors of a graph, numbered."""

    def __init__(self) -> None:
        self.numbers: dict[SSAValue, int] = {}
        self.specs: list[TensorSpec] = []
        self.offsets: list[int | None] = []

    def add(self, value: SSAValue, name: str, offset: int | None = None) -> int:
        """Adds a tensor and returns its index. The result of a branch and the values that its blocks yield are one
        tensor.
        """
        if value not in self.numbers:
            self.numbers[value] = len(self.specs)
            self.specs.append(TensorSpec(name, shape_of(value), dtype_of_tensor(value)))
            self.offsets.append(offset)
        return self.numbers[value]

    def steps(self, block: Block) -> Steps:
        """The calls and branches of a block, in order."""
        steps: list[Step | Branch] = []
        for op in block.ops:
            if isinstance(op, CallOp):
                steps.append(self._step(op))
            elif isinstance(op, IfOp):
                steps.append(self._branch(op))
        return tuple(steps)

    def _step(self, op: CallOp) -> Step:
        types: Sequence[Attribute] = [arg.type for arg in op.args]
        sizes = free_sizes(types, [output.type for output in op.outputs])
        inputs = [self.numbers[arg] for arg in op.args]
        kernel = op.callee.string_value()
        return Step(kernel, tuple(sizes), tuple(inputs), self._outputs(op, kernel))

    def _branch(self, op: IfOp) -> Branch:
        numbers = self._outputs(op, "branch")
        for region in op.regions:
            last = region.block.last_op
            assert last is not None
            self.numbers |= dict(zip(last.operands, numbers, strict=True))
        return Branch(self.numbers[op.condition], self.steps(op.then.block), self.steps(op.orelse.block))

    def _outputs(self, op: CallOp | IfOp, name: str) -> tuple[int, ...]:
        pairs = zip(op.outputs, offsets_of(op), strict=True)
        return tuple(self.add(output, f"{name}.{n}", at) for n, (output, at) in enumerate(pairs))


# Memory


def room(shape: Sequence[int], dtype: str, device: Device, name: str = "") -> NDArray:
    """Allocates an uninitialized array on a device, aligned to `ALIGNMENT`. name: its name in error messages. Raises
    DeviceError if the device does not exist or has no memory left.
    """
    kind = numpy_dtype(dtype)
    if device.kind != "cpu":
        return empty_on(device, tuple(shape), kind, name)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return HostArray(memory[start : start + size].view(kind).reshape(shape))


def placed(array: Array, device: Device) -> NDArray:
    """An array in the memory of a device, without a copy for the CPU."""
    return HostArray(array) if device.kind == "cpu" else nd_array(array, device)
