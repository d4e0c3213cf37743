"""The emission of one LLVM function: names, blocks, values, buffers, and the exit on failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import FileLineColLoc, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.errors import UnsupportedError
from ..runtime.signature import Failure
from .debug import DebugInfo, FunctionDebug
from .types import constant_value_of_operand, escape, intrinsic_suffix, layout_of, register_type
from .work import Work


@dataclass(frozen=True)
class MemRef:
    """A memref value: its operands, constant where the type is static. `offset` and `strides` in elements."""

    pointer: str
    offset: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]


_ILLEGAL = re.compile(r"[^A-Za-z0-9$._-]")
_PURE = frozenset(
    "add sub mul sdiv udiv srem urem shl lshr ashr and or xor icmp select sext zext trunc getelementptr insertelement "
    "extractelement shufflevector".split()
)
"""The instructions on integers, addresses and lanes whose results depend on their operands alone: accesses to an
unrolled tile compute most parts of their addresses alike."""
_TRAPPING = frozenset("sdiv udiv srem urem".split())
"""The pure instructions that may trap: they remain under the conditions of the program."""
_NAME = re.compile(r"%[\w$.-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z$._-][A-Za-z0-9$._-]*")

Value = str | MemRef
"""The lowered form of an SSA value: an LLVM operand (a name or a constant) or a buffer."""


class LlvmModule(Protocol):
    """The services of the enclosing module that a function emitter requires."""

    instructions: frozenset[str]
    """The features of the processor, by LLVM's names."""
    work: Work
    debug: DebugInfo | None
    """The debug information of the module, None for a module without."""

    def declare(self, name: str, result: str, parameters: Sequence[str], attributes: str = "") -> str:
        """Declares an external function, once; returns `@"name"`."""
        ...

    def external(self, name: str) -> str:
        """Declares an external global, once; returns `@"name"`."""
        ...

    def helper(self, name: str, text: Callable[[], str]) -> str:
        """Adds the helper function that `text` emits, once; returns `@"name"`."""
        ...

    def variable(self, name: str, type: str, value: str) -> str:
        """Adds a global variable of the module with an initial value, once; returns `@"name"`."""
        ...

    def has_variable(self, name: str) -> bool:
        """Whether a global variable was added."""
        ...

    def function(self, name: str) -> func.FuncOp:
        """The function or declaration named `name`."""
        ...

    def elsewhere(self, declaration: func.FuncOp) -> None:
        """Declares a function of another part of the program, once."""
        ...

    def packed_number(self, declaration: func.FuncOp) -> int:
        """The index by which native code calls a packed function."""
        ...

    def failure(self, failure: Failure) -> int:
        """The status of a failure."""
        ...

    def stack_name(self, op: memref.AllocaOp) -> str:
        """The hint for the name of a stack buffer, by which remarks find it in optimized code."""
        ...

    def lowering(self, op: Operation) -> Lowering:
        """The lowering of `op`. Raises UnsupportedError if it is unsupported."""
        ...


Lowering = Callable[["LlvmFunctionEmitter", Any], None]
Lowerings = Mapping[type[Operation], Lowering]


def location_suffix(op: Operation) -> str:
    """` at file:line:column`, or an empty string if `op` has no location."""
    location = op.location
    if isinstance(location, FileLineColLoc):
        return f" at {location.filename.data}:{location.line.data}:{location.column.data}"
    return ""


def lowering_unsupported(op: Operation, message: str) -> UnsupportedError:
    """The error for an operation that cannot be compiled."""
    return UnsupportedError(f"{op.name}{location_suffix(op)}: {message}")


@dataclass(frozen=True)
class _LoopScope:
    """A loop whose body is being emitted. place: the index of the line before the loop for invariant instructions.
    instructions: these, with their results by text."""

    place: int
    instructions: dict[str, str]


