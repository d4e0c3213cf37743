"""Functions on buffers, from the nodes of TVM's JSON: the text of a function as TVMScript, and the parsed function."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr

from ....core.errors import LoadError, StepwellError
from ....dialects.tir import FuncOp
from ...tvmscript import parse_tvmscript
from .module import IRModule, PrimFunc
from .node_expressions import SCALARS, ExpressionWriter, dictionary, is_number, is_true, literal, number_of, number_type
from .node_graph import Node

Lines: TypeAlias = "list[tuple[int, str] | Lines]"
"""Indented lines, and lists of lines that are inserted later at the positions where variables are defined."""

_HEADER = ("from tvm.script import ir as I", "from tvm.script import tir as T")
_RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, "I", "R", "T", "Tx", "cls", "ir", "range", "relax", "tir"))

_JUMPS = {"break_loop": "break", "continue_loop": "continue"}
_LOOPS = ("serial", "parallel", "vectorized", "unroll", "thread_binding")
_AXES = {0: "spatial", 2: "reduce", 3: "scan", 4: "opaque"}
"""The kinds of axes of blocks by number (include/tvm/tir/var.h of TVM 0.16, IterVarType)."""
_ALIGNMENTS = (0, 64, 128)
"""The alignments in bytes that versions of TVM have by default."""
_CURRENT = "s_tir"
"""The attribute of functions with blocks since v0.24."""
_OF_TVM = ("layout_free_placeholders",)
"""The annotations of blocks without a meaning here."""


def read_prim_func(node: Node) -> PrimFunc:
    """The function of a node. LoadError for nodes that are no function."""
    symbol = dict(node.entries("attrs")).get("global_symbol")
    name = "main" if symbol is None else symbol.string
    return PrimFunc(read_module({name: node}, {}).op)


def read_module(functions: Mapping[str, Node], attrs: Mapping[str, Node | None]) -> IRModule:
    """The module of functions by name, with attributes. LoadError for nodes that are no functions."""
    names = _Names()
    known = {name: names.create(name) for name in functions}
    lines = [*_HEADER, "@I.ir_module", "class Module:"]
    if attrs:
        lines.append(f"    I.module_attrs({dictionary(attrs.items())})")
    for name, node in functions.items():
        lines += [f"    {line}" for line in _Function(node, known).lines(name)]
    text = "\n".join([*lines, "    pass" if len(lines) == len(_HEADER) + 2 else ""])
    try:
        mod = IRModule(parse_tvmscript(text, "load_json").op)
    except StepwellError as error:
        where = ", ".join(f"{name} ({node!r})" for name, node in functions.items())
        raise LoadError(f"function {where}: {error}") from None
    symbols = {known[name]: name for name in functions}
    for func in mod.op.body.block.ops:
        if isinstance(func, FuncOp) and symbols.get(func.sym_name.data, func.sym_name.data) != func.sym_name.data:
            func.sym_name = StringAttr(symbols[func.sym_name.data])
    return mod


class _Names:
    """Distinct identifiers."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def create(self, hint: str) -> str:
        """An identifier like a name."""
        base = re.sub(r"\W", "_", hint, flags=re.ASCII) or "v"
        base = f"v{base}" if base[0].isdigit() or base in _RESERVED else base
        name = base
        while name in self._taken:
            self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{base}_{self._counts[base]}"
        self._taken.add(name)
        return name


