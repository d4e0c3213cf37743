"""The description of a compiled graph: derived from the graph of its kernel calls, and saved as JSON values.

Constants are mapped into memory, not read, so that processes which run the same graph share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.ir import Block, SSAValue

from ...core.dtypes import numpy_dtype
from ...core.errors import LoadError
from ...core.identifiers import fresh_name
from ...core.sizes import align_up, byte_count
from ...dialects.attributes import UNSHARED_WORKSPACE, VIEW
from ...module import Module
from ...operators.relay import CallOp, ConstantOp, FuncOp, IfOp, SizeLimit, dtype_of_tensor, shape_of
from ...operators.relay.bounds import greatest_byte_count
from ...transforms.relay.libraries import libraries_in
from ...transforms.relay.placement import (
    ALIGNMENT,
    DynamicPlace,
    DynamicWorkspace,
    dynamic_places_of,
    dynamic_workspaces_of,
    offsets_of,
    workspace_of,
)
from ...transforms.relay.to_tir import arrays_of
from ..runtime.program import Program
from ..runtime.signature import BufferParameter, RuntimeParameter, ScalarParameter
from ..saving.format import Archive, Chunks
from .steps import Array, Branch, Step, Steps, TensorSpec

CONSTANTS = "constants.bin"


@dataclass(frozen=True)
class GraphDescription:
    """All facts about a compiled graph except its code: the fields of `Executable` with the same names. constants: the
    types of the arrays, in the order of the arguments.  numbers: the sizes that the caller passes as numbers.
    libraries: the names of the libraries with C functions that it calls.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: tuple[TensorSpec, ...]
    entry: str
    workspace: int
    unshared: int
    tensors: tuple[tuple[TensorSpec, int | None], ...]
    dynamic_workspaces: tuple[DynamicWorkspace, ...]
    places: tuple[DynamicPlace | None, ...]
    steps: Steps
    returned: tuple[int, ...]
    numbers: tuple[str, ...]
    size_limits: tuple[SizeLimit, ...]
    libraries: tuple[str, ...]

    @staticmethod
    def of(graph: Module, entry: str) -> GraphDescription:
        """The description of a graph of kernel calls."""
        func = graph.function_ops[entry]
        assert isinstance(func, FuncOp), f"{entry} is {func.name}"
        table = _Tensors()
        inputs = [table.add(value, name) for name, value in func.params]
        for op in func.walk():
            if isinstance(op, ConstantOp) and op.array_name is not None:
                table.add(op.result, op.array_name.data)
        steps = table.steps(func.body.block)
        return GraphDescription(
            tuple(table.specs[n] for n in inputs),
            tuple(_spec(name, value) for name, value in func.results_),
            tuple(_spec(name, op.result) for name, op in arrays_of(func).items()),
            entry,
            workspace_of(func),
            workspace_of(func, UNSHARED_WORKSPACE),
            tuple(zip(table.specs, table.offsets, strict=True)),
            tuple(dynamic_workspaces_of(func)),
            tuple(table.places),
            steps,
            tuple(table.numbers[value] for value in func.return_values),
            tuple(func.size_parameters),
            tuple(func.size_limits),
            libraries_in(graph),
        )

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> GraphDescription:
        """The description that `as_json` describes."""
        return GraphDescription(
            inputs=_read_specs(values["inputs"]),
            outputs=_read_specs(values["outputs"]),
            constants=_read_specs(values["constants"]),
            entry=values["entry"],
            workspace=values["workspace"],
            unshared=values["unshared"],
            tensors=tuple((_read_spec(each), each["offset"]) for each in values["tensors"]),
            dynamic_workspaces=tuple(
                DynamicWorkspace(each["number"], tuple(each["sizes"])) for each in values["dynamic_workspaces"]
            ),
            places=tuple(each and DynamicPlace(**each) for each in values["places"]),
            steps=_read_steps(values["steps"]),
            returned=tuple(values["returned"]),
            numbers=tuple(values["numbers"]),
            size_limits=tuple(SizeLimit(**each) for each in values["size_limits"]),
            libraries=tuple(values["libraries"]),
        )

    def fields(self) -> dict[str, Any]:
        """The fields of an `Executable`, except constants, program and graph."""
        return {name: value for name, value in vars(self).items() if name not in ("constants", "libraries", "numbers")}

    def as_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        constants = [{**asdict(spec), "offset": offset} for spec, offset in _constant_offsets(self.constants)]
        tensors = [{**asdict(spec), "offset": offset} for spec, offset in self.tensors]
        return json.loads(json.dumps({**asdict(self), "constants": constants, "tensors": tensors}))

    def check(self, path: Path, program: Program) -> None:
        """Raises LoadError unless a program has the entry of this graph, with its arguments, and tensors are inside of
        the workspace. path: of the archive.
        """
        if self.entry not in program:
            raise LoadError(
                f"{path}: code.o has no function {self.entry}, expected it among {', '.join(program.functions)}"
            )
        parameters = program[self.entry].signature.parameters
        specs = [*self.inputs, *self.constants, *self.outputs]
        if self.workspace:
            specs.append(TensorSpec("workspace", (self.workspace,), "uint8"))
        taken: set[str] = set()
        expected = [(fresh_name(spec.name, taken), spec.dtype, _static(spec)) for spec in specs]
        expected += [(fresh_name(name, taken), "int32", None) for name in self.numbers]
        actual = [_argument_of(parameter) for parameter in parameters]
        if expected != actual:
            raise LoadError(f"{path}: the graph has the arguments {expected}, code.o expects {actual}")
        bounds = {limit.size: limit.number for limit in self.size_limits if limit.sign == "<="}
        for spec, offset in self.tensors:
            size = greatest_byte_count(spec.shape, spec.dtype, bounds)
            if offset is not None and (size is None or not 0 <= offset <= self.workspace - size):
                raise LoadError(
                    f"{path}: tensor {spec.name} is at byte {offset} of a workspace of {self.workspace} bytes"
                )
        for place in self.places:
            if place is not None and not 0 <= place.workspace < len(self.dynamic_workspaces):
                raise LoadError(f"{path}: a tensor is in dynamic workspace {place.workspace}, expected one that exists")