class LlvmFunctionEmitter:
    """The text of a function under construction. Lowerings call `operand`/`memref`, then `define` or `bind`."""

    def __init__(self, module: LlvmModule) -> None:
        self.module = module
        self.debug: FunctionDebug | None = None
        """The debug information of the function, None for a function without."""
        self._places: dict[int, str] = {}
        """The nodes of the places of lines, by index, in a function with debug information."""
        self.current = "entry"
        """The label of the current block, the predecessor in the phis of its successors."""
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._values: dict[SSAValue, Value] = {}
        self._names = 0
        self._known: dict[str, str] = {}
        """The results of the instructions of the current block that depend on their operands alone."""
        self._loops: list[_LoopScope] = []
        """The loops around the current block, outermost first."""
        self._depths: dict[str, int] = {}
        """The number of loops around the definition of each name."""
        self._exits: list[tuple[str, str]] = []
        self._owners: dict[str, tuple[str, Release]] = {}
        self._dynamic_stack: list[bool] = [False]
        self._variables: dict[str, str] = {}
        self.is_in_long_loop = False
        """Whether the iterations of a loop whose body is being emitted take an unknown time."""

    # names and text

    def fresh_name(self, hint: str | None = None) -> str:
        """A new local name; `hint` makes it readable."""
        self._names += 1
        name = f"%{_ILLEGAL.sub('_', hint or '')}.{self._names}"
        self._depths[name] = len(self._loops)
        return name

    def emit(self, text: str) -> None:
        """Appends an instruction."""
        self._lines.append("  " + text)

    def emit_value(self, text: str, hint: str | None = None) -> str:
        """Appends an instruction with a result, and returns the name of the result.

        An instruction whose result depends on its operands alone precedes the loops in which these are invariant,
        except in a function with debug information. Equal ones are appended once in a block, and once before a loop.
        """
        opcode = text.partition(" ")[0]
        if opcode not in _PURE:
            name = self.fresh_name(hint)
            self.emit(f"{name} = {text}")
            return name
        depth = len(self._loops) if opcode in _TRAPPING or self.debug is not None else self._depth(text)
        if depth < len(self._loops):
            return self._hoist(text, depth, hint)
        if text not in self._known:
            self._known[text] = name = self.fresh_name(hint)
            self.emit(f"{name} = {text}")
        return self._known[text]

    def _depth(self, text: str) -> int:
        """The number of the current loops in which some operand of an instruction varies."""
        here, deepest = len(self._loops), 0
        for name in _NAME.findall(text) if here else ():
            depth = self._depths.get(name, here)
            if depth > deepest:
                deepest = depth
        return deepest

    def _hoist(self, text: str, depth: int, hint: str | None) -> str:
        """Appends an instruction to those before the loop inside of `depth` others; returns the name of the result."""
        known = self._loops[depth].instructions
        if text not in known:
            known[text] = name = self.fresh_name(hint)
            self._depths[name] = depth
        return known[text]

    @contextmanager
    def loop_body(self, place: int) -> Generator[None]:
        """The emission of the body of a loop. place: the index of a line that was reserved before the loop, for the
        instructions that are invariant in it."""
        scope = _LoopScope(place, {})
        self._loops.append(scope)
        yield
        self._loops.pop()
        self._lines[place] = "\n".join(f"  {name} = {text}" for text, name in scope.instructions.items())

    def fresh_label(self, hint: str) -> str:
        """A new block name, without its %."""
        return self.fresh_name(hint)[1:]

    def start_block(self, label: str) -> None:
        """Begins the block `label`."""
        self._lines.append(f"{label}:")
        self.current = label
        self._known.clear()

    def branch(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str, suffix: str = "") -> None:
        self.emit(f"br i1 {condition}, label %{then}, label %{otherwise}{suffix}")

    def reserve_line(self) -> int:
        """Reserves a line to be written later by `fill_line`; returns its index."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill_line(self, place: int, text: str) -> None:
        self._lines[place] = "  " + text

    def emit_in_entry(self, text: str, hint: str | None = None) -> str:
        """Appends an instruction with a result (an alloca) to the entry block; returns the name of the result."""
        name = self.fresh_name(hint)
        self._depths[name] = 0
        self._entry.append(f"  {name} = {text}")
        return name

    def variable(self, name: str, type: str, initial: str) -> str:
        """The pointer to a variable of the function with an initial value, created once."""
        if name not in self._variables:
            self._variables[name] = self.emit_in_entry(f"alloca {type}", name)
            self._entry.append(f"  store {type} {initial}, ptr {self._variables[name]}")
        return self._variables[name]

    # values

    def operand(self, value: SSAValue) -> str:
        """The LLVM operand of a scalar, vector or pointer."""
        bound = self._values[value]
        if isinstance(bound, MemRef):
            raise UnsupportedError(f"expected a scalar or vector, got a value of type {value.type}")
        return bound

    def operands(self, values: Iterable[SSAValue]) -> list[str]:
        return [self.operand(value) for value in values]

    def memref(self, value: SSAValue) -> MemRef:
        """The buffer bound to `value`."""
        bound = self._values[value]
        if isinstance(bound, str):
            raise UnsupportedError(f"expected a buffer, got a value of type {value.type}")
        return bound

    def value(self, value: SSAValue) -> Value:
        return self._values[value]

    def bind(self, value: SSAValue, to: Value) -> None:
        self._values[value] = to

    def define(self, value: SSAValue, text: str) -> None:
        """Appends the instruction that computes `value`."""
        self.bind(value, self.emit_value(text, value.name_hint))

    def intrinsic(
        self,
        name: str,
        result: str,
        arguments: Sequence[tuple[str, str]],
        flags: str = "",
        overloads: Sequence[str] | None = None,
    ) -> str:
        """The text of a call of `llvm.NAME`, which is declared. `arguments`: (type, operand). `overloads`: the types in
        its name, by default the result's.
        """
        full = ".".join(["llvm", name, *map(intrinsic_suffix, overloads if overloads is not None else [result])])
        callee = self.module.declare(
            full, result, [type.split(" ")[0] if type.startswith("ptr") else type for type, _ in arguments]
        )
        return call_instruction(callee, result, arguments, flags)

    # Composite values: the components of a value in block arguments, calls and selects

    def component_types(self, type: Attribute) -> list[str]:
        """The LLVM types of the components of a value of `type`: the value itself, or the pointer and the dynamic
        sizes, strides and offset of a memref.
        """
        if not isinstance(type, MemRefType):
            return [register_type(type)]
        layout = layout_of(type)
        return ["ptr"] + ["i64"] * (layout.shape.count(None) + layout.dynamic_stride_count + (layout.offset is None))

    def components(self, value: SSAValue) -> list[str]:
        """The components of `value`, with the types of `component_types`."""
        return self._parts(value.type, self._values[value])

    def all_parts(self, types: Iterable[Attribute], values: Iterable[Value]) -> list[str]:
        """The components of values that no SSA value is bound to."""
        return [part for type, value in zip(types, values, strict=True) for part in self._parts(type, value)]

    def _parts(self, type: Attribute, bound: Value) -> list[str]:
        if isinstance(bound, str):
            return [bound]
        layout = layout_of(type)  # pyright: ignore[reportArgumentType]
        parts = [bound.pointer, *_dynamic_operands(bound.sizes, layout.shape)]
        if not layout.identity:
            parts += _dynamic_operands(bound.strides, layout.strides)
        return parts + ([bound.offset] if layout.offset is None else [])

    def assemble(self, type: Attribute, parts: Sequence[str]) -> Value:
        """The value of `type` with the components `parts`."""
        if not isinstance(type, MemRefType):
            return parts[0]
        layout, rest = layout_of(type), iter(parts)
        pointer = next(rest)
        sizes = _merge_static(layout.shape, rest)
        strides = self.contiguous_strides(sizes) if layout.identity else _merge_static(layout.strides, rest)
        return MemRef(pointer, next(rest) if layout.offset is None else str(layout.offset), sizes, strides)

    def contiguous_strides(self, sizes: Sequence[str]) -> tuple[str, ...]:
        """The strides of a C-contiguous buffer."""
        strides = ["1"]
        for size in reversed(sizes[1:]):
            strides.insert(0, self.multiply(strides[0], size))
        return tuple(strides[: len(sizes)])

    def phis(
        self, types: Sequence[Attribute], incoming: Sequence[tuple[str, list[str]]]
    ) -> tuple[list[Value], list[tuple[int, str, str]]]:
        """Reserves one phi per component of values of `types`, with the edges `incoming` (label, operands). Returns the
        values, and the arguments of `close_phis` for each phi.
        """
        places: list[tuple[int, str, str]] = []
        names: list[list[str]] = []
        column = 0
        for type in types:
            names.append([])
            for part in self.component_types(type):
                edges = ", ".join(f"[ {operands[column]}, %{label} ]" for label, operands in incoming)
                name = self.fresh_name()
                places.append((self.reserve_line(), f"{name} = phi {part} ", edges))
                names[-1].append(name)
                column += 1
        return [self.assemble(type, parts) for type, parts in zip(types, names, strict=True)], places

    def close_phis(
        self, places: Sequence[tuple[int, str, str]], label: str | None = None, operands: Sequence[str] = ()
    ) -> None:
        """Writes the phis, with another edge from block `label` if given."""
        for index, (place, head, edges) in enumerate(places):
            last = f", [ {operands[index]}, %{label} ]" if label is not None else ""
            self.fill_line(place, head + edges + last)

    def all_components(self, values: Iterable[SSAValue]) -> list[str]:
        return [part for value in values for part in self.components(value)]

    # index arithmetic: 64 bits, constant-folded, without signed overflow because the values are addresses

    def multiply(self, lhs: str, rhs: str) -> str:
        a, b = constant_value_of_operand(lhs), constant_value_of_operand(rhs)
        if a is not None and b is not None:
            return str(a * b)
        if a == 1 or b == 0:
            return rhs
        return lhs if b == 1 or a == 0 else self.emit_value(f"mul nsw i64 {lhs}, {rhs}")

    def add(self, lhs: str, rhs: str) -> str:
        a, b = constant_value_of_operand(lhs), constant_value_of_operand(rhs)
        if a is not None and b is not None:
            return str(a + b)
        if a == 0:
            return rhs
        return lhs if b == 0 else self.emit_value(f"add nsw i64 {lhs}, {rhs}")

    def product(self, factors: Iterable[str]) -> str:
        result = "1"
        for factor in factors:
            result = self.multiply(result, factor)
        return result

    # failures

    def check(self, condition: str, status: str) -> None:
        """Returns from the function with `status` unless `condition` (an i1) holds."""
        success = self.fresh_label("ok")
        self._exits.append((status, self.current))
        self.branch_if(condition, success, "fail", ", !prof !0")
        self.start_block(success)

    def check_status(self, status: str) -> None:
        """Returns from the function with `status`, an i32, unless it is 0."""
        self.check(self.emit_value(f"icmp eq i32 {status}, 0"), status)

    def own(self, pointer: str, release: Release) -> None:
        """Registers an allocation, which a failure releases."""
        slot = self.emit_in_entry("alloca ptr")
        self._entry.append(f"  store ptr null, ptr {slot}")
        self.emit(f"store ptr {pointer}, ptr {slot}")
        self._owners[pointer] = slot, release

    def release(self, pointer: str) -> bool:
        """Emits the release of an allocation; False for an allocation of another function."""
        if pointer not in self._owners:
            return False
        slot, release = self._owners[pointer]
        self.emit(f"store ptr null, ptr {slot}")
        release(self, pointer)
        return True

    # walking

    def walk(self, block: Block) -> None:
        """Emits every operation of `block`."""
        for op in block.ops:
            first = len(self._lines)
            self.module.lowering(op)(self, op)
            if self.debug is not None:
                self._place(first, self.debug.location(op))

    def _place(self, first: int, place: str) -> None:
        """Sets the place of the lines from `first` on that have none: those of operations inside have one."""
        for line in range(first, len(self._lines)):
            self._places.setdefault(line, place)

    @contextmanager
    def loop_scope(self, op: Operation, name: str | None, variable: str, kind: str) -> Generator[None]:
        """The emission of the body of a loop, in which debuggers show its variable. kind: the type of the variable."""
        if self.debug is None:
            yield
            return
        outer = self.debug.enter(op)
        if name is not None:
            self.emit(self.debug.index(name, variable, kind, op))
        yield
        self.debug.scope = outer

    def begin_debug(self, function: func.FuncOp, symbol: str) -> str:
        """Begins the debug information of a function whose parameters are bound; returns the suffix of its header."""
        if self.module.debug is None:
            return ""
        self.debug = FunctionDebug(self.module.debug, function, symbol)
        for number, argument in enumerate(function.args):
            kinds, operands = self.component_types(argument.type), self.components(argument)
            record = self.debug.parameter(number, argument.type, operands[0], kinds[0])
            if record is not None:
                self.emit(record)
        return f" !dbg {self.debug.subprogram}"

    @contextmanager
    def stack_scope(self) -> Generator[None]:
        """Restores the stack pointer at the end if the scope called `use_stack`: a loop body must not grow the stack in
        every iteration.
        """
        line = self.reserve_line()
        self._dynamic_stack.append(False)
        yield
        if self._dynamic_stack.pop():
            saved = self.fresh_name("stack")
            self.fill_line(line, f"{saved} = {self.intrinsic('stacksave', 'ptr', [])}")
            self.emit(self.intrinsic("stackrestore", "void", [("ptr", saved)], overloads=["ptr"]))

    @contextmanager
    def long_loop(self) -> Generator[None]:
        """The emission of the body of a loop whose iterations take an unknown time."""
        before, self.is_in_long_loop = self.is_in_long_loop, True
        yield
        self.is_in_long_loop = before

    def use_stack(self) -> None:
        """Marks the current scope as allocating on the stack."""
        self._dynamic_stack[-1] = True

    def finish(self, head: str) -> str:
        """The text of the function with the header `head`."""
        if self._exits:
            edges = ", ".join(f"[ {status}, %{label} ]" for status, label in self._exits)
            self.start_block("fail")
            self.emit(f"%status = phi i32 {edges}")
            for slot, release in self._owners.values():
                release(self, self.emit_value(f"load ptr, ptr {slot}", "live"))
            self.emit("ret i32 %status")
        body = self._lines if self.debug is None else self._placed_lines(self.debug)
        lines = [f"{head} {{", "entry:", *self._entry, *(line for line in body if line)]
        return "\n".join([*lines, "}"])

    def _placed_lines(self, debug: FunctionDebug) -> Iterator[str]:
        """The lines of the body, instructions with their places."""
        nowhere = debug.location(None)
        for number, line in enumerate(self._lines):
            is_instruction = line.startswith("  ") and not line.startswith("  #")
            yield f"{line}, !dbg {self._places.get(number, nowhere)}" if is_instruction else line


Release = Callable[[LlvmFunctionEmitter, str], None]
"""Emits the release of the memory at a pointer, which may be null."""


def free(f: LlvmFunctionEmitter, pointer: str) -> None:
    """Emits the release of memory of `aligned_alloc`."""
    f.emit(f"call void {f.module.declare(*FREE)}(ptr {pointer})")


FREE = ("free", "void", ("ptr",), "nounwind")
"""The declaration of `free`."""


def global_symbol(name: str) -> str:
    """A global name in LLVM's syntax, quoted if necessary."""
    if _PLAIN_NAME.fullmatch(name):
        return f"@{name}"
    return f'@"{escape(name.encode())}"'


def call_instruction(callee: str, result: str, arguments: Iterable[tuple[str, str]], flags: str = "") -> str:
    """The text of a call."""
    operands = ", ".join(f"{type} {operand}" for type, operand in arguments)
    return f"call {flags + ' ' if flags else ''}{result} {callee}({operands})"


def _dynamic_operands(operands: Sequence[str], statics: Sequence[int | None]) -> list[str]:
    return [operand for operand, static in zip(operands, statics, strict=True) if static is None]


def _merge_static(statics: Sequence[int | None], rest: Iterator[str]) -> tuple[str, ...]:
    return tuple(next(rest) if static is None else str(static) for static in statics)
