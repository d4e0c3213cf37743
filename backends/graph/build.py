"""`build_graph`: compilation of a graph to native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, SSAValue

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError
from ...core.target import Target
from ...dialects.attributes import UNSHARED_WORKSPACE
from ...module import FunctionNotFoundError, Module
from ...operators.relay import CallOp, ConstantOp, FuncOp, IfOp, dtype_of_tensor, free_sizes, shape_of
from ...transforms.pipelines import AfterPass, lower, lower_graph
from ...transforms.relay.libraries import libraries_of, library_symbols
from ...transforms.relay.plan_memory import offsets_of, workspace_of
from ...transforms.relay.to_tir import arrays_of
from ..llvm import Processor, compile_module
from ..runtime.program import Program
from .executable import Executable
from .steps import Branch, Step, Steps, TensorSpec


def build_graph(
    mod: Module,
    *,
    target: Target | str | Mapping[str, Any] = "llvm",
    entry: str = "main",
    opt_level: int = 2,
    after: AfterPass | None = None,
    sanitize: bool = False,
) -> Executable:
    """Compiles a function of the `relay` dialect and its callees: to native code of this machine (`llvm`), or to
    kernels of a GPU (`cuda`, `cuda-emulated`), which need not be present.

    mod: is not modified.  target: as accepted by `Target.of`, with the libraries to offload supported operators to,
    `llvm -libs=cblas`.  opt_level: 0 for a kernel per operator and no rewriting, 1 adds fusion, 2 adds rewriting.
    after: is called with the module after each pass.  sanitize: whether the code detects undefined behaviour, for
    `llvm` only (docs/errors.md).

    Raises FunctionNotFoundError if `entry` does not exist, OptionError if it is not a graph and for an invalid target,
    PluginError for a library or compiler that is not installed, UnsupportedError for a graph that cannot be compiled.
    """
    target = Target.from_value(target)
    mod.verify()
    func = mod.functions.get(entry)
    if func is None:
        raise FunctionNotFoundError(f"no function {entry!r}{did_you_mean(entry, mod.functions)}")
    if not isinstance(func, FuncOp):
        raise OptionError(f"function {entry!r} is {func.name}, expected relay.func")
    if sanitize:
        target.require_processor("sanitize")
    libraries = tuple(library.name for library in libraries_of(target))
    graph = lower_graph(mod, opt_level, libraries, after)
    return describe(graph, _compile(graph, target, after, sanitize), entry)


def _compile(graph: Module, target: Target, after: AfterPass | None, sanitize: bool) -> Program:
    symbols = library_symbols(graph, target)
    if target.kind == "llvm":
        lowered = lower(graph, after, contract=target.contract, sanitize=sanitize)
        return compile_module(lowered.op, target=Processor.of(target), symbols=symbols)
    # lazy: the CUDA emitter is needed for GPUs only
    from ..cuda.build import build_cuda, build_emulated

    if target.kind == "cuda":
        return build_cuda(graph, target, after, symbols)
    return build_emulated(graph, target, after, symbols)


def describe(graph: Module, program: Program, entry: str) -> Executable:
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
        program,
        entry,
        workspace_of(func),
        workspace_of(func, UNSHARED_WORKSPACE),
        tuple(zip(table.specs, table.offsets, strict=True)),
        steps,
        tuple(table.numbers[value] for value in func.return_values),
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
