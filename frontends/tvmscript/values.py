"""Values of TVMScript expressions at parse time.

In addition: Python numbers, strings, tuples, lists, dicts, None and functions (evaluated eagerly, as in Python), and
`SSAValue`, an expression of the program being emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span
from ...core.dtypes import DType
from ...dialects.tir import Axis, HandleType, Mixed, Operand
from . import syntax

if TYPE_CHECKING:
    from .context import ElaborationContext

Value = Any
"""An instance of a class below, a Python value, or an `SSAValue`."""


@dataclass(frozen=True, slots=True)
class Word:
    """A name of the vocabulary: `T.axis.spatial` has namespace T and path "axis.spatial"; the namespace itself an empty
    path.
    """

    namespace: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}.{self.path}" if self.path else self.namespace


@dataclass(frozen=True, slots=True)
class TypeAnnotation:
    """A type without a value: `T.type_annotation("float32")`, `T.handle("float32", "shared")` in a signature."""

    type: Attribute


@dataclass(eq=False, slots=True)
class Variable:
    """`n = T.int32()`: a variable assigned later, or the symbolic size of a buffer if never assigned.

    thread: the GPU thread axis of the variable (`T.env_thread`).
    """

    type: Attribute
    span: Span
    name: str = ""
    value: SSAValue | None = None
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """An expression bound to a name: recomputed at each use.

    The same holds for `T.meta_var(e)`, and for arguments of macros, lambdas and Python functions. value: the template
    of the expression; uses emit copies of it.
    """

    value: SSAValue


@dataclass(frozen=True, slots=True)
class Meta:
    """`T.meta_var(v)` before its assignment, which binds the name to `v` itself instead of emitting a let."""

    value: Value


@dataclass(frozen=True, slots=True)
class Deferred:
    """A call of a word in the caller's Python code, `ONE = T.float32(1)`, evaluated where the name is used."""

    run: Callable[[ElaborationContext, Span], Value]


@dataclass(frozen=True, slots=True)
class Lazy:
    """An assignment beside the functions, `N = 128`, evaluated where the name is used."""

    node: syntax.Expr
    scope: NameScope


@dataclass(frozen=True, slots=True)
class Closure:
    """A lambda, its enclosing scope, and the values of its parameters' defaults."""

    node: syntax.Lambda
    scope: NameScope
    defaults: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """`n = TypeVar("n")` outside of functions: a 64-bit size in each function that uses the name."""


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A function whose body is expanded at each call. hygienic: names in the body are resolved at the definition.

    defaults: the default values of parameters.  bound: arguments that precede those of a call, such as the object of a
    method.  later: names that Python defined after the macro, like the macro's own.
    """

    node: syntax.FunctionDef
    scope: NameScope
    hygienic: bool
    defaults: Mapping[str, Value]
    bound: tuple[Value, ...] = ()
    later: Callable[[], Mapping[str, Value]] | None = None

    def __get__(self, instance: object, owner: type | None = None) -> Macro:
        return self if instance is None else replace(self, bound=(instance,))


@dataclass(frozen=True, slots=True)
class MacroResult:
    """The result of a macro call: no value, since its statements are already emitted."""

    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a program value, such as `A.vload`; `run` takes the arguments of a call."""

    run: Callable[..., Value]


@dataclass(frozen=True, slots=True)
class FunctionNamespace:
    """The namespace of the module's functions: `cls`, or the name of the module."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function of the module under elaboration."""

    name: str