def _read_spec(values: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(values["name"], tuple(values["shape"]), values["dtype"])


def _read_specs(values: Sequence[Mapping[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(map(_read_spec, values))


def _read_steps(values: Sequence[Mapping[str, Any]]) -> Steps:
    return tuple(map(_read_step, values))


def _read_step(values: Mapping[str, Any]) -> Step | Branch:
    if "condition" in values:
        return Branch(values["condition"], _read_steps(values["then"]), _read_steps(values["orelse"]))
    return Step(values["kernel"], tuple(values["sizes"]), tuple(values["inputs"]), tuple(values["outputs"]))


def _spec(name: str, value: SSAValue) -> TensorSpec:
    return TensorSpec(name, shape_of(value), dtype_of_tensor(value))


def _static(spec: TensorSpec) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in spec.shape)


def _argument_of(parameter: RuntimeParameter) -> tuple[str, str, tuple[int | None, ...] | None] | None:
    """The name, data type and static sizes of the compact array that a parameter takes, without sizes for a number;
    None if it takes none of them."""
    if isinstance(parameter, ScalarParameter):
        return parameter.name, parameter.dtype, None
    if isinstance(parameter, BufferParameter) and parameter.strides is None and parameter.offset == 0:
        return parameter.name, parameter.dtype, parameter.shape
    return None


def _bytes(spec: TensorSpec) -> int:
    """The bytes of a tensor of static shape."""
    return byte_count(spec.concrete({}), numpy_dtype(spec.dtype).itemsize)


class _Tensors:
    """The tensors of a graph, numbered."""

    def __init__(self) -> None:
        self.numbers: dict[SSAValue, int] = {}
        self.specs: list[TensorSpec] = []
        self.offsets: list[int | None] = []
        self.places: list[DynamicPlace | None] = []

    def add(self, value: SSAValue, name: str, offset: int | None = None, place: DynamicPlace | None = None) -> int:
        """Adds a tensor and returns its index. The result of a branch and the values that its blocks yield are one
        tensor.
        """
        if value not in self.numbers:
            self.numbers[value] = len(self.specs)
            self.specs.append(_spec(name, value))
            self.offsets.append(offset)
            self.places.append(place)
        return self.numbers[value]

    def steps(self, block: Block) -> Steps:
        """The calls of kernels and the branches of a block, in order."""
        steps: list[Step | Branch] = []
        for op in block.ops:
            if isinstance(op, CallOp) and VIEW in op.attributes:
                self._outputs(op, op.callee.string_value())
            elif isinstance(op, CallOp):
                steps.append(self._step(op))
            elif isinstance(op, IfOp):
                steps.append(self._branch(op))
        return tuple(steps)

    def _step(self, op: CallOp) -> Step:
        inputs = [self.numbers[arg] for arg in op.args]
        kernel = op.callee.string_value()
        return Step(kernel, tuple(op.size_texts), tuple(inputs), self._outputs(op, kernel))

    def _branch(self, op: IfOp) -> Branch:
        numbers = self._outputs(op, "branch")
        for region in op.regions:
            last = region.block.last_op
            assert last is not None
            self.numbers |= dict(zip(last.operands, numbers, strict=True))
        return Branch(self.numbers[op.condition], self.steps(op.then.block), self.steps(op.orelse.block))

    def _outputs(self, op: CallOp | IfOp, name: str) -> tuple[int, ...]:
        placed = enumerate(zip(op.outputs, offsets_of(op), dynamic_places_of(op), strict=True))
        return tuple(self.add(output, f"{name}.{n}", offset, place) for n, (output, offset, place) in placed)


# Constants, consecutive, each at a multiple of `ALIGNMENT`


def _constant_offsets(constants: Sequence[TensorSpec]) -> Iterator[tuple[TensorSpec, int]]:
    """Yields each constant and its offset in bytes."""
    offset = 0
    for spec in constants:
        yield spec, offset
        offset += align_up(_bytes(spec), ALIGNMENT)


def constant_chunks(constants: Mapping[str, Array]) -> Chunks:
    for array in constants.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % ALIGNMENT)


def read_constants(archive: Archive, constants: Sequence[TensorSpec]) -> dict[str, Array]:
    """The arrays of an archive. Raises LoadError if its file has another length."""
    memory = archive.bytes_of(CONSTANTS)
    expected = sum(align_up(_bytes(spec), ALIGNMENT) for spec in constants)
    if memory.size != expected:
        raise LoadError(f"{archive.path}: {CONSTANTS} has {memory.size} bytes, expected {expected}")
    return {
        spec.name: memory[offset : offset + _bytes(spec)].view(numpy_dtype(spec.dtype)).reshape(spec.concrete({}))
        for spec, offset in _constant_offsets(constants)
    }
