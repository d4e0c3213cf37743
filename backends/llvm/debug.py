"""Debug information of a module as metadata of LLVM: the lines of the source, and the variables of loops and functions.

Debuggers and profilers find the lines of TVMScript by it; the assembly has them as `.loc`.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, MemRefType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from ...core.dtypes import DType, parse_dtype
from ...dialects.attributes import PARAMETER_DTYPE, PARAMETER_NAME
from .types import escape

_ENCODINGS = {"bool": "DW_ATE_boolean", "int": "DW_ATE_signed", "uint": "DW_ATE_unsigned"}


def place_of(location: Attribute) -> FileLineColLoc | None:
    """The place in the source of a location; in a macro, that of the macro. None for an unknown place."""
    while isinstance(location, CallSiteLoc):
        location = location.callee
    return location if isinstance(location, FileLineColLoc) else None


class DebugInfo:
    """The metadata of the debug information of a module. first: the number of the first node."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._nodes: list[str] = []
        self._known: dict[str, str] = {}
        self._unit = ""

    def node(self, text: str) -> str:
        """The reference to a node, which is added once."""
        if text not in self._known:
            self._known[text] = self.distinct_node(text, "")
        return self._known[text]

    def distinct_node(self, text: str, kind: str = "distinct ") -> str:
        """The reference to a new node."""
        self._nodes.append(f"{kind}{text}")
        return f"!{self._first + len(self._nodes) - 1}"

    def file(self, name: str) -> str:
        """The node of a source file. A relative name is one in the current folder."""
        path = Path(name)
        folder = "" if path.is_absolute() or name.startswith("<") else str(Path.cwd())
        return self.node(f"!DIFile(filename: {_text(name)}, directory: {_text(folder)})")

    def unit(self, file: str) -> str:
        """The node of the compilation unit; `file` is that of its first function."""
        if not self._unit:
            self._unit = self.distinct_node(
                f'!DICompileUnit(language: DW_LANG_C99, file: {file}, producer: "stepwell", isOptimized: true, '
                "runtimeVersion: 0, emissionKind: FullDebug)"
            )
        return self._unit

    def type(self, dtype: DType) -> str:
        """The node of a scalar type."""
        encoding = "DW_ATE_float" if dtype.is_float else _ENCODINGS[dtype.kind]
        size = 8 * dtype.bytes
        return self.node(f"!DIBasicType(name: {_text(dtype.name)}, size: {size}, encoding: {encoding})")

    def pointer(self, dtype: DType) -> str:
        """The node of the type of a pointer to elements."""
        return self.node(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {self.type(dtype)}, size: 64)")

    def footer(self) -> str:
        """The text of the nodes, and the flags of a module with debug information."""
        if not self._nodes:
            return ""
        unit = self._unit
        version = self.node('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = self.node('!{i32 7, !"Dwarf Version", i32 4}')
        lines = [f"!{self._first + n} = {node}" for n, node in enumerate(self._nodes)]
        return "\n".join([f"!llvm.dbg.cu = !{{{unit}}}", f"!llvm.module.flags = !{{{version}, {dwarf}}}", *lines, ""])


class FunctionDebug:
    """The debug information of a function: its scopes, and the places of its instructions."""

    def __init__(self, info: DebugInfo, function: FuncOp, symbol: str) -> None:
        """symbol: the name of the function in LLVM IR."""
        self._info = info
        self._function = function
        place = place_of(function.location) or _first_place(function)
        self._file = info.file("<unknown>" if place is None else place.filename.data)
        self._line = 0 if place is None else place.line.data
        signature = info.node(f"!DISubroutineType(types: {info.node('!{null}')})")
        names = f"name: {_text(function.sym_name.data)}, linkageName: {_text(symbol)}"
        self.subprogram = self.scope = info.distinct_node(
            f"!DISubprogram({names}, scope: {self._file}, file: {self._file}, "
            f"line: {self._line}, type: {signature}, scopeLine: {self._line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {info.unit(self._file)})"
        )

    def location(self, op: Operation | None) -> str:
        """The node of the place of an operation in the current scope; without one, of no line of the function."""
        place = None if op is None else place_of(op.location)
        if place is None:
            return self._info.node(f"!DILocation(line: 0, scope: {self.scope})")
        scope, file = self.scope, self._info.file(place.filename.data)
        if file != self._file:
            scope = self._info.node(f"!DILexicalBlockFile(scope: {scope}, file: {file}, discriminator: 0)")
        line, column = place.line.data, place.column.data
        return self._info.node(f"!DILocation(line: {line}, column: {column}, scope: {scope})")

    def enter(self, op: Operation) -> str:
        """Makes the body of an operation the current scope; returns the scope before."""
        before, place = self.scope, place_of(op.location)
        line = self._line if place is None else place.line.data
        self.scope = self._info.distinct_node(f"!DILexicalBlock(scope: {before}, file: {self._file}, line: {line})")
        return before

    def index(self, name: str, operand: str, kind: str, op: Operation) -> str:
        """The record of the value of a loop variable. kind: its type in LLVM IR."""
        return self._record(name, f"{kind} {operand}", self._info.type(parse_dtype(f"int{kind[1:]}")), op)

    def parameter(self, number: int, type: Attribute, operand: str, kind: str) -> str | None:
        """The record of the value of a parameter, that of the pointer to the elements of a buffer; None for a parameter
        without a name or a type of the source."""
        attributes = self._function.arg_attrs
        facts = {} if attributes is None else attributes.data[number].data
        name, stated = facts.get(PARAMETER_NAME), facts.get(PARAMETER_DTYPE)
        if not isinstance(name, StringAttr) or not isinstance(stated, StringAttr) or stated.data == "handle":
            return None
        dtype = parse_dtype(stated.data)
        shown = self._info.pointer(dtype) if isinstance(type, MemRefType) else self._info.type(dtype)
        return self._record(name.data, f"{kind} {operand}", shown, None, f"arg: {number + 1}, ")

    def _record(self, name: str, value: str, type: str, op: Operation | None, argument: str = "") -> str:
        place = None if op is None else place_of(op.location)
        line = self._line if place is None else place.line.data
        variable = self._info.distinct_node(
            f"!DILocalVariable(name: {_text(name)}, {argument}scope: {self.scope}, file: {self._file}, line: {line}, "
            f"type: {type})", ""
        )  # fmt: skip
        return f"#dbg_value({value}, {variable}, !DIExpression(), {self.location(op)})"


def _first_place(function: FuncOp) -> FileLineColLoc | None:
    """The first known place in a function."""
    return next((place for op in function.walk() if (place := place_of(op.location)) is not None), None)


def _text(text: str) -> str:
    return f'"{escape(text.encode())}"'