class _Function(ExpressionWriter):
    """The writer of one function.

    names: the identifier of each variable and buffer by position.  pointers: the expression of the address of each
    buffer, by the position of its variable.  slots: the lines after the definition of each address, for buffers there
    that no node declares.  functions: the identifiers of the functions of the module.
    """

    def __init__(self, node: Node, functions: Mapping[str, str]):
        self.node = node.of("PrimFunc")
        super().__init__(functions)
        self.unique = _Names(functions.values())
        self.names: dict[int, str] = {}
        self.pointers: dict[int, str] = {}
        self.slots: dict[int, tuple[int, Lines]] = {}
        self.top: Lines = []
        self.out: Lines = []
        self.indent = 1
        self.declares_symbols = False

    # Lines

    def lines(self, name: str) -> list[str]:
        """The lines of the function."""
        self._function()
        attrs = dict(self.node.entries("attrs"))
        decorator = "@T.prim_func" if "global_symbol" in attrs else "@T.prim_func(private=True)"
        head = f"def {self.functions[name]}({', '.join(self._params)}):"
        return [decorator, head, *_flatten(self.out)]

    def _emit(self, text: str) -> None:
        self.out.append((self.indent, text))

    def _slot(self, variable: Node) -> None:
        """Keeps the current position for buffers on the memory of an address."""
        slot: Lines = []
        self.out.append(slot)
        self.slots[variable.position] = (self.indent, slot)

    def _inside(self, write: Callable[[], None]) -> None:
        self.indent += 1
        write()
        self.indent -= 1

    def _nested(self, node: Node) -> None:
        """A statement with more indentation."""
        self._inside(lambda: self.statement(node, True))

    def define(self, variable: Node) -> str:
        """The identifier of a new variable."""
        variable.of(*SCALARS)
        if variable.position in self.names:
            raise variable.error("is defined twice")
        name = self.unique.create(variable.text("name"))
        self.names[variable.position] = name
        return name

    # Functions

    def _function(self) -> None:
        buffers = {_position(key): _buffer_of(value, self.node) for key, value in self.node.entries("buffer_map")}
        self._params: list[str] = []
        matched: list[tuple[str, Node]] = []
        for param in self.node.children("params", *SCALARS, "Buffer"):
            buffer = param if param.kind == "Buffer" else buffers.pop(param.position, None)
            if buffer is None:
                self._params.append(f"{self.define(param)}: {_type_of(param)}")
            elif _is_plain(buffer):
                name = self._buffer_name(buffer)
                self._params.append(f"{name}: T.Buffer({self._layout(buffer)})")
            else:
                name = self.unique.create(f"var_{param.text('name')}") if buffer is param else self.define(param)
                matched.append((name, buffer))
                self._params.append(f"{name}: T.handle")
        if buffers:
            raise self.node.error(f"{len(buffers)} buffers of no parameter")
        attrs = {key: value for key, value in self.node.entries("attrs") if value is not None and key != _CURRENT}
        if attrs:
            self._emit(f"T.func_attr({dictionary(attrs.items())})")
        self.out.append(self.top)
        for param, buffer in matched:
            self._match(param, buffer)
        for param in self.node.children("params"):
            self._slot(param)
        for each in self.node.entries("buffer_map"):
            self._slot(_buffer_of(each[1], self.node).child("data"))
        for key, flat in self.node.entries("preflattened_buffer_map"):
            self._preflattened(key, _buffer_of(flat, self.node))
        self._body(self.node.child("body"))

    def _preflattened(self, param: str | Node, shaped: Node) -> None:
        """The shape of a parameter before it was flat, in TVM v0.9 and v0.10."""
        flat = dict((_position(key), value) for key, value in self.node.entries("buffer_map")).get(_position(param))
        if flat is None:
            raise self.node.error("a preflattened buffer of no parameter")
        if flat.position != shaped.position:
            name = self.names[flat.position]
            self._emit(f"T.preflattened_buffer({name}, {self._layout(shaped)}, data={name}.data)")

    def _match(self, source: str, buffer: Node) -> None:
        """The declaration of a buffer on a parameter or a region, after variables that the layout defines."""
        self.declares_symbols = True
        layout = self._layout(buffer)
        self.declares_symbols = False
        self._emit(f"{self._buffer_name(buffer)} = T.match_buffer({source}, {layout})")

    def _buffer_name(self, buffer: Node) -> str:
        """The identifier of a new buffer."""
        if buffer.of("Buffer").position in self.names:
            raise buffer.error("is declared twice")
        name = self.unique.create(buffer.text("name"))
        self.names[buffer.position] = name
        if (data := _memory_of(buffer)) is not None:
            self.pointers.setdefault(data.position, f"{name}.data")
        return name

    def _layout(self, buffer: Node, data: str = "") -> str:
        """The shape, the data type and the other arguments of a declaration."""
        arguments = [self._tuple(buffer.children("shape")), repr(buffer.dtype("dtype"))]
        if data:
            arguments.append(f"data={data}")
        if strides := buffer.children("strides"):
            arguments.append(f"strides={self._tuple(strides)}")
        offset, factor = buffer.optional("elem_offset"), buffer.integer("offset_factor")
        if offset is not None and not is_number(offset, 0):
            arguments.append(f"elem_offset={self.expression(offset)}")
        if (scope := _scope_of(buffer)) != "global":
            arguments.append(f"scope={scope!r}")
        if (alignment := buffer.integer("data_alignment")) not in _ALIGNMENTS:
            arguments.append(f"align={alignment}")
        if factor not in (0, 1):
            arguments.append(f"offset_factor={factor}")
        if buffer.has("buffer_type") and buffer.integer("buffer_type") != 1:
            arguments.append("buffer_type='auto'")
        if buffer.has("layout"):
            _check_layout(buffer)
        if buffer.has("axis_separators") and (separators := buffer.children("axis_separators")):
            arguments.append(f"axis_separators=[{', '.join(str(number_of(each)) for each in separators)}]")
        return ", ".join(arguments)

    def _tuple(self, nodes: Sequence[Node]) -> str:
        texts = [self.expression(each) for each in nodes]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"

    def _body(self, body: Node) -> None:
        """The statements of the function, without a root block that TVMScript implies."""
        if body.kind == "BlockRealize" and self._is_implied(body):
            root = body.child("block", "Block")
            for buffer in root.children("alloc_buffers", "Buffer"):
                self._allocate_buffer(buffer)
            self.statement(root.child("body"), True)
        else:
            self.statement(body, True)

    def _is_implied(self, realize: Node) -> bool:
        """Whether a block at the top of a function is the one that TVMScript does not state."""
        block = realize.child("block", "Block")
        parts = ("iter_vars", "match_buffers", "reads", "writes")
        has_parts = any(block.children(part) for part in parts) or block.entries("annotations")
        is_empty = not has_parts and block.optional("init") is None and is_true(realize.child("predicate"))
        body = block.child("body")
        if not is_empty or block.text("name_hint") != "root":
            return False
        if block.children("alloc_buffers") or body.kind != "BlockRealize":
            return True
        return bool(body.child("block", "Block").children("iter_vars"))

    # Statements

    def statement(self, node: Node, is_last: bool) -> None:
        """Writes a statement. is_last: whether it ends the statements of its indentation."""
        writer = _STATEMENTS.get(node.kind)
        if writer is None:
            raise node.error("expected a statement")
        node.graph.visit(node, lambda each: writer(self, each, is_last))

    def _scoped(self, node: Node, name: str, frame: str, flat: str, is_last: bool, pointer: Node | None = None) -> None:
        """A declaration that is visible in the body of a node: `flat` before the last statements, else a frame."""
        self._emit(flat if is_last else f"with {frame} as {name}:" if name else f"with {frame}:")
        self.indent += not is_last
        if pointer is not None:
            self._slot(pointer)
        self.statement(node.child("body"), True)
        self.indent -= not is_last

    def sequence(self, node: Node, is_last: bool) -> None:
        statements = node.children("seq")
        for n, each in enumerate(statements):
            self.statement(each, is_last and n == len(statements) - 1)
        if not statements:
            self._emit("T.evaluate(0)")

    def loop(self, node: Node, is_last: bool) -> None:
        number = node.integer("kind")
        if not 0 <= number < len(_LOOPS):
            raise node.error(f"attribute 'kind' is {number}, expected 0 to {len(_LOOPS) - 1}")
        arguments = [self._interval(node.child("min"), node.child("extent"), ", ")]
        step = node.find("step")
        if step is not None and not is_number(step, 1):
            arguments.append(f"step={self.expression(step)}")
        if number == len(_LOOPS) - 1:
            tag = node.child("thread_binding", "IterVar").text("thread_tag")
            arguments.append(f"thread={tag!r}")
        if annotations := node.entries("annotations"):
            arguments.append(f"annotations={dictionary(annotations)}")
        name = self.define(node.child("loop_var", *SCALARS))
        self._emit(f"for {name} in T.{_LOOPS[number]}({', '.join(arguments)}):")
        self._nested(node.child("body"))

    def _interval(self, low: Node, extent: Node, separator: str) -> str:
        """The first number and the end of an interval; its extent alone from 0."""
        count = self.expression(extent)
        if separator == ", " and is_number(low, 0):
            return count
        first = self.expression(low)
        return f"{first}{separator}{first} + {count}"

    def block(self, node: Node, is_last: bool) -> None:
        block = node.child("block", "Block")
        values, axes = node.children("iter_values"), block.children("iter_vars", "IterVar")
        if len(values) != len(axes):
            raise node.error(f"{len(values)} values of {len(axes)} axes")
        bindings = [self.expression(value) for value in values]
        self._emit(f"with T.block({block.text('name_hint')!r}):")
        self.indent += 1
        for axis, binding in zip(axes, bindings, strict=True):
            self._axis(axis, binding)
        if not is_true(predicate := node.child("predicate")):
            self._emit(f"T.where({self.expression(predicate)})")
        node.graph.visit(block, self._block_contents)
        self.indent -= 1

    def _axis(self, axis: Node, binding: str) -> None:
        kind = axis.integer("iter_type")
        if kind not in _AXES:
            raise axis.error(f"attribute 'iter_type' is {kind}, expected one of {', '.join(map(str, _AXES))}")
        domain = axis.child("dom", "Range")
        interval = self._interval(domain.child("min"), domain.child("extent"), ", ")
        interval = interval if is_number(domain.child("min"), 0) else f"({interval})"
        self._emit(f"{self.define(axis.child('var', *SCALARS))} = T.axis.{_AXES[kind]}({interval}, {binding})")

    def _block_contents(self, block: Node) -> None:
        for kind in ("reads", "writes"):
            regions = [self._region(each) for each in block.children(kind, "BufferRegion")]
            self._emit(f"T.{kind}({', '.join(regions)})")
        if annotations := [each for each in block.entries("annotations") if each[0] not in _OF_TVM]:
            self._emit(f"T.block_attr({dictionary(annotations)})")
        for buffer in block.children("alloc_buffers", "Buffer"):
            self._allocate_buffer(buffer)
        for match in block.children("match_buffers", "MatchBufferRegion"):
            source, buffer = self._region(match.child("source", "BufferRegion")), match.child("buffer", "Buffer")
            self._match(source, buffer)
        if (init := block.optional("init")) is not None:
            self._emit("with T.init():")
            self._nested(init)
        self.statement(block.child("body"), True)

    def _allocate_buffer(self, buffer: Node) -> None:
        layout = self._layout(buffer)
        self._emit(f"{self._buffer_name(buffer)} = T.alloc_buffer({layout})")
        if (data := _memory_of(buffer)) is not None:
            self._slot(data)

    def _region(self, region: Node) -> str:
        buffer = self.buffer(region.child("buffer", "Buffer"))
        sides = [self._side(each) for each in region.children("region", "Range")]
        return f"{buffer}[{', '.join(sides) or '()'}]"

    def _side(self, side: Node) -> str:
        low, extent = side.child("min"), side.child("extent")
        return self.expression(low) if is_number(extent, 1) else self._interval(low, extent, ":")

    def store(self, node: Node, is_last: bool) -> None:
        buffer, value = self.buffer(node.child("buffer", "Buffer")), self.expression(node.child("value"))
        indices = [self.expression(each) for each in node.children("indices")]
        if (predicate := node.find("predicate")) is not None:
            condition = self.expression(predicate)
            self._emit(f"{buffer}.vstore([{', '.join(indices)}], {value}, predicate={condition})")
        else:
            self._emit(f"{buffer}[{', '.join(indices) or '()'}] = {value}")

    def pointer_store(self, node: Node, is_last: bool) -> None:
        """A store to a pointer, until v0.8."""
        names = ("buffer_var", "index", "value", "predicate")
        self._emit(f"T.store({', '.join(self.typed(node.child(name)) for name in names)})")

    def branch(self, node: Node, is_last: bool) -> None:
        self._emit(f"if {self.expression(node.child('condition'))}:")
        self._nested(node.child("then_case"))
        if (other := node.optional("else_case")) is not None:
            self._emit("else:")
            self._nested(other)

    def let(self, node: Node, is_last: bool) -> None:
        value, variable = self.expression(node.child("value")), node.child("var", *SCALARS)
        name, type = self.define(variable), _type_of(variable)
        frame = f"T.LetStmt({value}, {type})"
        if node.has("body"):
            self._scoped(node, name, frame, f"{name}: {type} = {value}", is_last, variable)
        else:
            self._emit(f"{name}: {type} = {value}")
            self._slot(variable)

    def allocation(self, node: Node, is_last: bool) -> None:
        variable = node.child("buffer_var", *SCALARS)
        extents, dtype = self._tuple(node.children("extents")), node.dtype("dtype")
        arguments = [extents, repr(dtype), repr(_scope_of(variable))]
        if not is_true(condition := node.child("condition")):
            arguments.append(f"condition={self.expression(condition)}")
        self._memory(node, variable, f"T.allocate({', '.join(arguments)}", is_last)

    def constant(self, node: Node, is_last: bool) -> None:
        variable, data = node.child("buffer_var", *SCALARS), node.array("data")
        shape = self._tuple(node.children("extents"))
        frame = f"T.allocate_const({data.tolist()!r}, {node.dtype('dtype')!r}, {shape}"
        self._memory(node, variable, frame, is_last)

    def _memory(self, node: Node, variable: Node, call: str, is_last: bool) -> None:
        annotations = node.entries("annotations")
        frame = f"{call}, annotations={dictionary(annotations)})" if annotations else f"{call})"
        name = self.define(variable)
        self._scoped(node, name, frame, f"{name} = {frame}", is_last, variable)

    def declaration(self, node: Node, is_last: bool) -> None:
        buffer = node.child("buffer", "Buffer")
        data = node.child("data") if node.has("data") else buffer.child("data", *SCALARS)
        frame = f"T.decl_buffer({self._layout(buffer, self.expression(data))})"
        name = self._buffer_name(buffer)
        if node.has("body"):
            self._scoped(node, name, frame, f"{name} = {frame}", is_last)
        else:
            self._emit(f"{name} = {frame}")

    def buffer_allocation(self, node: Node, is_last: bool) -> None:
        """Memory as a buffer, since v0.24."""
        buffer = node.child("buffer", "Buffer")
        layout, data = self._layout(buffer), ""
        if annotations := node.entries("annotations"):
            data = self.unique.create(f"{buffer.text('name')}_data")
            arguments = f"{self._tuple(buffer.children('shape'))}, {buffer.dtype('dtype')!r}, {_scope_of(buffer)!r}"
            self._emit(f"{data} = T.allocate({arguments}, annotations={dictionary(annotations)})")
            layout = self._layout(buffer, data)
        self._emit(f"{self._buffer_name(buffer)} = T.decl_buffer({layout})")

    def attribute(self, node: Node, is_last: bool) -> None:
        key, subject, value = node.text("attr_key"), node.child("node"), self.expression(node.child("value"))
        if key in ("thread_extent", "virtual_thread") and subject.kind == "IterVar":
            variable = subject.child("var", *SCALARS)
            if variable.position not in self.names:
                name, tag = self.define(variable), subject.text("thread_tag")
                tag = "vthread" if key == "virtual_thread" else tag
                self.top.append((1, f"{name} = T.env_thread({tag!r}, {variable.dtype('dtype')!r})"))
            frame = f"T.launch_thread({self.names[variable.position]}, {value})"
        else:
            subject = subject.child("var", *SCALARS) if subject.kind == "IterVar" else subject
            frame = f"T.attr({self._subject(subject)}, {key!r}, {value})"
        self._emit(f"with {frame}:")
        self._nested(node.child("body"))

    def _subject(self, node: Node) -> str:
        """The node of an attribute."""
        return literal(node) if node.kind in ("String", "Map", "Array", "int", "bool") else self.expression(node)

    def assertion(self, node: Node, is_last: bool) -> None:
        condition = self.expression(node.child("condition"))
        message = node.child("message") if node.has("message") else None
        parts = node.children("message_parts") if message is None else [message]
        self._emit(f"assert {condition}, {''.join(each.string for each in parts)!r}")
        if node.has("body"):
            self.statement(node.child("body"), is_last)

    def evaluation(self, node: Node, is_last: bool) -> None:
        value = node.child("value")
        op = value.child("op") if value.kind == "Call" else value
        jump = _JUMPS.get(op.string.rpartition(".")[2]) if op.kind == "Op" else None
        self._emit(f"T.evaluate({self.expression(value)})" if jump is None else jump)

    def return_value(self, node: Node, is_last: bool) -> None:
        value = node.optional("value")
        self._emit("return" if value is None else f"return {self.typed(value)}")

    def while_loop(self, node: Node, is_last: bool) -> None:
        self._emit(f"while {self.expression(node.child('condition'))}:")
        self._nested(node.child("body"))

    def buffer(self, buffer: Node) -> str:
        """The identifier of a buffer, which is declared on the memory of its address if no node declares it."""
        if buffer.of("Buffer").position not in self.names:
            variable = _memory_of(buffer)
            if variable is None or variable.position not in self.slots:
                raise buffer.error(f"buffer {buffer.text('name')!r} is used, expected its declaration around the use")
            indent, slot = self.slots[variable.position]
            layout = self._layout(buffer, self.expression(variable))
            name = self._buffer_name(buffer)
            slot.append((indent, f"{name} = T.Buffer({layout})"))
        return self.names[buffer.position]

    def variable(self, node: Node) -> str:
        if node.position in self.names:
            return self.names[node.position]
        if node.position in self.pointers:
            return self.pointers[node.position]
        if not self.declares_symbols:
            raise node.error(f"variable {node.text('name')!r} is used, expected its definition around the use")
        name = self.define(node)
        self._emit(f"{name} = {_type_of(node)}()")
        return name


