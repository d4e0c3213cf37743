"""The recorder of primitives in a trace, which rolls back a primitive that fails halfway."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..analysis.names import loop_name
from ..core.errors import OptionError, ScheduleError
from ..core.walking import find_ops
from ..core.xdsl_compat import set_name_hint
from ..dialects.schedule import BlockType, BoundMap, LoopType, ScheduleOp, SizeType, TraceOp
from ..dialects.text import print_marked
from ..dialects.tir import BlockOp, ForOp, FuncOp
from ..module import Module
from .handles import BlockLike, BlockRV, ExprRV, Handle, LoopRV, Size, SizeRV
from .state import ComputeLocation, State, Target, apply, target_name

HandleT = TypeVar("HandleT", bound=Handle)

RENDER_LEVELS = ("detail", "fast", "none")
"""The detail of an error: the program with the lines marked, the reason, or only the name of the failed primitive."""


class Recorder:
    """The base of the families of primitives: a program, a trace, and handles of its values.

    A primitive that raises leaves the program unchanged: if it had begun to change the program, the trace is replayed
    on the initial module.
    """

    def __init__(
        self,
        mod: Module | ModuleOp,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
        copy: bool = True,
    ):
        """mod: the program, which is not modified.  seed: the seed of random choices; None for a new one each time.

        debug_mask: "all" verifies the program after each primitive.  error_render_level: the detail of errors.
        enable_check: False omits the dependence check, for traces that are known to be legal.  copy: False for a
        program that stays unchanged as long as the schedule exists.
        """
        if error_render_level not in RENDER_LEVELS:
            raise OptionError(f"error_render_level {error_render_level!r}, expected one of {', '.join(RENDER_LEVELS)}")
        source = mod if isinstance(mod, Module) else Module(mod)
        self._constants = source.constants
        self._start = source.op.clone() if copy else source.op
        self._state = State(self._start.clone(), checked=enable_check, seed=seed)
        self._trace = TraceOp()
        self._values: dict[Handle, SSAValue] = {}
        self._verifies = debug_mask in ("all", -1)
        self._render_level = error_render_level
        self._checked = enable_check
        self._changes = 0
        """The number of instructions of the trace that have changed the program."""

    # Recording

    def record(self, op: type[ScheduleOp], **arguments: Any) -> list[Any]:
        """Apply a primitive, append it to the trace, and return the handles of its results.

        Handles among the arguments denote their values of the trace. ScheduleError, ... as the primitive raises.
        """
        values = {name: self._value(argument) for name, argument in arguments.items()}
        targets, decision = self._apply(op, values)
        if decision is not None:
            values["decision"] = decision
        instruction = op.create_from(_types(targets), **values)
        return self._append(instruction, targets)

    def replay_instructions(self, instructions: Iterable[ScheduleOp]) -> None:
        """Apply the ops of a trace in order, and append copies of them to the trace of the recorder. They may only use
        each other's results. ScheduleError if a query returns more or fewer results than in the original trace."""
        mapper: dict[SSAValue, SSAValue] = {}
        for instruction in instructions:
            copy = instruction.clone(value_mapper=mapper)
            targets, decision = self._apply(type(copy), copy.arguments())
            if decision is not None:
                copy = copy.with_decision(decision)
            if len(targets) != len(copy.results):
                raise ScheduleError(f"{copy.name} gives {len(targets)} results here, expected {len(copy.results)}")
            self._append(copy, targets)

    def _apply(self, op: type[ScheduleOp], arguments: dict[str, Any]) -> tuple[list[Target], int | list[int] | None]:
        self._state.changed = False
        try:
            result = apply(self._state, op, arguments)
            if self._verifies:
                self.mod.verify()
            return result
        except ScheduleError as error:
            self._take_back()
            self._render(op, error, arguments)
            raise
        except BaseException:
            self._take_back()
            raise

    @contextmanager
    def attempt(self) -> Generator[None]:
        """A context whose primitives are undone if it ends with an exception; their handles are then invalid."""
        length, values, changes = len(self._trace.body.block.ops), dict(self._values), self._changes
        try:
            yield
        except BaseException:
            for instruction in reversed(list(self._trace.body.block.ops)[length:]):
                instruction.detach()
                instruction.erase()
            self._values = values
            self._state.changed, self._changes = self._changes != changes, changes
            self._take_back()
            raise

    def _append(self, instruction: ScheduleOp, targets: Sequence[Target]) -> list[Any]:
        self._trace.body.block.add_op(instruction)
        self._changes += self._state.changed
        handles: list[Any] = []
        for value, target in zip(instruction.results, targets, strict=True):
            self._state.values[value] = target
            name = _name_of(target)
            set_name_hint(value, name)
            handle = _HANDLES[type(value.type)](name)
            self._values[handle] = value
            handles.append(handle)
        return handles

    def _take_back(self) -> None:
        """Restore the program to its state after the last op of the trace."""
        if not self._state.changed:
            return
        old = self._state
        self._state = State(self._start.clone(), checked=False)
        self._state.random, self._state.working_on = old.random, old.working_on
        for instruction in self._trace.body.block.ops:
            assert isinstance(instruction, ScheduleOp)
            self._state.changed = False
            targets, _ = apply(self._state, type(instruction), instruction.arguments())
            self._state.values.update(zip(instruction.results, targets, strict=True))
        self._state.checked = self._checked
        self._state.changed = False

    def _render(self, op: type[ScheduleOp], error: ScheduleError, arguments: dict[str, Any]) -> None:
        """Add the name of the primitive to an error, and the program with the ops of the error marked; if it names no
        op of the program, the arguments of the primitive are marked."""
        error.primitive = op.name.partition(".")[2]
        if self._render_level == "none":
            error.reason, error.marks = "refused", {}
        if self._render_level != "detail":
            return
        marks = {target: text for marked, text in error.marks.items() if (target := self._find(marked)) is not None}
        marks = marks or dict.fromkeys(self._argument_ops(arguments), "")
        if marks:
            error.program = print_marked(self._state.module, marks)

    def _find(self, marked: Operation) -> Operation | None:
        """The op of the program that `marked` denotes: itself, or the block with the name of a rolled back block."""
        if self._state.module.is_ancestor(marked):
            return marked
        if not isinstance(marked, BlockOp):
            return None
        named = (op for op in find_ops(self._state.module, BlockOp) if op.block_name == marked.block_name)
        return next(named, None)

    def _argument_ops(self, arguments: dict[str, Any]) -> list[BlockOp | ForOp]:
        """The blocks and loops of the program among the arguments of a primitive."""
        values = [value for item in arguments.values() for value in (item if isinstance(item, list) else [item])]
        targets = [self._state.values[value] for value in values if isinstance(value, SSAValue)]
        return [op for op in targets if isinstance(op, BlockOp | ForOp) and self._state.module.is_ancestor(op)]

    # Handles

    def _value(self, argument: Any) -> Any:
        """An argument, with handles replaced by their values of the trace."""
        if isinstance(argument, Handle):
            if argument not in self._values:
                raise ScheduleError(f"{argument!r} is a handle of another schedule")
            return self._values[argument]
        if isinstance(argument, BoundMap):
            return BoundMap(argument.map, tuple(self._value(item) for item in argument.values))
        if isinstance(argument, list | tuple):
            return [self._value(item) for item in cast("Sequence[Any]", argument)]
        return argument

    def _target(self, handle: Handle) -> Target:
        return self._state.resolve(self._value(handle))

    def _block(self, block: BlockLike) -> BlockRV:
        """The handle of a block, which may be specified by name."""
        return self.get_block(block) if isinstance(block, str) else block

    def _block_op(self, block: BlockRV) -> BlockOp | FuncOp:
        """The block of a handle, or the function whose body it is. ScheduleError for a handle of something else."""
        target = self._target(block)
        if not isinstance(target, BlockOp | FuncOp):
            raise ScheduleError("expected a block")
        return target

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The handle of a block by name; implemented by the family of queries."""
        raise NotImplementedError

    def copy(self) -> Self:
        """A schedule in the same state; implemented by `Session`."""
        raise NotImplementedError

    # The program

    @property
    def mod(self) -> Module:
        """The current program."""
        return Module(self._state.module, self._constants)


_HANDLES: dict[type[Attribute], type[Handle]] = {
    BlockType: BlockRV,
    LoopType: LoopRV,
    SizeType: SizeRV,
    type(i64): ExprRV,
}


def _types(targets: Sequence[Target]) -> list[Attribute]:
    """The types of the values of a trace that denote `targets`."""
    return [_type_of(target) for target in targets]


_LOOP, _BLOCK = LoopType(), BlockType()


def _type_of(target: Target) -> Attribute:
    match target:
        case int():
            return i64
        case Size():
            return SizeType()
        case ForOp() | ComputeLocation():
            return _LOOP
        case _:
            return _BLOCK


def _name_of(target: Target) -> str:
    match target:
        case ForOp():
            return loop_name(target)
        case BlockOp() | FuncOp():
            return target_name(target)
        case ComputeLocation() | Size():
            return target.name
        case _:
            return "v"
