"""The program under a schedule, and the targets of the values of its trace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import OperandDef, VerificationContext
from xdsl.utils.exceptions import VerifyException

from ..analysis.index import WidthError
from ..analysis.names import loop_name
from ..analysis.scopes import function_around
from ..core.diagnostics import did_you_mean
from ..core.errors import ScheduleError
from ..dialects.attributes import SCHEDULED
from ..dialects.extensions import load_registrations
from ..dialects.schedule import BlockType, BoundMap, LoopType, ScheduleOp
from ..dialects.tir import BlockOp, ForOp, FuncOp
from ..dialects.tir.functions import integer_sizes
from ..dialects.tir.tree import treeify
from .handles import Size
from .legality import Change, require_same_flow, take_snapshot


@dataclass(frozen=True)
class ComputeLocation:
    """A location that a loop handle may denote besides loops: the current one (`root`), or none, for inlining."""

    name: str


ROOT, INLINE = ComputeLocation("root"), ComputeLocation("inline")

Target: TypeAlias = BlockOp | FuncOp | ForOp | ComputeLocation | Size | int
"""The target of a value of a trace."""


class State:
    """The module that a schedule changes in place.

    values: the target of each value of the trace.  checked: whether changes are checked against dependences; replays of
    checked traces are not.  changed: whether the program has changed since the flag was last set to False.
    """

    def __init__(self, module: ModuleOp, *, checked: bool = True, seed: int | None = None):
        self.module = module
        self.checked = checked
        self.changed = False
        self.values: dict[SSAValue, Target] = {}
        self.random = Random(seed)
        self.working_on: str | None = None
        for func in self.functions.values():
            treeify(func)

    @property
    def functions(self) -> dict[str, FuncOp]:
        return {op.sym_name.data: op for op in self.module.body.block.ops if isinstance(op, FuncOp)}

    def function(self, name: str) -> FuncOp:
        """The function named `name`; ScheduleError if there is none."""
        functions = self.functions
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise ScheduleError(f"no function {name!r}{did_you_mean(name, functions)} (has: {known})")
        return functions[name]

    def default_function(self) -> str:
        """The name of the default function: the one being worked on, the only one, or "main".

        ScheduleError if several functions remain.
        """
        functions = self.functions
        if self.working_on is not None:
            return self.working_on
        if len(functions) == 1:
            return next(iter(functions))
        if "main" in functions:
            return "main"
        known = ", ".join(functions) or "no function"
        raise ScheduleError(f"func_name: expected one of {known}, as there is no function 'main'")

    # Targets

    def resolve(self, value: SSAValue) -> Target:
        """The target of a value of the trace; ScheduleError if the program no longer contains it."""
        target = self.values[value]
        if isinstance(target, Operation) and not self.module.is_ancestor(target):
            what = f"loop {loop_name(target)!r}" if isinstance(target, ForOp) else f"block {target_name(target)!r}"
            raise ScheduleError(f"{what} is no longer in the program: an earlier primitive has replaced it")
        return target

    def size(self, size: Size) -> SSAValue:
        """The value of a size. ScheduleError unless the function has exactly one size of this name."""
        sizes = integer_sizes(self.function(size.function))
        values = [value for name, value in sizes if name == size.name]
        if len(values) == 1:
            return values[0]
        where = f"in function {size.function!r}"
        if values:
            raise ScheduleError(f"{len(values)} sizes {where} are called {size.name!r}, expected one")
        names = list(dict.fromkeys(name for name, _ in sizes))
        known = ", ".join(names) or "none"
        raise ScheduleError(f"no size {size.name!r} {where}{did_you_mean(size.name, names)} (has: {known})")

    # Changes

    @contextmanager
    def changing(
        self,
        moved: Collection[Operation] = (),
        *,
        among: Collection[Operation] = (),
        memories: Collection[SSAValue | None] | None = None,
        check: bool = True,
    ) -> Generator[Change]:
        """A context that changes the program; the value flow after the change must equal the flow before.

        The flow of values into, out of and among the statements in `moved` is compared: blocks or loops that the
        primitive moves, or whose accesses it changes. ScheduleError with two conflicting instances if it differs; the
        recorder of the primitive then rolls the change back.

        among: the destination of the statements: the loop that they move into.  memories: the only memories whose
        accesses change; by default those that the statements access.  check: False if the flow is equal by
        construction; then the change is only announced, so that a failure rolls it back.
        """
        change = Change()
        if not (check and self.checked and moved):
            self.changed = True
            yield change
            return
        before = take_snapshot(moved, among, memories)
        self.changed = True
        yield change
        require_same_flow(before, moved, change)


def target_name(op: BlockOp | FuncOp) -> str:
    """The name by which `get_block` finds a block."""
    return op.block_name.data if isinstance(op, BlockOp) else "root"


# Implementations of primitives

Primitive: TypeAlias = Callable[..., Any]
"""A function of the state and of the arguments of the op by name, with handles resolved to ops; returns the targets of
its results: None, one or a list. Raises ScheduleError if the primitive must not be applied."""

PrimitiveT = TypeVar("PrimitiveT", bound=Primitive)

PRIMITIVES: dict[type[ScheduleOp], Primitive] = {}


def applies(op: type[ScheduleOp]) -> Callable[[PrimitiveT], PrimitiveT]:
    """Register the function that applies an op of the `schedule` dialect."""

    def register(function: PrimitiveT) -> PrimitiveT:
        PRIMITIVES[op] = function
        return function

    return register


def _primitive(op: type[ScheduleOp]) -> Primitive:
    """The function that applies an op, which may be an op of another package. ScheduleError if there is none."""
    if op not in PRIMITIVES:
        load_registrations("primitives")
    if op not in PRIMITIVES:
        raise ScheduleError(f"no function applies {op.name}, expected one that a module of primitives registers")
    return PRIMITIVES[op]


@dataclass(frozen=True)
class SampledTargets:
    """The targets of a random choice, with the decision to be recorded in the trace."""

    targets: Sequence[Target]
    decision: int | list[int]


def apply(state: State, op: type[ScheduleOp], arguments: dict[str, Any]) -> tuple[list[Target], int | list[int] | None]:
    """Apply a primitive to arguments in the form of `ScheduleOp.arguments`; returns the targets of its results, and the
    decision of a random choice. ScheduleError if an index of the new program fits no integer type."""
    _check_handles(state, op, arguments)
    resolved = {name: _resolve(state, value) for name, value in arguments.items()}
    functions = _functions_of(resolved)
    try:
        result = _primitive(op)(state, **resolved)
    except WidthError as error:
        state.changed = True  # by the ops emitted before the failure
        raise ScheduleError(str(error)) from error
    for function in functions if state.changed else ():
        function.attributes[SCHEDULED] = _UNIT
    if isinstance(result, SampledTargets):
        return list(result.targets), result.decision
    if result is None:
        return [], None
    return (list(result) if isinstance(result, list | tuple) else [result]), None


def _functions_of(arguments: dict[str, Any]) -> list[FuncOp]:
    """The functions that contain the blocks and loops among the arguments of a primitive."""
    items = [item for value in arguments.values() for item in (value if isinstance(value, list) else [value])]  # pyright: ignore[reportUnknownVariableType]
    return [function for op in items if isinstance(op, Operation) and (function := function_around(op)) is not None]


def _check_handles(state: State, op: type[ScheduleOp], arguments: dict[str, Any]) -> None:
    """Raise ScheduleError unless the arguments for blocks and loops are handles of blocks and loops."""
    for name, kinds in _accepted_kinds(op).items():
        if name not in arguments:
            continue
        values: list[Any] = arguments[name] if isinstance(arguments[name], list) else [arguments[name]]
        for value in values:
            expected = f"{name}: expected the handle of a {' or '.join(kinds.values())}"
            if not isinstance(value, SSAValue):
                raise ScheduleError(f"{expected}, got {value!r}")
            if value.type not in kinds:
                raise ScheduleError(f"{expected}, got that of a {_KINDS.get(value.type, 'number')}")
            target = state.values[value]
            if isinstance(target, ComputeLocation) and op.name not in _TAKE_PLACES:
                raise ScheduleError(f"{expected}, got the place {target.name!r}, which is no loop")


_UNIT = UnitAttr()
_KINDS: dict[Attribute, str] = {BlockType(): "block", LoopType(): "loop"}
_TAKE_PLACES = frozenset(("schedule.compute_at", "schedule.reverse_compute_at"))
"""Primitives that accept the locations besides loops that `sample_compute_location` returns."""


@cache
def _accepted_kinds(op: type[ScheduleOp]) -> dict[str, dict[Attribute, str]]:
    """The types of handles that each operand of a primitive accepts, with their names."""
    return {
        name: {type: text for type, text in _KINDS.items() if _is_accepted(operand, type)}
        for name, operand in op.get_irdl_definition().operands
    }


def _is_accepted(operand: OperandDef, type: Attribute) -> bool:
    try:
        operand.constr.verify([type], VerificationContext())
    except VerifyException:
        return False
    return True


def _resolve(state: State, value: Any) -> Any:
    if isinstance(value, SSAValue):
        return state.resolve(value)
    if isinstance(value, BoundMap):
        targets = [state.resolve(item) for item in value.values]
        return BoundMap(value.map, tuple(state.size(t) if isinstance(t, Size) else t for t in targets))
    if isinstance(value, list):
        return [_resolve(state, item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