@dataclass(frozen=True, slots=True)
class LocalFunction:
    """A function in a function, which is the function `name` of the module. captured: the values of the outer function
    that are its first arguments."""

    name: str
    captured: tuple[SSAValue, ...]


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """A range of integers, `T.Range(low, high)` or `range(low, high)`: `extent` integers from `low` on."""

    low: Operand
    extent: Operand


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The upper bound of a range, as the distance from its lower bound."""

    extent: Operand


# ---- functions of relax


@dataclass(frozen=True, slots=True)
class RelaxValue:
    """A value of a function of relax."""

    value: SSAValue


@dataclass(frozen=True, slots=True)
class RelaxType:
    """The type of values of relax: `R.Tensor((n, 4), "float32")`. device: of the values, `"cuda:0"`; None for any."""

    type: Attribute
    device: str | None = None


@dataclass(frozen=True, slots=True)
class VirtualDevice:
    """A device of a module: `I.vdevice("cuda", 0)`. target: its text.  index: among the devices of its kind.  scope: of
    its memory."""

    target: str
    index: int
    scope: str = "global"

    @property
    def name(self) -> str:
        """The kind of the target, the index, and the scope unless it is `global`."""
        return _device_text(self.target.partition(" ")[0], self.index, self.scope)


def _device_text(kind: str, index: int | str, scope: str) -> str:
    return f"{kind}:{index}" if scope in ("", "global") else f"{kind}:{index}:{scope}"


_TARGET_KINDS = {"cpu": "llvm", "cuda_emulated": "cuda-emulated"}
"""The kinds of targets that are not called as their devices."""


def device_name(value: Value) -> str | None:
    """The name in a module of a device that is given by its name, by its kind, or as itself; None for other values."""
    match value:
        case VirtualDevice():
            return value.name
        case object(kind=str() as kind, index=int() as index):  # a device of the run time: `tvm.cuda(0)`
            return f"{_TARGET_KINDS.get(kind, kind)}:{index}"
        case str():
            kind, number, scope = (*value.split(":"), "", "")[:3]
            return _device_text(kind, number or 0, scope)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class ExternFunction:
    """A packed function by name: `R.ExternFunc("env.linear")`."""

    name: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table of constant arrays of a module, `metadata["relax.expr.Constant"]`; the table of tables without a path.

    An item of the table is `Metadata` with the name of the array.
    """

    path: tuple[str, ...] = ()


# ---- buffers


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """The arguments of `T.Buffer(...)`."""

    shape: tuple[Mixed, ...]
    element: Attribute
    data: SSAValue | None = None
    strides: tuple[Mixed, ...] | None = None
    offset: Mixed | None = None
    scope: str = "global"
    alignment: int | None = None
    offset_factor: int | None = None
    axis_separators: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class BufferValue:
    """A buffer and its properties. value: the memref."""

    value: SSAValue
    name: str
    dtype: DType
    shape: list[Mixed]
    strides: list[Mixed] | None = None
    offset: Mixed = 0
    scope: str = "global"


@dataclass(frozen=True, slots=True)
class SliceIndex:
    """A slice `low:low + extent:step` among the indices of a buffer; the extent counts elements before the step is
    applied.
    """

    low: Operand | Quoted
    extent: Operand | Quoted
    step: int = 1


