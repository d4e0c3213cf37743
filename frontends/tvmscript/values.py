"""What an expression of TVMScript can be while a program is read.

Beside these: Python's own numbers, strings, tuples, lists, dicts, None and functions (evaluated at once, as Python
would), and `SSAValue`, an expression of the program that is being written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span
from ...core.dtypes import DType
from ...dialects.tir import Axis, HandleType, Mixed, Operand
from . import syntax

if TYPE_CHECKING:
    from .context import Context

Value = Any
"""Any of the classes below, a Python value, or an `SSAValue`."""


@dataclass(frozen=True, slots=True)
class Word:
    """A name of the vocabulary: `T.axis.spatial` is namespace T, path "axis.spatial"; the namespace itself has none."""

    namespace: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}.{self.path}" if self.path else self.namespace


@dataclass(frozen=True, slots=True)
class TypeAnnotation:
    """`T.type_annotation("float32")`, `T.handle("float32", "shared")` in a signature: a type and nothing else."""

    type: Attribute


@dataclass(eq=False, slots=True)
class Variable:
    """`n = T.int32()`: a variable that something later gives a value; a size of a buffer if nothing does.

    thread: the GPU thread axis it stands for (`T.env_thread`).
    """

    type: Attribute
    span: Span
    name: str = ""
    value: SSAValue | None = None
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """An expression that stands for how it is computed: each use computes it anew, where it stands.

    So are `T.meta_var(e)`, and arguments of macros, lambdas and Python functions. value: the expression as it was first
    written; uses write copies of it.
    """

    value: SSAValue


@dataclass(frozen=True, slots=True)
class Meta:
    """`T.meta_var(v)` until it is assigned: the name then stands for `v` itself, which is no let."""

    value: Value


@dataclass(frozen=True, slots=True)
class Deferred:
    """`ONE = T.float32(1)` of the caller's Python: a call of a word, made where the name is used."""

    run: Callable[[Context, Span], Value]


@dataclass(frozen=True, slots=True)
class Lazy:
    """`N = 128` beside the functions: evaluated where it is used."""

    node: syntax.Expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class Closure:
    """A lambda, the names around it, and the values of its parameters' defaults."""

    node: syntax.Lambda
    scope: Scope
    defaults: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """`n = TypeVar("n")` around functions: a size of 64 bits in each function that uses the name."""


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A function whose body stands for its call; hygienic: it sees the names around its definition.

    defaults: values of parameters.  bound: arguments that come before those of a call, the object whose method it is.
    later: names that Python defined since, like the macro's own.
    """

    node: syntax.FunctionDef
    scope: Scope
    hygienic: bool
    defaults: Mapping[str, Value]
    bound: tuple[Value, ...] = ()
    later: Callable[[], Mapping[str, Value]] | None = None

    def __get__(self, instance: object, owner: type | None = None) -> Macro:
        return self if instance is None else replace(self, bound=(instance,))


@dataclass(frozen=True, slots=True)
class Expanded:
    """What the call of a macro gives: nothing, its statements are written."""

    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """`A.vload`: a method of something of the program; `run` takes the arguments of a call."""

    run: Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Functions:
    """`cls`, or the module by its own name: a namespace of functions."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function of the module that is being read."""

    name: str


@dataclass(frozen=True, slots=True)
class Range:
    """`T.Range(low, high)`, `range(low, high)`: from `low`, `extent` numbers."""

    low: Operand
    extent: Operand


@dataclass(frozen=True, slots=True)
class Until:
    """The end of a range, by how far it is from the beginning."""

    extent: Operand


# ---- buffers


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """All that `T.Buffer(...)` says about a buffer."""

    shape: tuple[Mixed, ...]
    element: Attribute
    data: SSAValue | None = None
    strides: tuple[Mixed, ...] | None = None
    offset: Mixed | None = None
    scope: str = "global"
    alignment: int | None = None
    offset_factor: int | None = None


@dataclass(eq=False, slots=True)
class Buffer:
    """A buffer and what is known of it. value: the memref."""

    value: SSAValue
    name: str
    dtype: DType
    shape: list[Mixed]
    strides: list[Mixed] | None = None
    offset: Mixed = 0
    scope: str = "global"


@dataclass(frozen=True, slots=True)
class Box:
    """`low:low + extent:step` as one of the indices of a buffer; the extent counts elements from low to the end."""

    low: Operand | Quoted
    extent: Operand | Quoted
    step: int = 1


