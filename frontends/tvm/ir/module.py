"""Modules and functions, as `tvm.ir.module` and `tvm.tir` have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute

from ....core.errors import OptionError
from ....dialects.text.functions import print_function
from ....dialects.tir import FuncOp
from ....dialects.tir.annotations import annotation_key, annotation_value
from ....dialects.tir.tree import treeify
from ....expressions.expr import Var
from ....module import Module
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Function
from ...relay.graph import module_of
from ..nodes.expr import Buffer
from ..nodes.reading import Reader
from ..nodes.stmt import Stmt
from ..nodes.writing import write_function


class PrimFunc(Module):
    """One function on the `tir` landing, with its statements as a tree of nodes. It is not changed; `with_body` and
    `with_attr` give another."""

    def __init__(self, op: ModuleOp | FuncOp, constants: Mapping[str, np.ndarray[Any, Any]] | None = None):
        super().__init__(ModuleOp([op.clone()]) if isinstance(op, FuncOp) else op, constants)
        found = [func for func in self.op.body.block.ops if isinstance(func, FuncOp)]
        if len(found) != 1:
            raise OptionError(f"a module of {len(found)} functions, expected one")
        self._func = found[0]
        self._reader: Reader | None = None

    def _read(self) -> Reader:
        """What reads a copy in statement-tree form, the same one each time, so that nodes are."""
        if self._reader is None:
            copy = self._func.clone()
            treeify(copy)
            self._reader = Reader(copy)
        return self._reader

    @property
    def body(self) -> Stmt:
        """Its statements."""
        return self._read().body()

    @property
    def params(self) -> Sequence[Buffer | Var]:
        """Its parameters: buffers and variables."""
        reader = self._read()
        return [
            reader.buffer(value) if isinstance(value.type, MemRefType) else reader.var(value)
            for value in reader.func.body.block.args
        ]

    @property
    def attrs(self) -> Mapping[str, Attribute]:
        """What is said about it."""
        return {} if self._func.func_attrs is None else self._func.func_attrs.data

    def with_body(self, new_body: Stmt) -> PrimFunc:
        """The same function with other statements. TeError for a variable in them that nothing declares."""
        return PrimFunc(ModuleOp([write_function(self._read(), new_body)]), self.constants)

    def with_attr(self, key: str, value: object) -> PrimFunc:
        """The same function with something said about it."""
        copy = self._func.clone()
        copy.func_attrs = DictionaryAttr({**self.attrs, annotation_key(key): annotation_value(value)})
        return PrimFunc(ModuleOp([copy]), self.constants)

    def script(self, style: str = "classic") -> str:
        return print_function(self._func, style)


class IRModule(Module):
    """Functions by name. `IRModule({"main": func})` is a module of copies of functions.

    is_lowered: whether it comes from `tvm.lower`.
    """

    def __init__(
        self,
        functions: Mapping[str, Module] | ModuleOp | None = None,
        constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ):
        self.is_lowered = False
        if isinstance(functions, ModuleOp):
            super().__init__(functions, constants)
            return
        ops = [_named(name, func) for name, func in (functions or {}).items()]
        super().__init__(ModuleOp(ops), constants)

    @staticmethod
    def from_expr(expr: Expr) -> IRModule:
        """A function of a graph as a module in which it is called `main`; or an expression, whose free variables are
        the parameters."""
        mod = module_of({"main": expr if isinstance(expr, Function) else Function(free_vars(expr), expr)})
        return IRModule(mod.op, mod.constants)

    def __getitem__(self, name: str) -> Any:
        """A function: a `PrimFunc`, or a module of its own for one of another landing than `tir`."""
        mod = super().__getitem__(name)
        return PrimFunc(mod.op, self.constants) if isinstance(mod.functions[name], FuncOp) else mod

    def items(self) -> list[tuple[str, Any]]:
        """Each function with its name."""
        return [(name, self[name]) for name in self]


def _named(name: str, mod: Module) -> FuncOp:
    """A copy of the only function of a module, under another name."""
    found = [op for op in mod.op.body.block.ops if isinstance(op, FuncOp)]
    if len(found) != 1:
        raise OptionError(f"function {name!r}: a module of {len(found)} functions, expected one")
    copy = found[0].clone()
    copy.sym_name = StringAttr(name)
    return copy
