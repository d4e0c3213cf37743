"""Functions on buffers, from the nodes of TVM's JSON: the text of a function as TVMScript, and the parsed function."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr

from ....core.dtypes import int_fits, parse_dtype
from ....core.errors import LoadError, StepwellError
from ....dialects.tir import FuncOp
from ...tvmscript import parse_tvmscript
from .module import IRModule, PrimFunc
from .node_graph import Node

Lines: TypeAlias = "list[tuple[int, str] | Lines]"
"""Indented lines, and lists of lines that are inserted later at the positions where variables are defined."""

_HEADER = ("from tvm.script import ir as I", "from tvm.script import tir as T")
_RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, "I", "R", "T", "Tx", "cls", "ir", "range", "relax", "tir"))
_MAX_CHARACTERS = 1_000_000
"""The maximum length of the text of an expression. An operand of several expressions is part of the text of each."""

_INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "EQ": "==", "NE": "!=", "LT": "<",
    "LE": "<=", "GT": ">", "GE": ">=", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "LShift": "<<",
    "RShift": ">>",
}  # fmt: skip
_FUNCTIONS = {"Div": "Div", "Mod": "truncmod", "Min": "min", "Max": "max"}
_PREFIX = {"Not": "not ", "BitwiseNot": "~"}
_LOGICAL = {"And": "and", "Or": "or"}
_JUMPS = {"break_loop": "break", "continue_loop": "continue"}
_LOOPS = ("serial", "parallel", "vectorized", "unroll", "thread_binding")
_AXES = {0: "spatial", 2: "reduce", 3: "scan", 4: "opaque"}
"""The kinds of axes of blocks by number (include/tvm/tir/var.h of TVM 0.16, IterVarType)."""
_SCALARS = ("Var", "SizeVar")
_DTYPE_FIRST = frozenset((
    "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "reinterpret", "ptx_mma",
    "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "mma_store", "mma_fill", "vectorhigh", "vectorlow", "vectorcombine",
))  # fmt: skip
"""The builtins whose data type is their first argument in TVMScript (src/tir/op/builtin.cc of TVM 0.16)."""
_NAMESPACES = ("tir.", "tirx.", "prim.")
"""The namespaces of operators in versions of TVM."""
_DTYPE_ALONE = frozenset(("type_annotation", "undef", "infinity", "min_value", "max_value"))
_ALIGNMENTS = (0, 64, 128)
"""The alignments in bytes that versions of TVM have by default."""
_OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
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
        lines.append(f"    I.module_attrs({_dictionary(attrs.items())})")
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


class _Function:
    """The writer of one function.

    names: the identifier of each variable and buffer by position.  pointers: the expression of the address of each
    buffer, by the position of its variable.  slots: the lines after the definition of each address, for buffers there
    that no node declares.  functions: the identifiers of the functions of the module.
    """

    def __init__(self, node: Node, functions: Mapping[str, str]):
        self.node = node.of("PrimFunc")
        self.functions = functions
        self.unique = _Names(functions.values())
        self.names: dict[int, str] = {}
        self.pointers: dict[int, str] = {}
        self.slots: dict[int, tuple[int, Lines]] = {}
        self.texts: dict[int, str] = {}
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

    def _define(self, variable: Node) -> str:
        """The identifier of a new variable."""
        variable.of(*_SCALARS)
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
        for param in self.node.children("params", *_SCALARS, "Buffer"):
            buffer = param if param.kind == "Buffer" else buffers.pop(param.position, None)
            if buffer is None:
                self._params.append(f"{self._define(param)}: {_type_of(param)}")
            elif _is_plain(buffer):
                name = self._buffer_name(buffer)
                self._params.append(f"{name}: T.Buffer({self._layout(buffer)})")
            else:
                name = self.unique.create(f"var_{param.text('name')}") if buffer is param else self._define(param)
                matched.append((name, buffer))
                self._params.append(f"{name}: T.handle")
        if buffers:
            raise self.node.error(f"{len(buffers)} buffers of no parameter")
        attrs = {key: value for key, value in self.node.entries("attrs") if value is not None and key != _CURRENT}
        if attrs:
            self._emit(f"T.func_attr({_dictionary(attrs.items())})")
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
        if offset is not None and not _is_number(offset, 0):
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
            arguments.append(f"axis_separators=[{', '.join(str(_number_of(each)) for each in separators)}]")
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
        is_empty = not has_parts and block.optional("init") is None and _is_true(realize.child("predicate"))
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

    def _sequence(self, node: Node, is_last: bool) -> None:
        statements = node.children("seq")
        for n, each in enumerate(statements):
            self.statement(each, is_last and n == len(statements) - 1)
        if not statements:
            self._emit("T.evaluate(0)")

    def _loop(self, node: Node, is_last: bool) -> None:
        number = node.integer("kind")
        if not 0 <= number < len(_LOOPS):
            raise node.error(f"attribute 'kind' is {number}, expected 0 to {len(_LOOPS) - 1}")
        arguments = [self._interval(node.child("min"), node.child("extent"), ", ")]
        step = node.optional("step") if node.has("step") else None
        if step is not None and not _is_number(step, 1):
            arguments.append(f"step={self.expression(step)}")
        if number == len(_LOOPS) - 1:
            tag = node.child("thread_binding", "IterVar").text("thread_tag")
            arguments.append(f"thread={tag!r}")
        if annotations := node.entries("annotations"):
            arguments.append(f"annotations={_dictionary(annotations)}")
        name = self._define(node.child("loop_var", *_SCALARS))
        self._emit(f"for {name} in T.{_LOOPS[number]}({', '.join(arguments)}):")
        self._nested(node.child("body"))

    def _interval(self, low: Node, extent: Node, separator: str) -> str:
        """The first number and the end of an interval; its extent alone from 0."""
        count = self.expression(extent)
        if separator == ", " and _is_number(low, 0):
            return count
        first = self.expression(low)
        return f"{first}{separator}{first} + {count}"

    def _block(self, node: Node, is_last: bool) -> None:
        block = node.child("block", "Block")
        values, axes = node.children("iter_values"), block.children("iter_vars", "IterVar")
        if len(values) != len(axes):
            raise node.error(f"{len(values)} values of {len(axes)} axes")
        bindings = [self.expression(value) for value in values]
        self._emit(f"with T.block({block.text('name_hint')!r}):")
        self.indent += 1
        for axis, binding in zip(axes, bindings, strict=True):
            self._axis(axis, binding)
        if not _is_true(predicate := node.child("predicate")):
            self._emit(f"T.where({self.expression(predicate)})")
        node.graph.visit(block, self._block_contents)
        self.indent -= 1

    def _axis(self, axis: Node, binding: str) -> None:
        kind = axis.integer("iter_type")
        if kind not in _AXES:
            raise axis.error(f"attribute 'iter_type' is {kind}, expected one of {', '.join(map(str, _AXES))}")
        domain = axis.child("dom", "Range")
        interval = self._interval(domain.child("min"), domain.child("extent"), ", ")
        interval = interval if _is_number(domain.child("min"), 0) else f"({interval})"
        self._emit(f"{self._define(axis.child('var', *_SCALARS))} = T.axis.{_AXES[kind]}({interval}, {binding})")

    def _block_contents(self, block: Node) -> None:
        for kind in ("reads", "writes"):
            regions = [self._region(each) for each in block.children(kind, "BufferRegion")]
            self._emit(f"T.{kind}({', '.join(regions)})")
        if annotations := [each for each in block.entries("annotations") if each[0] not in _OF_TVM]:
            self._emit(f"T.block_attr({_dictionary(annotations)})")
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
        buffer = self._buffer(region.child("buffer", "Buffer"))
        sides = [self._side(each) for each in region.children("region", "Range")]
        return f"{buffer}[{', '.join(sides) or '()'}]"

    def _side(self, side: Node) -> str:
        low, extent = side.child("min"), side.child("extent")
        return self.expression(low) if _is_number(extent, 1) else self._interval(low, extent, ":")

    def _store(self, node: Node, is_last: bool) -> None:
        buffer, value = self._buffer(node.child("buffer", "Buffer")), self.expression(node.child("value"))
        indices = [self.expression(each) for each in node.children("indices")]
        predicate = node.optional("predicate") if node.has("predicate") else None
        if predicate is not None:
            condition = self.expression(predicate)
            self._emit(f"{buffer}.vstore([{', '.join(indices)}], {value}, predicate={condition})")
        else:
            self._emit(f"{buffer}[{', '.join(indices) or '()'}] = {value}")

    def _pointer_store(self, node: Node, is_last: bool) -> None:
        """A store to a pointer, until v0.8."""
        names = ("buffer_var", "index", "value", "predicate")
        self._emit(f"T.store({', '.join(self._typed(node.child(name)) for name in names)})")

    def _branch(self, node: Node, is_last: bool) -> None:
        self._emit(f"if {self.expression(node.child('condition'))}:")
        self._nested(node.child("then_case"))
        if (other := node.optional("else_case")) is not None:
            self._emit("else:")
            self._nested(other)

    def _let(self, node: Node, is_last: bool) -> None:
        value, variable = self.expression(node.child("value")), node.child("var", *_SCALARS)
        name, type = self._define(variable), _type_of(variable)
        frame = f"T.LetStmt({value}, {type})"
        if node.has("body"):
            self._scoped(node, name, frame, f"{name}: {type} = {value}", is_last, variable)
        else:
            self._emit(f"{name}: {type} = {value}")
            self._slot(variable)

    def _allocation(self, node: Node, is_last: bool) -> None:
        variable = node.child("buffer_var", *_SCALARS)
        extents, dtype = self._tuple(node.children("extents")), node.dtype("dtype")
        arguments = [extents, repr(dtype), repr(_scope_of(variable))]
        if not _is_true(condition := node.child("condition")):
            arguments.append(f"condition={self.expression(condition)}")
        self._memory(node, variable, f"T.allocate({', '.join(arguments)}", is_last)

    def _constant(self, node: Node, is_last: bool) -> None:
        variable, data = node.child("buffer_var", *_SCALARS), node.array("data")
        shape = self._tuple(node.children("extents"))
        frame = f"T.allocate_const({data.tolist()!r}, {node.dtype('dtype')!r}, {shape}"
        self._memory(node, variable, frame, is_last)

    def _memory(self, node: Node, variable: Node, call: str, is_last: bool) -> None:
        annotations = node.entries("annotations")
        frame = f"{call}, annotations={_dictionary(annotations)})" if annotations else f"{call})"
        name = self._define(variable)
        self._scoped(node, name, frame, f"{name} = {frame}", is_last, variable)

    def _declaration(self, node: Node, is_last: bool) -> None:
        buffer = node.child("buffer", "Buffer")
        data = node.child("data") if node.has("data") else buffer.child("data", *_SCALARS)
        frame = f"T.decl_buffer({self._layout(buffer, self.expression(data))})"
        name = self._buffer_name(buffer)
        if node.has("body"):
            self._scoped(node, name, frame, f"{name} = {frame}", is_last)
        else:
            self._emit(f"{name} = {frame}")

    def _buffer_allocation(self, node: Node, is_last: bool) -> None:
        """Memory as a buffer, since v0.24."""
        buffer = node.child("buffer", "Buffer")
        layout, data = self._layout(buffer), ""
        if annotations := node.entries("annotations"):
            data = self.unique.create(f"{buffer.text('name')}_data")
            arguments = f"{self._tuple(buffer.children('shape'))}, {buffer.dtype('dtype')!r}, {_scope_of(buffer)!r}"
            self._emit(f"{data} = T.allocate({arguments}, annotations={_dictionary(annotations)})")
            layout = self._layout(buffer, data)
        self._emit(f"{self._buffer_name(buffer)} = T.decl_buffer({layout})")

    def _attribute(self, node: Node, is_last: bool) -> None:
        key, subject, value = node.text("attr_key"), node.child("node"), self.expression(node.child("value"))
        if key in ("thread_extent", "virtual_thread") and subject.kind == "IterVar":
            variable = subject.child("var", *_SCALARS)
            if variable.position not in self.names:
                name, tag = self._define(variable), subject.text("thread_tag")
                tag = "vthread" if key == "virtual_thread" else tag
                self.top.append((1, f"{name} = T.env_thread({tag!r}, {variable.dtype('dtype')!r})"))
            frame = f"T.launch_thread({self.names[variable.position]}, {value})"
        else:
            subject = subject.child("var", *_SCALARS) if subject.kind == "IterVar" else subject
            frame = f"T.attr({self._subject(subject)}, {key!r}, {value})"
        self._emit(f"with {frame}:")
        self._nested(node.child("body"))

    def _subject(self, node: Node) -> str:
        """The node of an attribute."""
        return _literal(node) if node.kind in ("String", "Map", "Array", "int", "bool") else self.expression(node)

    def _assertion(self, node: Node, is_last: bool) -> None:
        condition = self.expression(node.child("condition"))
        message = node.child("message") if node.has("message") else None
        parts = node.children("message_parts") if message is None else [message]
        self._emit(f"assert {condition}, {''.join(each.string for each in parts)!r}")
        if node.has("body"):
            self.statement(node.child("body"), is_last)

    def _evaluation(self, node: Node, is_last: bool) -> None:
        value = node.child("value")
        op = value.child("op") if value.kind == "Call" else value
        jump = _JUMPS.get(op.string.rpartition(".")[2]) if op.kind == "Op" else None
        self._emit(f"T.evaluate({self.expression(value)})" if jump is None else jump)

    def _return(self, node: Node, is_last: bool) -> None:
        value = node.optional("value")
        self._emit("return" if value is None else f"return {self._typed(value)}")

    def _while(self, node: Node, is_last: bool) -> None:
        self._emit(f"while {self.expression(node.child('condition'))}:")
        self._nested(node.child("body"))

    # Expressions

    def expression(self, node: Node) -> str:
        """The text of an expression."""
        if node.position in self.texts:
            return self.texts[node.position]
        writer = _EXPRESSIONS.get(node.kind)
        if writer is None:
            raise node.error("expected an expression")
        text = node.graph.visit(node, lambda each: writer(self, each))
        if len(text) > _MAX_CHARACTERS:
            raise node.error(f"{len(text)} characters as text, expected at most {_MAX_CHARACTERS}")
        self.texts[node.position] = text
        return text

    def _buffer(self, buffer: Node) -> str:
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

    def _variable(self, node: Node) -> str:
        if node.position in self.names:
            return self.names[node.position]
        if node.position in self.pointers:
            return self.pointers[node.position]
        if not self.declares_symbols:
            raise node.error(f"variable {node.text('name')!r} is used, expected its definition around the use")
        name = self._define(node)
        self._emit(f"{name} = {_type_of(node)}()")
        return name

    def _integer(self, node: Node) -> str:
        dtype, value = node.dtype("dtype"), node.integer("value")
        kind = parse_dtype(_number_type(node))
        if kind.is_float or not int_fits(value, kind):
            raise node.error(f"{value} does not fit {dtype}")
        if dtype == "bool":
            return f"T.bool({bool(value)})"
        return str(value) if dtype == "int32" else f"T.{_number_type(node)}({value})"

    def _float(self, node: Node) -> str:
        value = repr(node.number("value"))
        return f"T.{_number_type(node)}({value if value[-1].isdigit() else repr(value)})"

    def _string(self, node: Node) -> str:
        return repr(node.text("value"))

    def _cast(self, node: Node) -> str:
        return f"T.Cast({node.dtype('dtype')!r}, {self._typed(node.child('value'))})"

    def _typed(self, node: Node) -> str:
        """An expression, whose data type its text states."""
        text = self.expression(node)
        return f"T.int32({text})" if node.kind == "IntImm" and node.dtype("dtype") == "int32" else text

    def _operands(self, node: Node) -> tuple[str, str]:
        """The operands of a binary operator. LoadError for operands of two data types."""
        a, b = node.child("a"), node.child("b")
        types = [each.dtype("dtype") for each in (a, b) if each.has("dtype")]
        if len(set(types)) > 1:
            raise node.error(f"operands of type {' and '.join(types)}, expected one type")
        if a.kind == "IntImm" and b.kind == "IntImm":
            return self._typed(a), self._typed(b)
        return self.expression(a), self.expression(b)

    def _infix(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"({a} {_INFIX[node.kind]} {b})"

    def _function_of_two(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"T.{_FUNCTIONS[node.kind]}({a}, {b})"

    def _logical(self, node: Node) -> str:
        a, b = self._operands(node)
        return f"({a} {_LOGICAL[node.kind]} {b})"

    def _prefix(self, node: Node) -> str:
        return f"({_PREFIX[node.kind]}{self._typed(node.child('a'))})"

    def _select(self, node: Node) -> str:
        names = ("condition", "true_value", "false_value")
        return f"T.Select({', '.join(self.expression(node.child(name)) for name in names)})"

    def _ramp(self, node: Node) -> str:
        base, stride = self._typed(node.child("base")), self._typed(node.child("stride"))
        return f"T.Ramp({base}, {stride}, {self._lanes(node)})"

    def _broadcast(self, node: Node) -> str:
        return f"T.Broadcast({self._typed(node.child('value'))}, {self._lanes(node)})"

    def _lanes(self, node: Node) -> str:
        return str(parse_dtype(node.dtype("dtype")).lanes)

    def _shuffle(self, node: Node) -> str:
        parts = [", ".join(self._typed(each) for each in node.children(name)) for name in ("vectors", "indices")]
        return f"T.Shuffle([{parts[0]}], [{parts[1]}])"

    def _let_expression(self, node: Node) -> str:
        value = self._typed(node.child("value"))
        name = self._define(node.child("var", *_SCALARS))
        return f"T.Let({self._typed(node.child('body'))}, where={{{name}: {value}}})"

    def _load(self, node: Node) -> str:
        buffer = self._buffer(node.child("buffer", "Buffer"))
        indices = [self.expression(each) for each in node.children("indices")]
        predicate = node.optional("predicate") if node.has("predicate") else None
        if predicate is not None:
            return f"{buffer}.vload([{', '.join(indices)}], predicate={self.expression(predicate)})"
        return f"{buffer}[{', '.join(indices) or '()'}]"

    def _pointer_load(self, node: Node) -> str:
        """A load from a pointer, until v0.8."""
        parts = [self._typed(node.child(name)) for name in ("buffer_var", "index", "predicate")]
        return f"T.load({node.dtype('dtype')!r}, {', '.join(parts)})"

    def _call(self, node: Node) -> str:
        op = node.child("op", "Op", "GlobalVar")
        nodes = node.children("args")
        if op.kind == "GlobalVar":
            name = op.text("name_hint")
            if name not in self.functions:
                raise op.error(f"function {name!r}, expected one of {', '.join(self.functions)}")
            return f"cls.{self.functions[name]}({', '.join(self._typed(each) for each in nodes)})"
        name = op.string.removeprefix(next((each for each in _NAMESPACES if op.string.startswith(each)), ""))
        if not _OPERATOR.fullmatch(name):
            raise op.error(f"{name!r}, expected the name of an operator")
        if name == "large_uint_imm":
            low, high = (_number_of(each) for each in nodes)
            return f"T.{_number_type(node)}({high << 32 | low})"
        if name == "buffer_data" and len(nodes) == 1:
            return f"{self._buffer(nodes[0])}.data"
        arguments = [self._typed(each) for each in nodes]
        if name in _DTYPE_FIRST or (name in _DTYPE_ALONE and not arguments):
            arguments.insert(0, repr(node.dtype("dtype")))
        elif name == "tvm_struct_get":
            arguments.append(repr(node.dtype("dtype")))
        return f"T.{name}({', '.join(arguments)})"


_STATEMENTS: Mapping[str, Callable[[_Function, Node, bool], None]] = {
    "SeqStmt": _Function._sequence,
    "For": _Function._loop,
    "BlockRealize": _Function._block,
    "BufferStore": _Function._store,
    "Store": _Function._pointer_store,
    "IfThenElse": _Function._branch,
    "LetStmt": _Function._let,
    "Bind": _Function._let,
    "Allocate": _Function._allocation,
    "AllocateConst": _Function._constant,
    "DeclBuffer": _Function._declaration,
    "AllocBuffer": _Function._buffer_allocation,
    "AttrStmt": _Function._attribute,
    "AssertStmt": _Function._assertion,
    "Evaluate": _Function._evaluation,
    "Return": _Function._return,
    "While": _Function._while,
}
_EXPRESSIONS: Mapping[str, Callable[[_Function, Node], str]] = {
    **dict.fromkeys(_SCALARS, _Function._variable),
    "Buffer": _Function._buffer,
    "IntImm": _Function._integer,
    "FloatImm": _Function._float,
    "StringImm": _Function._string,
    "Cast": _Function._cast,
    **dict.fromkeys(_INFIX, _Function._infix),
    **dict.fromkeys(_FUNCTIONS, _Function._function_of_two),
    **dict.fromkeys(_LOGICAL, _Function._logical),
    **dict.fromkeys(_PREFIX, _Function._prefix),
    "Select": _Function._select,
    "Ramp": _Function._ramp,
    "Broadcast": _Function._broadcast,
    "Shuffle": _Function._shuffle,
    "Let": _Function._let_expression,
    "BufferLoad": _Function._load,
    "Load": _Function._pointer_load,
    "Call": _Function._call,
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
        and (offset is None or _is_number(offset, 0))
        and _scope_of(buffer) == "global"
        and buffer.integer("offset_factor") in (0, 1)
        and not (buffer.has("buffer_type") and buffer.integer("buffer_type") != 1)
        and not (buffer.has("axis_separators") and buffer.children("axis_separators"))
    )


def _memory_of(buffer: Node) -> Node | None:
    """The variable of the address of a buffer, None since v0.26."""
    return buffer.child("data", *_SCALARS) if buffer.of("Buffer").has("data") else None


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
    return str(_number_of(value)) if value.kind in ("IntImm", "int") else ""


def _type_of(variable: Node) -> str:
    """The type of a variable as an expression of TVMScript."""
    type = variable.optional("type_annotation")
    dtype = variable.dtype("dtype")
    if dtype != "handle":
        return f"T.{_number_type(variable)}"
    if type is None or type.kind != "PointerType":
        return "T.handle"
    element = type.child("element_type")
    if element.kind != "PrimType":
        return "T.handle"
    scope = _scope_of(variable)
    arguments = [repr(element.dtype("dtype")), *([repr(scope)] if scope != "global" else [])]
    return f"T.handle({', '.join(arguments)})"


def _number_type(node: Node) -> str:
    """The data type of a number. LoadError for an address."""
    dtype = node.dtype("dtype")
    if dtype in ("handle", "void"):
        raise node.error(f"attribute 'dtype' is {dtype!r}, expected the type of a number")
    return dtype


def _number_of(node: Node) -> int:
    """The integer that a node is."""
    return node.integer("value") if node.of("IntImm", "int").kind == "IntImm" else int(node.plain)


def _is_number(node: Node, value: int) -> bool:
    return node.kind == "IntImm" and node.integer("value") == value


def _is_true(node: Node) -> bool:
    return _is_number(node, 1)


def _dictionary(pairs: Iterable[tuple[str | Node, Node | None]]) -> str:
    """A dictionary of values of Python, as text."""
    return f"{{{', '.join(f'{_key(key)}: {_literal(value)}' for key, value in pairs)}}}"


def _key(key: str | Node) -> str:
    return repr(key) if isinstance(key, str) else _literal(key)


def _literal(node: Node | None) -> str:
    """A value of Python as text. LoadError for a node without a value."""
    return "None" if node is None else node.graph.visit(node, _literal_of)


def _literal_of(node: Node) -> str:
    match node.kind:
        case "String" | "StringImm" | "TargetKind":
            return repr(node.string)
        case "bool" | "int" | "float":
            return repr(node.plain)
        case "IntImm":
            dtype, value = node.dtype("dtype"), node.integer("value")
            return repr(bool(value)) if dtype == "bool" else f"T.{dtype}({value})" if dtype != "int32" else str(value)
        case "FloatImm":
            return f"T.{_number_type(node)}({node.number('value')!r})"
        case "Array":
            return f"[{', '.join(_literal(each) for each in node.items)}]"
        case "Map" | "DictAttrs":
            return _dictionary(node.pairs)
        case "Target":
            return f"T.target({_target(node)})"
        case _:
            raise node.error("expected a number, a text, a list, a dictionary or a target")


def _target(node: Node) -> str:
    """The configuration of a target."""
    entries = [f"'kind': {node.child('kind').string!r}"]
    if tag := node.text("tag") if node.has("tag") else "":
        entries.append(f"'tag': {tag!r}")
    if keys := node.children("keys"):
        entries.append(f"'keys': {[key.string for key in keys]!r}")
    entries += [f"{_key(key)}: {_literal(value)}" for key, value in node.entries("attrs") if key != "feature"]
    if (host := node.optional("host")) is not None:
        entries.append(f"'host': {_literal(host)}")
    return f"{{{', '.join(entries)}}}"


__all__ = ["read_module", "read_prim_func"]
