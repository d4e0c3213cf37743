"""Functions on buffers as the text of hybrid functions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from ....core.errors import UnsupportedError
from ....core.identifiers import fresh_name
from ....expressions.axes import IterVar
from ....expressions.buffers import Buffer
from ....expressions.expr import (
    And,
    BinaryOp,
    Call,
    Cast,
    FloatImm,
    IfThenElse,
    IntImm,
    Max,
    Min,
    Mod,
    Not,
    Or,
    PrimExpr,
    Select,
    StringImm,
    Var,
)
from ..ir.module import PrimFunc
from ..nodes import stmt as nodes
from ..nodes.expr import BufferLoad
from ..tir import functions
from .numbers import NUMBERS

_LOOPS = {"SERIAL": "range", "PARALLEL": "parallel", "VECTORIZED": "vectorize", "UNROLLED": "unroll"}
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%", "truncdiv": "/",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_BITWISE = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_LOGICAL = {"and": "and", "or": "or"}
_PLAIN = ("int32", "float32", "float64")
"""The data types whose constants are numbers of Python."""


def source_of(function: PrimFunc, name: str, num_inputs: int) -> str:
    """The text of a hybrid function. function: its loops.  num_inputs: the number of parameters that are inputs; the
    rest are results. UnsupportedError as of `te.hybrid.build`."""
    return _Writer(name).function(function, num_inputs)


class _Writer:
    def __init__(self, name: str):
        self.name = name
        self.texts: dict[object, str] = {}
        self.taken = {name, *NUMBERS, *keyword.kwlist, "range", "len", "max", "min", "abs"}
        self.lines: list[str] = []
        self.depth = 1

    def function(self, function: PrimFunc, num_inputs: int) -> str:
        """The text of the function."""
        buffers = [function.buffer_map.get(param) for param in function.params]
        params = [
            self.declare(param if buffer is None else buffer, (param if buffer is None else buffer).name)
            for param, buffer in zip(function.params[:num_inputs], buffers, strict=False)
        ]
        for buffer in buffers[:num_inputs]:
            if buffer is not None:
                self.name_sizes(buffer)
        results = [buffer for buffer in buffers[num_inputs:] if buffer is not None]
        for buffer in results:
            self.line(
                f'{self.declare(buffer, buffer.name)} = output_tensor({self.shape(buffer.shape)}, "{buffer.dtype}")'
            )
        self.statement(function.body)
        self.line(f"return {', '.join(self.texts[buffer] for buffer in results)}")
        return "\n".join([f"def {self.name}({', '.join(params)}):", *self.lines, ""])

    def name_sizes(self, buffer: Buffer) -> None:
        """Names the sizes that no parameter is by the shape of a tensor."""
        for n, size in enumerate(buffer.shape):
            if isinstance(size, Var):
                self.texts.setdefault(size, f"{self.texts[buffer]}.shape[{n}]")

    def declare(self, value: object, hint: str) -> str:
        """The name of a variable or a buffer, which no other has."""
        base = re.sub(r"\W", "_", hint) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        self.texts[value] = fresh_name(base, self.taken)
        return self.texts[value]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fail(self, node: object) -> UnsupportedError:
        return UnsupportedError(f"hybrid function {self.name}: {node!r}, expected loops, branches and stores")

    # Statements

    def inside(self, header: str, body: nodes.Stmt) -> None:
        self.line(header)
        self.depth += 1
        self.statement(body)
        self.depth -= 1

    def statement(self, node: nodes.Stmt) -> None:
        match node:
            case nodes.SeqStmt():
                for each in node.seq:
                    self.statement(each)
            case nodes.For():
                self.loop(node)
            case nodes.IfThenElse():
                self.inside(f"if {self.expr(node.condition)}:", node.then_case)
                if node.else_case is not None:
                    self.inside("else:", node.else_case)
            case nodes.BufferStore():
                self.line(f"{self.element(node.buffer, node.indices)} = {self.expr(node.value)}")
            case nodes.Allocate(buffer=Buffer() as buffer):
                name = self.declare(buffer, buffer.name)
                self.line(f'{name} = allocate({self.shape(node.extents)}, "{node.dtype}", "{node.scope}")')
                self.statement(node.body)
            case nodes.LetStmt():
                value = self.expr(node.value)
                self.line(f"{self.declare(node.var, node.var.name)} = {value}")
                self.statement(node.body)
            case nodes.AttrStmt(node=IterVar() as axis) if node.attr_key in nodes.THREAD_KEYS:
                name = self.declare(axis.var, axis.var.name)
                self.inside(f'for {name} in bind("{axis.thread_tag}", {self.expr(node.value)}):', node.body)
            case nodes.AttrStmt():
                self.statement(node.body)
            case nodes.AssertStmt():
                self.line(f"assert {self.expr(node.condition)}, {node.message.value!r}")
                if node.body is not None:
                    self.statement(node.body)
            case nodes.Evaluate(value=IntImm()):
                self.line("pass")
            case _:
                raise self.fail(node)

    def loop(self, node: nodes.For) -> None:
        low, extent = self.expr(node.min), self.expr(node.extent)
        end = extent if low == "0" else self.expr(node.min + node.extent)
        name = self.declare(node.loop_var, node.loop_var.name)
        if node.thread_tag is not None:
            header = f'bind("{node.thread_tag}", {extent})'
        else:
            header = f"{_LOOPS[node.kind.name]}({end if low == '0' else f'{low}, {end}'})"
        self.inside(f"for {name} in {header}:", node.body)

    # Expressions

    def shape(self, sizes: Sequence[PrimExpr]) -> str:
        return f"({''.join(f'{self.expr(size)}, ' for size in sizes).rstrip()})"

    def element(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> str:
        return f"{self.texts[buffer]}[{', '.join(map(self.expr, indices or [IntImm('int32', 0)]))}]"

    def expr(self, expr: PrimExpr) -> str:
        match expr:
            case Var() if expr in self.texts:
                return self.texts[expr]
            case IntImm() | FloatImm():
                return self.number(expr)
            case StringImm():
                return repr(expr.value)
            case BufferLoad():
                return self.element(expr.buffer, expr.indices)
            case Cast() if expr.dtype in NUMBERS:
                return f"{expr.dtype}({self.expr(expr.value)})"
            case Select(condition=c, true_value=a, false_value=b) | IfThenElse(args=(c, a, b)):
                return f"({self.expr(a)} if {self.expr(c)} else {self.expr(b)})"
            case Not():
                return f"(not {self.expr(expr.a)})"
            case And():
                return f"({self.expr(expr.a)} {'or' if isinstance(expr, Or) else 'and'} {self.expr(expr.b)})"
            case Max() | Min():
                return f"{'max' if isinstance(expr, Max) else 'min'}({self.expr(expr.a)}, {self.expr(expr.b)})"
            case BinaryOp() if not isinstance(expr, Mod) and expr.operator in _SYMBOLS:
                return f"({self.expr(expr.a)} {_SYMBOLS[expr.operator]} {self.expr(expr.b)})"
            case Call():
                return self.call(expr)
            case _:
                raise self.fail(expr)

    def call(self, expr: Call) -> str:
        op, args = str(expr.op), [self.expr(arg) for arg in expr.args]
        symbol = (_LOGICAL if expr.data_type.is_bool else _BITWISE).get(op) or _SYMBOLS.get(op)
        if symbol is not None and len(args) == 2:
            return f"({args[0]} {symbol} {args[1]})"
        name = {"pow": "power", "fabs": "abs"}.get(op, op)
        if not hasattr(functions, name):
            raise self.fail(expr)
        return f"{name}({', '.join(args)})"

    def number(self, expr: IntImm | FloatImm) -> str:
        if expr.data_type.is_bool:
            return str(bool(expr.value))
        if expr.dtype in _PLAIN and abs(expr.value) < float("inf"):
            return repr(expr.value)
        if expr.dtype not in NUMBERS:
            raise self.fail(expr)
        text = repr(expr.value) if abs(expr.value) < float("inf") else f"float({str(expr.value)!r})"
        return f"{expr.dtype}({text})"


__all__ = ["source_of"]