_STATEMENTS: Mapping[str, Callable[[_Function, Node, bool], None]] = {
    "SeqStmt": _Function.sequence,
    "For": _Function.loop,
    "BlockRealize": _Function.block,
    "BufferStore": _Function.store,
    "Store": _Function.pointer_store,
    "IfThenElse": _Function.branch,
    "LetStmt": _Function.let,
    "Bind": _Function.let,
    "Allocate": _Function.allocation,
    "AllocateConst": _Function.constant,
    "DeclBuffer": _Function.declaration,
    "AllocBuffer": _Function.buffer_allocation,
    "AttrStmt": _Function.attribute,
    "AssertStmt": _Function.assertion,
    "Evaluate": _Function.evaluation,
    "Return": _Function.return_value,
    "While": _Function.while_loop,
}


# Parts


def _flatten(lines: Lines) -> list[str]:
    result: list[str] = []
    for each in lines:
        if isinstance(each, list):
            result += _flatten(each)
        else:
            result.append(f"{'    ' * each[0]}{each[1]}")
    return result


def _position(key: str | Node) -> int:
    if isinstance(key, str):
        raise LoadError(f"key {key!r}, expected a node of kind Var")
    return key.position


def _buffer_of(value: Node | None, owner: Node) -> Node:
    if value is None:
        raise owner.error("no buffer, expected a node of kind Buffer")
    return value.of("Buffer")


