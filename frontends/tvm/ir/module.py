"""Modules and functions: `tvm.ir.module` and `tvm.tir`."""

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
from ..nodes.reading import NodeReader
from ..nodes.stmt import Stmt
from ..nodes.writing import write_function


class PrimFunc(Module):
    """One function on the `tir` landing, with its statements as a tree of nodes. Immutable; `with_body` and `with_attr`
    return a new function.
    """

    def __init__(self, op: ModuleOp | FuncOp, constants: Mapping[str, np.ndarray[Any, Any]] | None = None):
        super().__init__(ModuleOp([op.clone()]) if isinstance(op, FuncOp) else op, constants)
        functions = [func for func in self.op.body.block.ops if isinstance(func, FuncOp)]
        if len(functions) != 1:
            raise OptionError(f"a module of {len(functions)} functions, expected one")
        self._func = functions[0]
        self._reader: NodeReader | None = None

    def _get_reader(self) -> NodeReader:
        """The reader of a copy in statement-tree form, cached so that nodes keep their identity."""
        if self._reader is None:
            copy = self._func.clone()
            treeify(copy)
            self._reader = NodeReader(copy)
        return self._reader

    @property
    def body(self) -> Stmt:
        """The statements of the function."""
        return self._get_reader().body()

    @property
    def params(self) -> Sequence[Buffer | Var]:
        """The parameters: buffers and variables."""
        reader = self._get_reader()
        return [
            reader.buffer(value) if isinstance(value.type, MemRefType) else reader.var(value)
            for value in reader.func.body.block.args
        ]

    @property
    def attrs(self) -> Mapping[str, Attribute]:
        """The attributes of the function."""
        return {} if self._func.func_attrs is None else self._func.func_attrs.data

    def with_body(self, new_body: Stmt) -> PrimFunc:
        """A copy of the function with another body. TeError for an undeclared variable."""
        return PrimFunc(ModuleOp([write_function(self._get_reader(), new_body)]), self.constants)

    def with_attr(self, key: str, value: object) -> PrimFunc:
        """A copy of the function with an attribute set."""
        copy = self._func.clone()
        copy.func_attrs = DictionaryAttr({**self.attrs, annotation_key(key): annotation_value(value)})
        return PrimFunc(ModuleOp([copy]), self.constants)

    def script(self, style: str = "classic") -> str:
        return print_function(self._func, style)


class IRModule(Module):
    """Functions by name. `IRModule({"main": func})` is a module of copies of functions.

    is_lowered: whether the module is a result of `tvm.lower`.
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
        ops = [_copy_as(name, func) for name, func in (functions or {}).items()]
        super().__init__(ModuleOp(ops), constants)

    @staticmethod
    def from_expr(expr: Expr) -> IRModule:
        """A module whose `main` is a graph function, or a function of an expression with its free variables as
        parameters.
        """
        mod = module_of({"main": expr if isinstance(expr, Function) else Function(free_vars(expr), expr)})
        return IRModule(mod.op, mod.constants)

    def __getitem__(self, name: str) -> Any:
        """The function called `name`: a `PrimFunc`, or a module of its own for a landing other than `tir`."""
        mod = super().__getitem__(name)
        return PrimFunc(mod.op, self.constants) if isinstance(mod.functions[name], FuncOp) else mod

    def items(self) -> list[tuple[str, Any]]:
        """The functions with their names."""
        return [(name, self[name]) for name in self]


def _copy_as(name: str, mod: Module) -> FuncOp:
    """A copy of the only function of a module, under another name."""
    functions = [op for op in mod.op.body.block.ops if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise OptionError(f"function {name!r}: a module of {len(functions)} functions, expected one")
    copy = functions[0].clone()
    copy.sym_name = StringAttr(name)
    return copy
