"""Traces of schedules as TVM's users build and store them: instructions by kind, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.traits import MemoryReadEffect
from xdsl.utils.test_value import create_ssa_value

from ....core.errors import OptionError, UnsupportedError
from ....dialects.schedule import INFERRED, AnnotateOp, BlockType, BoundMap, LoopType, ScheduleOp, TraceOp
from ....dialects.tir.annotations import annotation_value
from ....expressions.expr import FloatImm, IntImm, PrimExpr, StringImm
from ....schedule.handles import BlockRV, ExprRV, Handle, LoopRV
from ....schedule.rewriting.index_maps import bound_index_map
from ....schedule.state import PRIMITIVES
from ....schedule.trace import Instruction as _Instruction
from ....schedule.trace import InstructionKind as _InstructionKind
from ....schedule.trace import Trace as _Trace
from ....schedule.trace import copy_instruction, python_line
from ..ir.node_json import load_json
from ..nodes.attributes import python_value
from .index_map import IndexMap, with_sizes

_OPS: Mapping[str, type[ScheduleOp]] = {op.name.partition(".")[2]: op for op in PRIMITIVES}


@dataclass(frozen=True)
class _Form:
    """The form of the instructions of a kind in TVM. name: of the primitive.  inputs, attrs: the arguments in order, of
    which TVM calls those of `inputs` random variables; the elements of a list with a star are inputs of their own."""

    name: str
    inputs: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()


_BLOCK, _LOOP, _EITHER, _BOTH = ("block",), ("loop",), ("block_or_loop",), ("block", "loop")
_FORMS: Mapping[str, _Form] = {
    "GetBlock": _Form("get_block", (), ("name", "func_name")),
    "GetLoops": _Form("get_loops", _BLOCK),
    "GetChildBlocks": _Form("get_child_blocks", _EITHER),
    "GetProducers": _Form("get_producers", _BLOCK),
    "GetConsumers": _Form("get_consumers", _BLOCK),
    "GetOutputBlocks": _Form("get_output_blocks", ("scope_block",)),
    "SampleCategorical": _Form("sample_categorical", (), ("candidates", "probs")),
    "SamplePerfectTile": _Form("sample_perfect_tile", _LOOP, ("n", "max_innermost_factor")),
    "SamplePartitionedTile": _Form("sample_partitioned_tile", _LOOP, ("n", "partition_pos", "innerpart_factor")),
    "SampleComputeLocation": _Form("sample_compute_location", _BLOCK),
    "Split": _Form("split", ("loop", "*factors"), ("preserve_unit_iters", "disable_predication")),
    "LoopPartition": _Form("loop_partition", ("loop", "*factors"), ("preserve_unit_iters",)),
    "Merge": _Form("merge", ("*loops",)),
    "Fuse": _Form("fuse", ("*loops",), ("preserve_unit_iters",)),
    "Reorder": _Form("reorder", ("*ordered_loops",)),
    "ReorderBlockIterVar": _Form("reorder_block_iter_var", _BLOCK, ("new_order",)),
    "AddUnitLoop": _Form("add_unit_loop", _EITHER),
    "Parallel": _Form("parallel", _LOOP),
    "Vectorize": _Form("vectorize", _LOOP),
    "Unroll": _Form("unroll", _LOOP),
    "Bind": _Form("bind", _LOOP, ("thread_axis",)),
    "CacheRead": _Form("cache_read", ("block", "consumer_blocks"), ("read_buffer_index", "storage_scope")),
    "CacheWrite": _Form("cache_write", ("block", "consumer_blocks"), ("write_buffer_index", "storage_scope")),
    "CacheInplace": _Form("cache_inplace", _BLOCK, ("read_buffer_index", "storage_scope")),
    "CacheIndex": _Form("cache_index", _BLOCK, ("storage_scope", "cse_thresh")),
    "ReIndex": _Form("reindex", _BLOCK, ("buffer_index", "buffer_side")),
    "ReadAt": _Form("read_at", ("loop", "block"), ("read_buffer_index", "storage_scope")),
    "WriteAt": _Form("write_at", ("loop", "block"), ("write_buffer_index", "storage_scope")),
    "ComputeAt": _Form("compute_at", _BOTH, ("preserve_unit_loops", "index")),
    "ReverseComputeAt": _Form("reverse_compute_at", _BOTH, ("preserve_unit_loops", "index")),
    "ComputeInline": _Form("compute_inline", _BLOCK),
    "ReverseComputeInline": _Form("reverse_compute_inline", _BLOCK),
    "DecomposeReduction": _Form("decompose_reduction", _BOTH),
    "RFactor": _Form("rfactor", _LOOP, ("factor_axis",)),
    "StorageAlign": _Form("storage_align", _BLOCK, ("buffer_index", "axis", "factor", "offset")),
    "TransformLayout": _Form(
        "transform_layout",
        ("block", "index_map"),
        ("buffer_index", "buffer_side", "pad_value", "assume_injective_transform"),
    ),
    "TransformBlockLayout": _Form("transform_block_layout", _BLOCK, ("index_map",)),
    "SetAxisSeparator": _Form("set_axis_separator", _BLOCK, ("buffer_index", "buffer_side", "axis_separators")),
    "SetScope": _Form("set_scope", _BLOCK, ("buffer_index", "storage_scope")),
    "UnsafeSetDType": _Form("unsafe_set_dtype", _BLOCK, ("buffer_index", "dtype")),
    "Blockize": _Form("blockize", ("target",), ("preserve_unit_iters",)),
    "Tensorize": _Form("tensorize", _EITHER, ("tensor_intrin", "preserve_unit_iters")),
    "Annotate": _Form("annotate", ("block_or_loop", "ann_val"), ("ann_key",)),
    "Unannotate": _Form("unannotate", _EITHER, ("ann_key",)),
    "DecomposePadding": _Form("decompose_padding", _BOTH),
    "PadEinsum": _Form("pad_einsum", _BLOCK, ("padding",)),
    "RollingBuffer": _Form("rolling_buffer", _BLOCK, ("write_buffer_index",)),
    "FuseReductionEpilogue": _Form("fuse_reduction_epilogue", ("reduction_block", "epilogue_block")),
    "EnterPostproc": _Form("enter_postproc"),
}
"""The kinds of TVM 0.16 (src/tir/schedule/primitive), without those that cache by index maps."""
_NEWER_KINDS = {"GetSBlock": "GetBlock"}
"""The kinds of v0.24, with those of v0.16."""
_MAPS = ("TransformLayout", "TransformBlockLayout")
"""The kinds that take index maps."""
_SIDES = ("read", "write")
_FLAGS = frozenset(("preserve_unit_iters", "preserve_unit_loops", "disable_predication", "assume_injective_transform"))
_LISTS = frozenset(("consumer_blocks",))
_HEADER = ("# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:")


class InstructionKind(_InstructionKind):
    """The kind of an instruction: the name of its primitive in TVM's spelling."""

    __slots__ = ()

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind of a name. UnsupportedError for a kind that has no instructions of its own here."""
        return InstructionKind(_known(name))

    @property
    def is_pure(self) -> bool:
        """Whether instructions of the kind are queries or random choices."""
        return _op_of(self).has_trait(MemoryReadEffect)

    def same_as(self, other: object) -> bool:
        """Whether two kinds are the same."""
        return self == other


def _known(name: str) -> str:
    if name not in _FORMS:
        raise UnsupportedError(f"instruction of kind {name!r}, expected one of {', '.join(sorted(_FORMS))}")
    return name


def _op_of(kind: str) -> type[ScheduleOp]:
    return _OPS[_FORMS[_known(kind)].name]


class Choice(int):
    """A decision, or a number of one, as a number with a `value`, as expressions have."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