@dataclass(frozen=True, slots=True)
class Element:
    """`A[i, 0:4]`: an element, several, or a box of a buffer, depending on where it stands."""

    buffer: Buffer
    indices: tuple[Operand | Quoted | Box, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of the memory behind a pointer: its elements and how many there are."""

    element: DType
    shape: tuple[Mixed, ...]
    scope: str
    block: Block


# ---- things a call makes that need a place


@dataclass(eq=False, slots=True)
class PendingCall:
    """A call that has a result only where one is used. insert: writes it, with a result or without."""

    insert: Callable[[bool], SSAValue | None]
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop to be opened: `extent` numbers from `low`, `step` apart."""

    low: Operand
    extent: Operand
    kind: str = "serial"
    step: Operand = 1
    thread: str | None = None
    annotations: dict[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of a `for`, from the outermost; grid: they came from `T.grid` and may be bound to a tuple."""

    loops: tuple[Loop, ...]
    grid: bool = False


@dataclass(frozen=True, slots=True)
class BlockAxis:
    """`T.reduce_axis(0, 128)` among the axes of a v0.8 block."""

    kind: str
    low: Operand
    extent: Operand


@dataclass(frozen=True, slots=True)
class Frame:
    """Something that `with` opens, or that a bare statement opens for the rest of its block."""

    span: Span


@dataclass(frozen=True, slots=True)
class BlockFrame(Frame):
    name: str
    axes: tuple[BlockAxis, ...] | None


@dataclass(frozen=True, slots=True)
class InitFrame(Frame):
    pass


@dataclass(frozen=True, slots=True)
class AttrFrame(Frame):
    node: Value
    entries: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class LaunchFrame(Frame):
    variable: Variable
    extent: Operand


@dataclass(frozen=True, slots=True)
class ValueFrame(Frame):
    """What declares something and gives it a name: `T.allocate(...)`, `T.decl_buffer(...)`. declare: writes it."""

    declare: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class LetFrame(Frame):
    variable: Variable | None
    value: Value


@dataclass(frozen=True, slots=True)
class BranchFrame(Frame):
    """`T.If(c)`, `T.Then()`, `T.Else()`, `T.While(c)`, `T.Assert(c, m)` as `with` items; `part` tells which."""

    part: str
    arguments: tuple[Value, ...] = ()


# ---- names


@dataclass(slots=True)
class Scope:
    """Names and their values; what is not here may be in the parent. parameters: they are those of a macro's call."""

    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    parameters: bool = False

    def find(self, name: str) -> Scope | None:
        """The innermost scope that knows a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def all_names(self) -> list[str]:
        known: dict[str, None] = {}
        scope: Scope | None = self
        while scope is not None:
            known.update(dict.fromkeys(scope.names))
            scope = scope.parent
        return list(known)


@dataclass(eq=False, slots=True)
class BlockState:
    """A block while its body is read.

    body: the future region.  outside, point: the names and the place in front of the block, where bindings are
    evaluated.  signature: which of T.reads, T.writes, T.where, ... came.  pending: axes of a v0.8 block that have no
    binding yet.
    """

    frame: BlockFrame
    body: Block
    outside: Scope
    point: InsertPoint
    axes: list[Axis] = field(default_factory=list)
    pending: list[SSAValue] = field(default_factory=list)
    predicate: SSAValue | None = None
    annotations: dict[str, Attribute] = field(default_factory=dict)
    signature: set[str] = field(default_factory=set)


def describe(value: Value) -> str:
    """What a value is, for a message."""
    match value:
        case Quoted():
            return describe(value.value)
        case Expanded():
            return f"the macro {value.name!r}, which has no value"
        case Meta():
            return "T.meta_var(...), which has its place in an assignment"
        case SSAValue():
            return f"a pointer of type {value.type}" if isinstance(value.type, HandleType) else "an expression"
        case Buffer():
            return f"the buffer {value.name!r}"
        case Element():
            return f"elements of the buffer {value.buffer.name!r}"
        case Word() | Functions() | FunctionRef():
            return repr(str(value)) if isinstance(value, Word) else f"{value.name!r}"
        case Loops():
            return "loops"
        case Frame():
            return _FRAMES.get(type(value), "a statement")
        case BufferSpec():
            return "a buffer declaration"
        case Closure() | Macro():
            return "a function"
        case None:
            return "None"
        case _:
            return _TYPES.get(type(value), f"a value of type {type(value).__name__}")


_TYPES: dict[type, str] = {
    bool: "a bool",
    int: "an integer",
    float: "a float",
    str: "a string",
    tuple: "a tuple",
    list: "a list",
    dict: "a dictionary",
    Variable: "a variable",
    Range: "a range",
    PendingCall: "a call",
    TypeAnnotation: "a type",
}
_FRAMES: dict[type, str] = {BlockFrame: "a block", InitFrame: "T.init()", AttrFrame: "T.attr(...)"}


def known_names(values: Sequence[str]) -> str:
    """`'a', 'b' and 'c'`."""
    quoted = [repr(value) for value in values]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
