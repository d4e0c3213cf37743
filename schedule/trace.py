"""`Trace`: the instructions of a schedule, as IR and as Python; both replay to the same program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ..core.errors import OptionError, ParseError, UnknownPrimitiveError
from ..dialects.schedule import (
    INFERRED,
    AnnotateBufferAccessOp,
    BlockType,
    BoundMap,
    EnterPostprocOp,
    FuseOp,
    GetBlockOp,
    LoopType,
    MergeOp,
    ReorderOp,
    ScheduleOp,
    TraceOp,
)
from ..dialects.text import STYLES, attribute_text, string_literal
from .handles import ParameterRV
from .rewriting.index_maps import index_map_text

if TYPE_CHECKING:
    from .recorder import Recorder

_LETTERS: dict[type[Attribute], str] = {BlockType: "b", LoopType: "l"}
_POSITIONAL: dict[type[ScheduleOp], str] = {FuseOp: "loops", MergeOp: "loops", ReorderOp: "ordered_loops"}
"""Primitives that take a list of handles as positional arguments."""


class InstructionKind(str):
    """The name of the primitive of an instruction in TVM's spelling: `SamplePerfectTile`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


@dataclass(frozen=True)
class Instruction:
    """An instruction of a trace, as TVM shows it."""

    op: ScheduleOp

    @property
    def kind(self) -> InstructionKind:
        """The kind: the name of the primitive."""
        name = self.op.name.partition(".")[2]
        return InstructionKind(_KIND_NAMES.get(name, "".join(word.capitalize() for word in name.split("_"))))

    @property
    def inputs(self) -> list[SSAValue]:
        """The handles that it takes, in order."""
        return list(self.op.operands)

    @property
    def outputs(self) -> list[SSAValue]:
        """The handles that it returns, in order."""
        return list(self.op.results)

    @property
    def attrs(self) -> list[Any]:
        """The arguments that are no handles, in order, without the decision."""
        return [
            value
            for name, value in self.op.arguments().items()
            if name != _DECISION and not isinstance(value, SSAValue | BoundMap) and not _is_of_handles(value)
        ]

    @property
    def decision(self) -> Any:
        """The random choice; None for an instruction without one."""
        return self.op.arguments().get(_DECISION)


_DECISION = "decision"
_KIND_NAMES = {"rfactor": "RFactor", "reindex": "ReIndex"}
"""The kinds of instructions whose names in TVM are not their words."""


def _is_of_handles(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, SSAValue) for each in value)  # pyright: ignore[reportUnknownVariableType]


class Trace:
    """The instructions of a schedule.

    `str(trace)` is Python text in TVM's form: a function that applies the instructions to a schedule. `trace.as_ir()`
    is the `schedule.trace` op as MLIR text, for a file with the program and `stepwell-opt -p apply-schedule`.
    """

    def __init__(
        self,
        op: TraceOp | Sequence[Instruction] | None = None,
        decisions: Mapping[Instruction, Any] | None = None,
        *,
        insts: Sequence[Instruction] = (),
    ):
        """op: the op, or instructions of another trace, of which copies are taken; by default `insts`.  decisions: the
        decisions of random choices among the instructions; the choices that it leaves out are drawn by a replay."""
        given = insts if op is None else op
        self.op = given if isinstance(given, TraceOp) else _trace_of(given, {} if decisions is None else decisions)

    def show(self) -> None:
        """Prints the trace as Python text."""
        print(self)

    @property
    def instructions(self) -> list[ScheduleOp]:
        """The instructions, in order."""
        return [op for op in self.op.body.block.ops if isinstance(op, ScheduleOp)]

    @property
    def insts(self) -> list[Instruction]:
        """The instructions, in order, as TVM shows them."""
        return [Instruction(op) for op in self.instructions]

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """The random choices, by instruction."""
        return {each: each.decision for each in self.insts if each.decision is not None}

    def get_decision(self, inst: Instruction) -> Any:
        """The random choice of an instruction; None for one without a choice."""
        return inst.decision

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool = False) -> Self:
        """A copy in which a random choice has another decision. inst: the choice.  remove_postproc: as of `simplified`.
        OptionError if the instruction is not of this trace, or without a choice."""
        if inst not in self.decisions:
            raise OptionError(f"{inst.op.name}: expected a random choice of this trace")
        decisions = {**self.decisions, inst: decision}
        copy = type(self)(self.insts, decisions)
        return copy.without_postproc() if remove_postproc else copy

    def without_decisions(self) -> Self:
        """A copy whose random choices are drawn by a replay."""
        return type(self)(self.insts)

    def without_postproc(self) -> Self:
        """A copy without the instructions from `enter_postproc` on."""
        copy = self.op.clone()
        ops = list(copy.body.block.ops)
        first = next((n for n, op in enumerate(ops) if isinstance(op, EnterPostprocOp)), len(ops))
        for op in reversed(ops[first:]):
            Rewriter.erase_op(op)
        return type(self)(copy)

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return self.as_python()

    def as_ir(self) -> str:
        """The trace as MLIR text."""
        return str(self.op)

    def as_python(self, style: str = "classic") -> str:
        """The trace as Python text: `apply_trace(sch)` replays it.

        style: the spelling of a version of TVM; "0.27" prints `get_sblock`. OptionError for another style.
        """
        if style not in STYLES:
            raise OptionError(f"style {style!r}, expected one of {', '.join(STYLES)}")
        lines = self.python_lines(style) or ["pass"]
        return "\n".join(("def apply_trace(sch: stepwell.Schedule) -> None:", *(f"  {line}" for line in lines)))

    def python_lines(self, style: str = "classic") -> list[str]:
        """The instructions as lines of Python, as of `as_python`."""
        return list(_python_lines(self.instructions, style))

    def simplified(self, remove_postproc: bool = False) -> Self:
        """A copy without the queries and random choices whose results are unused.

        remove_postproc: also without the instructions from `enter_postproc` on.
        """
        copy = (self.without_postproc().op if remove_postproc else self.op).clone()
        for op in reversed(list(copy.body.block.ops)):
            if isinstance(op, ScheduleOp) and op.is_query and all(r.first_use is None for r in op.results):
                Rewriter.erase_op(op)
        return type(self)(copy)

    def apply_to_schedule(self, sch: Recorder, remove_postproc: bool = False) -> None:
        """Apply the instructions to another schedule.

        remove_postproc: stop before `enter_postproc`. ScheduleError if an instruction fails there.
        """
        trace = self.simplified(remove_postproc=True) if remove_postproc else self
        sch.replay_instructions(trace.instructions)