def _choice(decision: Any) -> Any:
    if isinstance(decision, list | tuple):
        return [Choice(each) for each in decision]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return None if decision is None else Choice(decision)


class Instruction(_Instruction):
    """An instruction of a trace, built from its kind, inputs, attributes and outputs, or from an instruction of
    another trace."""

    handles: dict[int, tuple[Any, SSAValue]]
    """The handles of an instruction built by hand, with the values that denote them in `op`, by identity."""
    _given: tuple[Sequence[Any], Sequence[Any], Sequence[Any]] | None

    def __init__(
        self,
        kind: InstructionKind | ScheduleOp,
        inputs: Sequence[Any] = (),
        attrs: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
    ):
        """kind: as of `InstructionKind.get`, or an operation, whose arguments are the others.  inputs: handles, numbers
        and values of annotations.  attrs: the other arguments, without the decision.  outputs: the handles that the
        instruction defines."""
        handles: dict[int, tuple[Any, SSAValue]] = {}
        op = kind if isinstance(kind, ScheduleOp) else _operation(kind, inputs, attrs, outputs, None, handles)
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "_given", None if isinstance(kind, ScheduleOp) else (inputs, attrs, outputs))
        object.__setattr__(self, "handles", handles)

    @property
    def kind(self) -> InstructionKind:
        return InstructionKind(super().kind)

    @property
    def inputs(self) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The handles that it takes, in order, and the value of an annotation."""
        if self._given is not None:
            return list(self._given[0])
        value = self._annotation()
        return super().inputs if value is None else [*super().inputs, value]

    @property
    def attrs(self) -> list[Any]:
        """The other arguments, in order, without the decision."""
        if self._given is not None:
            return list(self._given[1])
        return super().attrs if self._annotation() is None else super().attrs[:-1]

    def _annotation(self) -> Any:
        """The value of an annotation; None for another instruction, and for a number that the trace defines."""
        if not isinstance(self.op, AnnotateOp) or self.op.ann_val is None:
            return None
        return python_value(self.op.ann_val)

    @property
    def outputs(self) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().outputs if self._given is None else list(self._given[2])

    def same_as(self, other: object) -> bool:
        """Whether two instructions are the same."""
        return isinstance(other, _Instruction) and other.op is self.op

    def __str__(self) -> str:
        return python_line(self.op, dict.fromkeys((*self.op.operands, *self.op.results), "_"))


class Trace(_Trace):
    """The instructions of a schedule, which grow by `append`. `str(trace)` is Python text in TVM's form."""

    def __init__(
        self,
        insts: TraceOp | Sequence[_Instruction] | None = None,
        decisions: Mapping[Any, Any] | None = None,
    ):
        """insts: an operation, or instructions, of which copies are taken.  decisions: of random choices among them."""
        super().__init__(insts if isinstance(insts, TraceOp) else TraceOp())
        self._values: dict[SSAValue, SSAValue] = {}
        self._handles: dict[int, tuple[Any, SSAValue]] = {}
        for inst in () if insts is None or isinstance(insts, TraceOp) else insts:
            self.append(inst, (decisions or {}).get(inst))

    @property
    def insts(self) -> list[Instruction]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [Instruction(op) for op in self.instructions]

    @property
    def decisions(self) -> dict[Instruction, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return {inst: _choice(inst.decision) for inst in self.insts if inst.decision is not None}

    def append(self, inst: _Instruction, decision: Any = None) -> None:
        """Adds a copy of an instruction at the end."""
        handles = inst.handles if isinstance(inst, Instruction) else {}
        for key, (_, value) in handles.items():
            if key in self._handles and value in inst.op.operands:
                self._values[value] = self._handles[key][1]
        copy = copy_instruction(inst.op, self._values, decision)
        self.op.body.block.add_op(copy)
        for key, (handle, value) in handles.items():
            if value in inst.op.results:
                self._handles[key] = (handle, copy.results[inst.op.results.index(value)])

    def pop(self) -> Instruction | None:
        """Removes the last instruction, and returns it; None for a trace without one."""
        ops = self.instructions
        if not ops:
            return None
        ops[-1].detach()
        return Instruction(ops[-1])

    def apply_to_schedule(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, sch: Any, remove_postproc: bool = False, decision_provider: Callable[..., Any] | None = None
    ) -> None:
        """Applies the instructions to another schedule. decision_provider: a function of an instruction, its inputs,
        attributes and decision that returns the decision; by default that of the trace."""
        if decision_provider is None:
            super().apply_to_schedule(sch, remove_postproc)
            return
        insts = (self.without_postproc() if remove_postproc else self).insts
        decisions = {inst: decision_provider(inst, inst.inputs, inst.attrs, inst.decision) for inst in insts}
        Trace(insts, decisions).apply_to_schedule(sch)

    def as_python(self, remove_postproc: bool = False) -> list[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The instructions as lines of Python. remove_postproc: without those from `enter_postproc` on."""
        return (self.without_postproc() if remove_postproc else self).python_lines()

    def __str__(self) -> str:
        return "\n".join((*_HEADER, *(f"  {line}" for line in self.python_lines() or ["pass"])))

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """The instructions and the decisions as lists of texts and numbers, as TVM stores them: an instruction is its
        kind, inputs, attributes and outputs. UnsupportedError for an instruction with an index map."""
        trace = self.without_postproc() if remove_postproc else self
        names: dict[SSAValue, str] = {}
        insts = [_instruction_json(inst, names) for inst in trace.insts]
        return [insts, [[n, inst.decision] for n, inst in enumerate(trace.insts) if inst.decision is not None]]

    @classmethod
    def from_json(cls, json_obj: Sequence[Any]) -> Self:
        """The trace of lists as of `as_json`. OptionError for other lists; UnsupportedError as of `InstructionKind`."""
        handles: dict[str, Handle] = {}
        match json_obj:
            case [[*entries], [*pairs]]:
                decisions = {int(n): decision for n, decision in pairs}
            case _:
                raise OptionError("JSON of a trace: expected a list of instructions and a list of decisions")
        trace = cls()
        for n, entry in enumerate(entries):
            trace.append(_instruction_of(entry, handles), decisions.get(n))
        return trace

    @staticmethod
    def apply_json_to_schedule(json_obj: Sequence[Any], sch: Any) -> None:
        """Applies the trace of lists as of `as_json` to a schedule. Errors as of `from_json` and of primitives."""
        Trace.from_json(json_obj).apply_to_schedule(sch)


# Operations of instructions in TVM's form


def _operation(
    kind: str,
    inputs: Sequence[Any],
    attrs: Sequence[Any],
    outputs: Sequence[Any],
    decision: Any,
    handles: dict[int, tuple[Any, SSAValue]],
) -> ScheduleOp:
    """The operation of an instruction. handles: receives the values that denote its inputs and outputs."""
    form, op = _FORMS[_known(kind)], _op_of(kind)
    arguments: dict[str, Any] = {}
    given = list(inputs)
    for name in form.inputs:
        if name.startswith("*"):
            arguments[name[1:]], given = [_input(each, handles) for each in given], []
        elif not given:
            raise OptionError(f"{kind}: {len(inputs)} inputs, expected {', '.join(form.inputs)}")
        else:
            arguments[name] = _input(given.pop(0), handles)
    if given or len(attrs) > len(form.attrs):
        raise OptionError(
            f"{kind}: {len(inputs)} inputs and {len(attrs)} attributes, expected {', '.join(form.inputs + form.attrs)}"
        )
    arguments |= {name: _attribute(name, value, handles) for name, value in zip(form.attrs, attrs, strict=False)}
    types = [_type_of(each) for each in outputs]
    built = op.create_from(types, **_completed(form.name, arguments))
    for handle, value in zip(outputs, built.results, strict=True):
        handles[id(handle)] = (handle, value)
    return built


def _completed(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operation for those of an instruction."""
    if name == "annotate" and not isinstance(arguments["ann_val"], SSAValue):
        arguments["ann_val"] = annotation_value(arguments["ann_val"])
    if name == "blockize" and not isinstance(arguments["target"], list):
        arguments["target"] = [arguments["target"]]
    for each in _LISTS & arguments.keys():
        arguments[each] = arguments[each] or []
    if "factors" in arguments:
        arguments["factors"] = [INFERRED if each is None else each for each in arguments["factors"]]
    return arguments


def _input(value: Any, handles: dict[int, tuple[Any, SSAValue]]) -> Any:
    if isinstance(value, list | tuple):
        return [_input(each, handles) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, BoundMap):
        return BoundMap(value.map, tuple(_input(each, handles) for each in value.values))
    if isinstance(value, Handle) or (isinstance(value, PrimExpr) and not isinstance(value, _CONSTANTS)):
        return handles.setdefault(id(value), (value, create_ssa_value(_type_of(value))))[1]
    return _plain(value)


def _attribute(name: str, value: Any, handles: dict[int, tuple[Any, SSAValue]]) -> Any:
    if isinstance(value, BoundMap):
        return _input(value, handles)
    value = _plain(value)
    if name in _FLAGS:
        return bool(value)
    if name == "buffer_side":
        return _SIDES[value] if isinstance(value, int) else value
    return [float(each) for each in value] if name == "probs" else value


_CONSTANTS = IntImm | FloatImm | StringImm


def _plain(value: Any) -> Any:
    """A value with numbers and texts in place of constants."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value.value if isinstance(value, _CONSTANTS) else value


def _type_of(handle: Any) -> Attribute:
    return BlockType() if isinstance(handle, BlockRV) else LoopType() if isinstance(handle, LoopRV) else i64


# JSON

_LETTERS: Mapping[type[Attribute], str] = {BlockType: "b", LoopType: "l"}
_HANDLES: Mapping[str, type[Handle]] = {"b": BlockRV, "l": LoopRV, "v": ExprRV}


def _instruction_json(inst: Instruction, names: dict[SSAValue, str]) -> list[Any]:
    """An instruction as JSON. names: those of the results so far, to which its own are added."""
    form = _FORMS[_known(str(inst.kind))]
    arguments = inst.op.arguments()
    if any(isinstance(each, BoundMap) for each in arguments.values()):
        raise UnsupportedError(f"JSON of {inst.kind}: an index map, expected numbers and texts")
    if form.name == "blockize" and len(arguments["target"]) == 1:
        (arguments["target"],) = arguments["target"]
    inputs = [_json_input(each, names) for name in form.inputs for each in _items(name, arguments)]
    attrs = [_json_attribute(name, arguments[name]) for name in form.attrs]
    if form.name == "split" and not arguments["disable_predication"]:
        attrs.pop()  # TVM 0.16 has the first alone
    outputs: list[str] = []
    for result in inst.op.results:
        names[result] = f"{_LETTERS.get(type(result.type), 'v')}{len(names)}"
        outputs.append(names[result])
    return [str(inst.kind), inputs, attrs, outputs]


def _items(name: str, arguments: Mapping[str, Any]) -> Iterator[Any]:
    if name.startswith("*"):
        yield from arguments[name[1:]]
    else:
        yield arguments[name]


def _json_input(value: Any, names: Mapping[SSAValue, str]) -> Any:
    """An input as JSON: a handle is its name, a text is quoted."""
    match value:
        case SSAValue():
            return names[value]
        case Attribute():
            return _json_input(_plain(python_value(value)), names)
        case list() | tuple():
            return [_json_input(each, names) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case str():
            return f'"{value}"'
        case int() if value == INFERRED:
            return None
        case _:
            return value


def _json_attribute(name: str, value: Any) -> Any:
    if isinstance(value, DenseArrayBase):
        raise UnsupportedError(f"JSON of {name}: an array, expected numbers and texts")
    if name == "buffer_side":
        return _SIDES.index(value)
    return "main" if name == "func_name" and value is None else int(value) if isinstance(value, bool) else value


def _instruction_of(entry: Any, handles: dict[str, Handle]) -> Instruction:
    """The instruction of JSON. handles: those by name so far, to which its outputs are added."""
    match entry:
        case [str() as kind, [*inputs], [*attrs], [*outputs]] if all(each[:1] in _HANDLES for each in outputs):
            pass
        case _:
            raise OptionError(f"JSON of an instruction: {entry!r}, expected [kind, inputs, attributes, outputs]")
    kind, inputs, attrs = _completed_entry(kind, inputs, attrs)
    given = [_value_of(each, handles) for each in inputs]
    if kind in _MAPS:
        attrs = [_index_map(each, handles) if _is_json(each) else each for each in attrs]
    for name in outputs:
        handles[name] = _HANDLES[name[0]](name)
    return Instruction(InstructionKind.get(kind), given, attrs, [handles[name] for name in outputs])


def _completed_entry(kind: str, inputs: Sequence[Any], attrs: Sequence[Any]) -> tuple[str, list[Any], list[Any]]:
    """The kind, inputs and attributes of an instruction in v0.16, for those of other versions."""
    kind, inputs, attrs = _NEWER_KINDS.get(kind, kind), list(inputs), list(attrs)
    if kind in ("CacheRead", "CacheWrite") and len(inputs) == 1:  # until v0.9
        inputs.append([])
    if kind == "TransformLayout" and len(inputs) == 1 and len(attrs) > 2:  # until v0.10
        inputs.append(attrs.pop(2))
    return kind, inputs, attrs


def _is_json(value: object) -> bool:
    return isinstance(value, str) and value.startswith("{") and value.endswith("}")


def _index_map(text: str, handles: Mapping[str, Handle]) -> Any:
    """The map of JSON, whose variables other than indices are results of instructions; the number of a map to one."""
    read = load_json(text)
    if not isinstance(read, IndexMap):
        raise OptionError(f"JSON of an instruction: {type(read).__name__}, expected an index map")
    if len(read.final_indices) == 1 and isinstance(read.final_indices[0], IntImm | FloatImm):
        return read.final_indices[0].value

    def result(name: str) -> Any:
        if name not in handles:
            raise OptionError(
                f"JSON of an index map: {name!r}, expected an index, or a result of an instruction before"
            )
        return handles[name]

    return bound_index_map(with_sizes(read, result), len(read.initial_indices))


def _value_of(value: Any, handles: Mapping[str, Handle]) -> Any:
    """The value of an input in JSON."""
    match value:
        case list():
            return [_value_of(each, handles) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case str() if len(value) >= 2 and value[0] == value[-1] == '"':
            return value[1:-1]
        case str() if _is_json(value):
            return _index_map(value, handles)
        case str() if value == "None":
            return None
        case str() if value not in handles:
            raise OptionError(f"JSON of an instruction: {value!r}, expected a result of an instruction before")
        case str():
            return handles[value]
        case _:
            return value


__all__ = ["Instruction", "InstructionKind", "Trace"]