def _is_plain(buffer: Node) -> bool:
    """Whether a parameter is a buffer of known shape, and compact memory of the default scope."""
    offset = buffer.of("Buffer").optional("elem_offset")
    return (
        all(each.kind == "IntImm" for each in buffer.children("shape"))
        and not buffer.children("strides")
        and (offset is None or is_number(offset, 0))
        and _scope_of(buffer) == "global"
        and buffer.integer("offset_factor") in (0, 1)
        and not (buffer.has("buffer_type") and buffer.integer("buffer_type") != 1)
        and not (buffer.has("axis_separators") and buffer.children("axis_separators"))
    )


def _memory_of(buffer: Node) -> Node | None:
    """The variable of the address of a buffer, None since v0.26."""
    return buffer.child("data", *SCALARS) if buffer.of("Buffer").has("data") else None


def _scope_of(node: Node) -> str:
    """The scope of the memory of a buffer or an address."""
    if node.kind == "Buffer":
        data = _memory_of(node)
        return node.text("storage_scope") or "global" if data is None else _scope_of(data)
    type = node.optional("type_annotation")
    if type is None or type.kind != "PointerType":
        return "global"
    return type.text("storage_scope") or "global" if type.has("storage_scope") else "global"


def _check_layout(buffer: Node) -> None:
    """LoadError for a buffer in memory that is not row-major, or at an address, as v0.27 has them."""
    if (layout := buffer.optional("layout")) is not None:
        extents = [_dimension(each, "extent") for each in layout.of("TileLayout").children("shard", "Iter")]
        strides = [_dimension(each, "stride") for each in layout.children("shard", "Iter")]
        axes = {each.child("axis", "Axis").string for each in layout.children("shard", "Iter")}
        rest = layout.children("replica") or layout.entries("offset")
        expected = [str(prod(map(int, extents[n + 1 :]))) for n in range(len(extents))] if all(extents) else strides
        if rest or axes - {"m"} or strides != expected:
            raise layout.error(f"the layout of buffer {buffer.text('name')!r}, expected row-major memory")
    if buffer.has("allocated_addr") and buffer.children("allocated_addr"):
        raise buffer.error(f"buffer {buffer.text('name')!r} is at an address, expected memory of its own")


def _dimension(side: Node, name: str) -> str:
    """The number of an attribute of a layout, "" for another expression."""
    value = side.child(name)
    return str(number_of(value)) if value.kind in ("IntImm", "int") else ""


def _type_of(variable: Node) -> str:
    """The type of a variable as an expression of TVMScript."""
    type = variable.optional("type_annotation")
    dtype = variable.dtype("dtype")
    if dtype != "handle":
        return f"T.{number_type(variable)}"
    if type is None or type.kind != "PointerType":
        return "T.handle"
    element = type.child("element_type")
    if element.kind != "PrimType":
        return "T.handle"
    scope = _scope_of(variable)
    arguments = [repr(element.dtype("dtype")), *([repr(scope)] if scope != "global" else [])]
    return f"T.handle({', '.join(arguments)})"


__all__ = ["read_module", "read_prim_func"]