def _trace_of(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> TraceOp:
    """Copies of instructions, random choices with the given decisions only."""
    trace = TraceOp()
    values: dict[SSAValue, SSAValue] = {}
    for inst in insts:
        trace.body.block.add_op(copy_instruction(inst.op, values, decisions.get(inst)))
    return trace


def copy_instruction(op: ScheduleOp, values: dict[SSAValue, SSAValue], decision: Any = None) -> ScheduleOp:
    """A copy of an instruction with another decision, or without one. values: the values of the copy for those of the
    instruction, to which the results are added."""
    copy = op.clone(value_mapper=values)
    copy.properties.pop(_DECISION, None)
    if decision is not None:
        copy.with_decision([int(n) for n in decision] if isinstance(decision, list | tuple) else int(decision))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return copy


# Python text


def _python_lines(instructions: list[ScheduleOp], style: str) -> Iterator[str]:
    names: dict[SSAValue, str] = {}
    for op in instructions:
        for result in op.results:
            names[result] = f"{_LETTERS.get(type(result.type), 'v')}{len(names)}"
        yield python_line(op, names, style)


def python_line(op: ScheduleOp, names: Mapping[SSAValue, str], style: str = "classic") -> str:
    """An instruction as a line of Python: `b0 = sch.get_block(name="B")`. names: those of its operands and results."""
    call = f"sch.{_method(op, style)}({', '.join(_python_arguments(op, names, style))})"
    results = ", ".join(names[r] for r in op.results)
    trailing = "," if len(op.results) == 1 and op.is_variadic else ""
    return f"{results}{trailing} = {call}" if results else call


def _method(op: ScheduleOp, style: str) -> str:
    if isinstance(op, GetBlockOp) and style == "0.27":
        return "get_sblock"
    return op.name.partition(".")[2]


def _python_arguments(op: ScheduleOp, names: Mapping[SSAValue, str], style: str) -> Iterator[str]:
    arguments: dict[str, Any] = op.arguments()
    positional = _POSITIONAL.get(type(op))
    if positional is not None:
        yield from (names[value] for value in arguments.pop(positional))
    if "buffer_side" in arguments:
        side, index = arguments.pop("buffer_side"), arguments.pop("buffer_index")
        block = arguments.pop("block")
        arguments = {"block": block, "buffer": (side, index), **arguments}
    for name, value in arguments.items():
        if name in _LEFT_OUT and (value is None or value == []):
            continue
        if name == "factors":
            text = _factors(value, names)
        elif isinstance(value, BoundMap):
            pairs = isinstance(op, AnnotateBufferAccessOp) and len(value.map.results) % 2 == 0
            text = index_map_text(value.map, [names[parameter] for parameter in value.values], pairs=pairs)
        else:
            text = _python_value(value, names, style)
        yield f"{name}={text}"


_LEFT_OUT = frozenset(("consumer_blocks", "decision", "func_name"))
"""Arguments that are omitted when they are None or empty."""


def _factors(factors: list[Any], names: Mapping[SSAValue, str]) -> str:
    texts = ["None" if factor == INFERRED else _python_value(factor, names, "classic") for factor in factors]
    return f"[{', '.join(texts)}]"


def _python_value(value: Any, names: Mapping[SSAValue, str], style: str) -> str:
    match value:
        case SSAValue():
            return names[value]
        case list():
            return f"[{', '.join(_python_value(v, names, style) for v in value)}]"  # pyright: ignore[reportUnknownVariableType]
        case Attribute():
            return attribute_text(value, style)
        case str():
            return string_literal(value)
        case tuple():
            return f"({', '.join(_python_value(v, names, style) for v in value)})"  # pyright: ignore[reportUnknownVariableType]
        case _:
            return repr(value)


def replay_script(sch: Any, text: str) -> None:
    """Apply Python text to a schedule: lines `b0, l1 = sch.primitive(arguments)`, or a function of such lines.

    The text is not executed as code: arguments are names of results, numbers, strings, lists, tuples, dictionaries, and
    functions of indices (`lambda i, j: (i, j // 4)`). ParseError, with line and column, for anything else.
    """
    _Script(sch, text).run()


class _Script:
    def __init__(self, sch: Any, text: str):
        self.sch = sch
        self.lines = text.splitlines()
        self.names: dict[str, Any] = {}
        try:
            self.body = ast.parse(text).body
        except SyntaxError as error:
            raise ParseError(f"<trace>:{error.lineno}:{error.offset}: error: {error.msg}") from None

    def run(self) -> None:
        for statement in self.body:
            match statement:
                case ast.FunctionDef():
                    for inner in statement.body:
                        self.statement(inner)
                case _:
                    self.statement(statement)

    def statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                self.names[name] = self.call(call)
            case ast.Assign(targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)], value=ast.Call() as call):
                self.assign(statement, targets, self.call(call))
            case _:
                raise self.error(statement, "expected a call of a primitive on sch")

    def assign(self, statement: ast.stmt, targets: list[ast.expr], results: Any) -> None:
        if not isinstance(results, list) or len(results) != len(targets):  # pyright: ignore[reportUnknownArgumentType]
            count = len(results) if isinstance(results, list) else 1  # pyright: ignore[reportUnknownArgumentType]
            raise self.error(statement, f"{count} results for {len(targets)} names")
        for target, result in zip(targets, results, strict=True):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if not isinstance(target, ast.Name):
                raise self.error(target, "expected a name")
            self.names[target.id] = result

    def call(self, call: ast.Call) -> Any:
        match call.func:
            case ast.Attribute(value=ast.Name(id="sch"), attr=name) if not name.startswith("_"):
                pass
            case _:
                raise self.error(call, "expected a call of a primitive on sch")
        arguments = [self.value(a) for a in call.args]
        keywords = {k.arg: self.value(k.value) for k in call.keywords if k.arg is not None}
        try:
            method = getattr(self.sch, name)
        except UnknownPrimitiveError as error:
            raise self.error(call, str(error)) from error
        try:
            return method(*arguments, **keywords)
        except TypeError as error:
            raise self.error(call, str(error)) from error

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.List(elts=items):
                return [self.value(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.value(k): self.value(v) for k, v in zip(keys, values, strict=True) if k is not None}
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Lambda():
                return self.function(node)
            case _:
                raise self.error(node, f"{ast.unparse(node)} is no value of a trace")

    def function(self, node: ast.Lambda) -> Any:
        """A function of indices; its lambda contains only arithmetic on them and on numbers and sizes of the trace, so
        that calling it is safe."""
        for inner in ast.walk(node):
            if not isinstance(inner, _INDEX_NODES) or (
                isinstance(inner, ast.Constant) and type(inner.value) is not int
            ):
                raise self.error(node, f"{ast.unparse(node)} is not arithmetic on indices")
        return eval(compile(ast.Expression(node), "<trace>", "eval"), {"__builtins__": {}, **self.parameters(node)})

    def parameters(self, node: ast.Lambda) -> dict[str, ParameterRV]:
        """The numbers and sizes of the trace that a function of indices uses, by name."""
        indices = {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
        used: dict[str, ParameterRV] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id not in indices:
                value = self.names.get(inner.id)
                if not isinstance(value, ParameterRV):
                    raise self.error(inner, f"{inner.id} is neither an index nor a number or size of the trace")
                used[inner.id] = value
        return used

    def error(self, node: ast.stmt | ast.expr, message: str) -> ParseError:
        line, column = node.lineno, node.col_offset + 1
        shown = self.lines[line - 1] if line <= len(self.lines) else ""
        return ParseError(f"<trace>:{line}:{column}: error: {message}\n    {shown}\n    {' ' * (column - 1)}^")


_INDEX_NODES = (
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
)


def traces_in_module(module_op: Operation) -> list[TraceOp]:
    """The traces directly in a module, in order."""
    return [op for region in module_op.regions for op in region.block.ops if isinstance(op, TraceOp)]