@dataclass(frozen=True, slots=True)
class Element:
    """A subscript `A[i, 0:4]`: an element, a vector, or a region of a buffer, depending on the context."""

    buffer: BufferValue
    indices: tuple[Operand | Quoted | SliceIndex, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class PointerAllocation:
    """The allocation that a pointer refers to: the data type and number of its elements."""

    element: DType
    shape: tuple[Mixed, ...]
    scope: str
    block: Block


# ---- calls, loops and frames


@dataclass(eq=False, slots=True)
class PendingCall:
    """A call that has a result only if used. insert: emits the call, with or without a result."""

    insert: Callable[[bool], SSAValue | None]
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop to open: `extent` integers from `low` on, with step `step`.

    descent: for a loop that counts down, its first value and the distance to the next one; then the loop to open counts
    the iterations.
    """

    low: Operand
    extent: Operand
    kind: str = "serial"
    step: Operand = 1
    thread: str | None = None
    annotations: dict[str, Value] | None = None
    descent: tuple[Operand, int] | None = None


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of a `for`, outermost first. grid: created by `T.grid`, and bindable to a tuple."""

    loops: tuple[Loop, ...]
    grid: bool = False


@dataclass(frozen=True, slots=True)
class BlockAxis:
    """An axis of a v0.8 block: `T.reduce_axis(0, 128)`."""

    kind: str
    low: Operand
    extent: Operand


@dataclass(frozen=True, slots=True)
class Frame:
    """A context opened by `with`, or by a bare statement for the rest of its block."""

    span: Span


@dataclass(frozen=True, slots=True)
class BlockFrame(Frame):
    name: str
    axes: tuple[BlockAxis, ...] | None


@dataclass(frozen=True, slots=True)
class InitFrame(Frame):
    pass


@dataclass(frozen=True, slots=True)
class DataflowFrame(Frame):
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
    """A declaration that binds a name: `T.allocate(...)`, `T.decl_buffer(...)`. declare: emits it."""

    declare: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class LetFrame(Frame):
    variable: Variable | None
    value: Value


@dataclass(frozen=True, slots=True)
class BranchFrame(Frame):
    """`T.If(c)`, `T.Then()`, `T.Else()`, `T.While(c)`, `T.Assert(c, m)` as `with` items; `part` is the kind."""

    part: str
    arguments: tuple[Value, ...] = ()


# ---- names


@dataclass(slots=True)
class NameScope:
    """A name scope: names with their values, and a parent scope. parameters: the names are a macro's parameters."""

    parent: NameScope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    parameters: bool = False

    def find(self, name: str) -> NameScope | None:
        """The innermost scope that defines a name; None if the name is undefined."""
        scope: NameScope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def all_names(self) -> list[str]:
        known: dict[str, None] = {}
        scope: NameScope | None = self
        while scope is not None:
            known.update(dict.fromkeys(scope.names))
            scope = scope.parent
        return list(known)


def type_variables(scope: NameScope) -> list[str]:
    """The names of the type variables of the scopes around a scope."""
    names: list[str] = []
    parent = scope.parent
    while parent is not None:
        names += [name for name, value in parent.names.items() if isinstance(value, TypeVariable)]
        parent = parent.parent
    return names


@dataclass(eq=False, slots=True)
class BlockState:
    """A block during the elaboration of its body.

    body: the future region.  outside, point: the name scope and the insertion point before the block, where bindings
    are evaluated.  signature: the words T.reads, T.writes, T.where, ... seen so far.  pending: the axes of a v0.8 block
    without a binding.
    """

    frame: BlockFrame
    body: Block
    outside: NameScope
    point: InsertPoint
    axes: list[Axis] = field(default_factory=list)
    pending: list[SSAValue] = field(default_factory=list)
    predicate: SSAValue | None = None
    annotations: dict[str, Attribute] = field(default_factory=dict)
    signature: set[str] = field(default_factory=set)


def describe_value(value: Value) -> str:
    """The description of a value in messages."""
    match value:
        case Quoted():
            return describe_value(value.value)
        case MacroResult():
            return f"the macro {value.name!r}, which has no value"
        case Meta():
            return "T.meta_var(...), which has its place in an assignment"
        case SSAValue():
            return f"a pointer of type {value.type}" if isinstance(value.type, HandleType) else "an expression"
        case BufferValue():
            return f"the buffer {value.name!r}"
        case Element():
            return f"elements of the buffer {value.buffer.name!r}"
        case Word() | FunctionNamespace() | FunctionRef() | LocalFunction():
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
    IntegerRange: "a range",
    PendingCall: "a call",
    TypeAnnotation: "a type",
    RelaxValue: "a value of relax",
    RelaxType: "a type",
    VirtualDevice: "a device",
    ExternFunction: "a packed function",
    Metadata: "a table of constants",
}
_FRAMES: dict[type, str] = {BlockFrame: "a block", InitFrame: "T.init()", AttrFrame: "T.attr(...)"}


def python_number(value: Value) -> Value:
    """A number of Python for a constant attribute; other values unchanged."""
    return value.value.data if isinstance(value, IntegerAttr | FloatAttr) else value
