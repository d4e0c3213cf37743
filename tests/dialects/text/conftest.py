"""Fixtures of functions in MLIR, for constructs without TVMScript syntax."""

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from stepwell.dialects.tir import Tir


@pytest.fixture
def mlir() -> Callable[[str], ModuleOp]:
    """Parses a module."""

    def parse(text: str) -> ModuleOp:
        context = Context()
        for dialect in (builtin.Builtin, arith.Arith, func.Func, math.Math, memref.MemRef, vector.Vector, Tir):
            context.load_dialect(dialect)
        module = Parser(context, text).parse_module()
        module.verify()
        return module

    return parse


@pytest.fixture
def body(mlir: Callable[[str], ModuleOp]) -> Callable[..., str]:
    """The lines of a function's body, without the indentation: of MLIR ops on A (f32), B (i32), U (ui8), P (bool)."""
    from stepwell.dialects.text import print_tvmscript

    def print_body(ops: str, style: str = "classic") -> str:
        module = mlir(f"""
            tir.func @main("A" %A: memref<8xf32>, "B" %B: memref<8xi32>, "U" %U: memref<8xui8>, "P" %P: memref<8xi1>,
                           "n" %n: i32, "x" %x: f32, "c" %c: i1) {{
              {ops}
            }}""")
        lines = print_tvmscript(module, style).split("\n")
        start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))
        return "\n".join(line[8:] for line in lines[start + 1 :])

    return print_body
