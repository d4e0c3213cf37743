"""The pass `relax-outline-graphs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable
from xdsl.transforms.dead_code_elimination import dce

from ...analysis.names import symbols_of
from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.attributes import SHARED_INPUTS
from ...dialects.tir.base import string_array
from ...operators.relax import (
    AllocTensorOp,
    CallInplacePackedOp,
    CallPackedOp,
    CallTirInplaceOp,
    CallTirOp,
    FuncOp,
    FuncRefOp,
    IfOp,
    MatchCastOp,
    PrimValueOp,
    ReturnOp,
    ShapeOfOp,
    ShapeOp,
    StringOp,
    TupleGetOp,
    TupleOp,
    YieldOp,
)
from ...operators.relax.devices import Devices
from ...operators.relax.functions import impure_ops
from ...operators.relax.types import names_bound_by, names_in, prim
from ...operators.relay import SIZE_PARAMETERS, CallOp, ConstantOp, OperatorOp, free_sizes
from ...operators.relay import FuncOp as GraphOp
from ...operators.relay import ReturnOp as GraphReturnOp
from ...operators.relay.bounds import SIZE_BOUNDS, bounds_attribute
from ..relay.graphs import erase
from .functions import insert_before, relax_functions, replace_by_fields, replace_call


class RelaxOutlineGraphsPass(ModulePass):
    """Outlines the operators and calls of kernels of each block into graphs, and calls these.

    A graph has all operators and calls of kernels of a device that no call of another kind and no branch separates
    by its data, so that the passes of graphs fuse operators, plan memory and emit one native function for it. Its
    arguments may share memory with each other. Calls and branches are executed in an order of their dependences;
    those with side effects stay in order. Sizes that no argument of a graph determines are arguments of their own.
    Calls of kernels with tensors of unknown shape stay.

    Before
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relax.call_tir @double(%0) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %1 : tensor<8xf32>
        }

    After
        relay.func @main_graph("x" %x: tensor<8xf32>) attrs {relay.shared_inputs} {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relay.call @double(%0) sizes [] : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %1 : tensor<8xf32>
        }
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relay.call @main_graph(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    Must hold before: no dataflow regions (`relax-inline-dataflow`).

    Gone after: operators in functions of relax.
    """

    name = "relax-outline-graphs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dce(op)
        names = symbols_of(op)
        for func in relax_functions(op):
            for in_place in list(find_ops(func, CallTirInplaceOp)):
                _overwrite_nothing(in_place)
            for call in list(find_ops(func, CallTirOp)):
                _call_kernel(call)
            devices = Devices.of_function(func)
            for block in list(_blocks(func)):
                _Stages(func, block, devices, lambda name: fresh_name(name, names)).outline()


def _blocks(func: FuncOp) -> Iterator[Block]:
    for op in func.walk():
        yield from (block for region in op.regions for block in region.blocks)


def _overwrite_nothing(op: CallTirInplaceOp) -> None:
    """Replaces a call that overwrites new tensors, its last operands in order, by one that allocates its results."""
    first = len(op.args) - len(op.positions)
    if op.positions != list(range(first, len(op.args))):
        return
    allocations = [arg.owner for arg in op.args[first:]]
    if not all(isinstance(each, AllocTensorOp) and len(list(each.output.uses)) == 1 for each in allocations):
        return
    replace_call(op, CallTirOp(op.callee.string_value(), op.args[:first], op.output.type, op.size_texts))
    for each in allocations:
        assert isinstance(each, AllocTensorOp)
        erase(each)


def _call_kernel(op: CallTirOp) -> None:
    """Replaces a call of a kernel by one with several results, if all tensors have a known shape and data type."""
    if not all(isinstance(arg.type, TensorType) for arg in op.args):
        return
    is_graph = isinstance(SymbolTable.lookup_symbol(op, op.callee), GraphOp)
    sizes = None if is_graph else op.size_texts
    call = CallOp(op.callee.string_value(), list(op.args), op.output_types, sizes)
    insert_before(op, call)
    if isinstance(op.output.type, TensorType):
        if op.output.name_hint is not None:
            set_name_hint(call.outputs[0], op.output.name_hint)
        op.output.replace_all_uses_with(call.outputs[0])
    else:
        replace_by_fields(op.output, call.outputs, call)
    erase(op)


_PURE = (ConstantOp, FuncRefOp, PrimValueOp, ShapeOfOp, ShapeOp, StringOp, TupleGetOp, TupleOp, MatchCastOp)
"""Operations that the caller of graphs executes, without waiting for others than their operands."""


_LAST = 2**62
"""The stage of the terminator."""


@dataclass(frozen=True, order=True)
class _Time:
    """The time at which a value is available: before the graph of a stage (0), after it (1)."""

    stage: int = 0
    part: int = 0


@dataclass
class _Stages:
    """The division of a block into stages: each has a graph, then calls and branches that may use its results.

    times: the time of each value of the block, and of each size by its name.  members: the operators of the graphs.
    order: the key of the position of each other operation.
    """

    func: FuncOp
    block: Block
    devices: Devices
    name: Callable[[str], str]
    times: dict[SSAValue | str, _Time] = field(default_factory=dict[SSAValue | str, _Time])
    members: dict[Operation, int] = field(default_factory=dict[Operation, int])
    order: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    last_effect: int = 0

    def outline(self) -> None:
        """Replaces the operators of each stage by the call of a graph, and sorts the operations of the block."""
        for op in self.block.ops:
            self._place(op)
        if not self.members:
            return
        groups: dict[tuple[int, str | None], list[Operation]] = {}
        for op, stage in self.members.items():
            groups.setdefault((stage, self._device(op)), []).append(op)
        for (stage, _), group in sorted(groups.items(), key=lambda item: item[0][0]):
            call = self._outline_stage(group)
            if call is not None:
                self.order[call] = (stage, 1)
        position = {op: n for n, op in enumerate(self.block.ops)}
        ops = sorted(self.block.ops, key=lambda op: (*self.order[op], position[op]))
        for op in ops:
            op.detach()
        self.block.add_ops(ops)

    def _device(self, op: Operation) -> str | None:
        """The device of an operator or of a kernel."""
        return next((self.devices.of(result) for result in op.results), None)

    def _place(self, op: Operation) -> None:
        needs = list(self._needs(op))
        if isinstance(op, OperatorOp | CallOp):
            stage = max((self._first_stage(need) for need in needs), default=0)
            self.members[op] = stage
            self._finish(op, _Time(stage, 1))
        elif isinstance(op, ReturnOp | YieldOp):
            self.order[op] = (_LAST, 0)
        elif isinstance(op, _PURE):
            time = max((self._time(need) for need in needs), default=_Time())
            self.order[op] = (time.stage, 0 if time.part == 0 else 2)
            self._finish(op, time)
        else:
            stage = max((self._time(need).stage for need in needs), default=0)
            if any(isinstance(each, CallTirInplaceOp | CallInplacePackedOp) for each in op.walk()):
                before = [*self.members.values(), *(stage for stage, _ in self.order.values())]
                self.last_effect = stage = max(stage, self.last_effect, *before)  # they may read what it overwrites
            if _has_effects(op):
                self.last_effect = stage = max(stage, self.last_effect)
            self.order[op] = (stage, 3)
            self._finish(op, _Time(stage + 1))

    def _finish(self, op: Operation, time: _Time) -> None:
        self.times |= dict.fromkeys(op.results, time)
        if isinstance(op, MatchCastOp):
            for name in names_bound_by(op.output.type):
                self.times.setdefault(name, time)

    def _needs(self, op: Operation) -> Iterator[SSAValue | str]:
        """The values that an operation uses, in its regions too, and the names of the sizes in its types."""
        for each in op.walk():
            yield from each.operands
            for result in each.results:
                if not isinstance(each, MatchCastOp):
                    yield from names_in(result.type)
            if isinstance(each, CallOp):
                yield from (name for size in each.size_texts for name in names_in(prim(_size(size))))

    def _time(self, need: SSAValue | str) -> _Time:
        return self.times.get(need, _Time())

    def _first_stage(self, need: SSAValue | str) -> int:
        """The first stage whose graph may use a value: that of its own graph, else the first after its time."""
        time = self._time(need)
        is_member = isinstance(need, SSAValue) and need.owner in self.members
        return time.stage if is_member or time.part == 0 else time.stage + 1

    # Graphs

    def _outline_stage(self, group: Sequence[Operation]) -> CallOp | None:
        """Replaces operators by the call of a graph; None if nothing reads their results."""
        inside = set(group)
        constants = dict.fromkeys(
            operand.owner for op in group for operand in op.operands if isinstance(operand.owner, ConstantOp)
        )
        values = dict.fromkeys(operand for op in group for operand in op.operands)
        inputs = [value for value in values if value.owner not in inside and value.owner not in constants]
        results = [result for op in group for result in op.results]
        outputs = [value for value in results if any(use.operation not in inside for use in value.uses)]
        call = self._call_graph(group, list(constants), inputs, outputs) if outputs else None
        for op in reversed(group):
            erase(op)
        for op in constants:
            if not any(op.result.uses):
                self.order.pop(op, None)  # the constant may be one of an enclosing block
                erase(op)
        return call

    def _call_graph(
        self,
        group: Sequence[Operation],
        constants: Sequence[ConstantOp],
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
    ) -> CallOp:
        """Makes a graph of operators, and replaces their results by those of its call."""
        graph = self._graph(group, constants, inputs, outputs)
        call = CallOp(graph.sym_name.data, inputs, [output.type for output in outputs])
        insert_before(group[0], call)
        for old, new in zip(outputs, call.outputs, strict=True):
            if old.name_hint is not None:
                set_name_hint(new, old.name_hint)
            old.replace_all_uses_with(new)
        return call

    def _graph(
        self,
        group: Sequence[Operation],
        constants: Sequence[ConstantOp],
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
    ) -> GraphOp:
        types = [result.type for op in group for result in op.results]
        texts = [size for op in group if isinstance(op, CallOp) for size in op.size_texts]
        free = [*free_sizes([value.type for value in inputs], types)]
        own = {name for value in inputs for name in names_bound_by(value.type)}
        free += [name for text in texts for name in names_in(prim(_size(text))) if name not in own]
        numbers = list(dict.fromkeys(free))
        sizes = {name for type in (*types, *(value.type for value in inputs)) for name in names_in(type)}
        params = self._parameters(inputs, sizes.union(numbers))
        attrs: dict[str, Attribute] = {SHARED_INPUTS: UnitAttr()}
        if numbers:
            attrs[SIZE_PARAMETERS] = string_array(numbers)
        bounded = {*own, *(name for value in inputs for name in names_in(value.type)), *numbers}
        if bounds := {name: most for name, most in self.func.size_bounds.items() if name in bounded}:
            attrs[SIZE_BOUNDS] = bounds_attribute(bounds)
        graph = GraphOp(self.name(f"{self.func.sym_name.data}_graph"), params, attrs=DictionaryAttr(attrs))
        graph.location = group[0].location
        block = graph.body.block
        values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for op in (*constants, *group):
            copy = op.clone(values)
            for result, new in zip(op.results, copy.results, strict=True):
                new.name_hint = result.name_hint
            for old, new in zip(op.walk(), copy.walk(), strict=True):
                new.location = old.location
            block.add_op(copy)
        block.add_op(GraphReturnOp([values[output] for output in outputs]))
        parent = self.func.parent
        assert parent is not None
        parent.insert_op_before(graph, self.func)
        return graph

    def _parameters(self, inputs: Sequence[SSAValue], taken: set[str]) -> list[tuple[str, Attribute]]:
        """The parameters of a graph. Errors name arguments by them: those of the function keep their names, except for
        names in `taken`."""
        known: dict[SSAValue, str] = {value: name for name, value in self.func.params if name not in taken}
        taken.update(known[value] for value in inputs if value in known)
        return [(known.get(value) or fresh_name(f"p{n}", taken), value.type) for n, value in enumerate(inputs)]


def _has_effects(op: Operation) -> bool:
    if isinstance(op, IfOp):
        return any(next(impure_ops(region), None) is not None for region in op.regions)
    return isinstance(op, CallPackedOp) or getattr(getattr(op, "function", None), "impure", None) is not None


def _size(text: str) -> int | str:
    return int(text) if text.isdigit() else text
