"""Programs with other names and strings: quotes, control characters, keywords, text of target languages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from ...dialects.tir import AssertOp, AttrOp, CallOp, CallPackedOp, FuncOp
from ...module import Module

FRAGMENTS = (
    *map(chr, range(32)), "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "é", "字", "\U0001f600", "٣",
    '"', "'", '"""', "'''", "\\", "\\n", "\\22", "\\x41", "\\u0041", "\\N{DIGIT ONE}", "\r\n", "`", "$(id)", "%s", "%n",
    "{", "}", "{{x}}", "//", "/*", "*/", "#", "# x", ";", ":", "@x", "%0", "^bb0", "!0", "<b>&amp;", "->", "a.b", "a b",
    "../../x", "/x", "-o", "~", "1", "1a", "_", "__", "-", "class", "def", "return", "None", "True", "lambda", "int",
    "float", "auto", "asm", "define", "entry", "main", "T", "I", "cls", "range", "run", "fault", "root", "sw_x", "half",
    "fn.main", "llvm.trap", "threadIdx", "__import__('os')", "x = 1", "\n    x = 1", "\r    x = 1\r#", "\nret i32 0\n",
    ") {}", "a" * 300,
)  # fmt: skip
"""Parts of names that mean something else in a language of generated text, or end a token or a line there."""

_NAMES = ("block_name", "buffer_name", "loop_var", "var_name", "message")
_LISTS = ("axis_names", "param_names")
_DICTIONARIES = ("annotations", "func_attrs")


@dataclass
class Renamed:
    """A program with other names. symbols: the new name of each function, by its name before."""

    module: Module
    symbols: dict[str, str] = field(default_factory=dict[str, str])


def rename(module: Module, name: Callable[[], str]) -> Renamed:
    """A copy of a `tir` module in which each function, parameter, variable, loop, block, axis and buffer has the next
    name from `name`, and each message, annotation, pragma and attribute the next text; equal names of functions stay
    equal.
    """
    result = Renamed(module.clone())
    for op in list(result.module.op.walk()):
        if isinstance(op, FuncOp):
            symbol = result.symbols.setdefault(op.sym_name.data, name())
            op.sym_name = StringAttr(symbol)
    for op in list(result.module.op.walk()):
        _rename_op(op, result.symbols, name)
    return result


def _rename_op(op: Operation, symbols: dict[str, str], name: Callable[[], str]) -> None:
    for key in _NAMES:
        if key in op.properties:
            op.properties[key] = StringAttr(name())
    for key in _LISTS:
        match op.properties.get(key):
            case ArrayAttr(data=items):
                op.properties[key] = ArrayAttr([StringAttr(name()) for _ in items])
            case _:
                pass
    for key in _DICTIONARIES:
        match op.properties.get(key):
            case DictionaryAttr(data=entries):
                op.properties[key] = DictionaryAttr({name(): _text(entry, name) for entry in entries.values()})
            case _:
                pass
    match op:
        case CallOp():
            op.properties["callee"] = SymbolRefAttr(symbols[op.callee.string_value()])
        case AssertOp(kind=StringAttr()):
            op.kind = StringAttr(name())
        case AttrOp():
            op.key = StringAttr(name())
        case CallPackedOp():
            op.callee = StringAttr(symbols.setdefault(op.callee.data, name()))
        case _:
            pass


def _text(attribute: Attribute, name: Callable[[], str]) -> Attribute:
    match attribute:
        case StringAttr():
            return StringAttr(name())
        case ArrayAttr(data=items):
            return ArrayAttr([_text(item, name) for item in items])
        case _:
            return attribute


_TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join)


@st.composite
def names(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Callable[[], str]:
    """A source of distinct names, each a text that a language of generated text gives a meaning."""
    texts, numbers = cycle(draw(st.lists(_TEXTS, min_size=1, max_size=8))), count()
    place = draw(st.sampled_from(("{0}{1}", "x{1}{0}", "{1}{0}")))
    return lambda: place.format(next(texts), next(numbers))
