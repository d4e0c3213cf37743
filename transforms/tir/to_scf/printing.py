"""`tir.print`: a call of the runtime of Python, or of `printf` in a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from ....core.assertions import message_parts
from ....core.dtypes import DType, dtype_of, parse_dtype
from ....dialects.attributes import PRINT
from ....dialects.tir import PrintOp
from .casts import convert_value
from .memory import constant_string
from .writer import Handlers, UpstreamWriter

_WIDE = {name: parse_dtype(f"{name}64") for name in ("int", "uint", "float")}

# The conversion specifier, and the argument as an expression of CUDA C++. A NaN is printed without its sign.
_SPECIFIERS = {
    "bool": ("%s", '({} ? "True" : "False")'),
    "int": ("%lld", "(long long){}"),
    "uint": ("%llu", "(unsigned long long){}"),
    "float": ("%g", "({0} == {0} ? {0} : fabs({0}))"),
}


def _print(w: UpstreamWriter, op: PrintOp) -> None:
    dtypes = [_printed_dtype(value) for value in op.values]
    names = [dtype.name for dtype in dtypes]
    values = [
        convert_value(w, w.value(value), dtype_of(value.type), dtype)
        for value, dtype in zip(op.values, dtypes, strict=True)
    ]
    types = [value.type for value in values]
    if w.launched is None:
        values = [constant_string(w, op.message.data), *values]
        callee = w.module.declare_packed(PRINT, [value.type for value in values], ["handle", *names], [], [])
    else:
        callee = w.module.declare_expression("print", StringAttr(_printf(op.message.data, dtypes)), types, names, [])
    w.module.call_named(w, callee, values, [])


def _printed_dtype(value: SSAValue) -> DType:
    """The type to which a value is converted, without a change of its text."""
    dtype = dtype_of(value.type)
    if dtype.is_bool:
        return dtype
    return _WIDE["float" if dtype.is_float else dtype.kind]


def _printf(message: str, dtypes: Sequence[DType]) -> str:
    """The call of `printf` that prints a message as a line, as a template of an expression of CUDA C++."""
    specifiers = [_SPECIFIERS["float" if dtype.is_float else dtype.kind] for dtype in dtypes]
    parts = message_parts(message.replace("%", "%%"), [specifier for specifier, _ in specifiers])
    literal = c_literal("".join([*parts, "\n"])).replace("{", "{{").replace("}", "}}")
    arguments = [argument.format(f"{{{n}}}") for n, (_, argument) in enumerate(specifiers)]
    return f"printf({', '.join([literal, *arguments])})"


def c_literal(text: str) -> str:
    """The literal of C of a text in UTF-8."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{"".join(plain)}"'.replace("\\012", "\\n")


HANDLERS: Handlers = {PrintOp: _print}
