"""Functions with values in place of parameters and sizes: `tvm.tir.PrimFunc.specialize`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ....core.errors import OptionError, UnsupportedError
from ....expressions.buffers import Buffer
from ....expressions.expr import IntImm, PrimExpr, Var, as_expr
from ..nodes.construction import script_of
from ..nodes.stmt import Evaluate


class Specialization:
    """A copy of a function as text, in which values replace names.

    text: of the function, whose parameters are `params` in order.  Values refer to the variables of the function by
    their names, to other variables by names of their own.
    """

    def __init__(self, text: str, params: Sequence[Any]):
        self._tree = ast.parse(text)
        self._func = next(node for node in self._tree.body if isinstance(node, ast.FunctionDef))
        self._params = list(params)
        self._names = [arg.arg for arg in self._func.args.args]
        self._sizes = {
            target.id: statement
            for statement in self._func.body
            if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name)
        }
        self._values: dict[str, ast.expr] = {}
        self._new: dict[Var, str] = {}

    def bind(self, param: Any, value: Any) -> None:
        """Replaces a parameter. value: of a number, a number or an expression; of a buffer, one whose sizes, strides
        and offset replace those that are variables. OptionError for an unknown parameter, and for a buffer whose other
        sizes differ, UnsupportedError for an address."""
        place = next((n for n, each in enumerate(self._params) if each is param), None)
        if place is None:
            raise OptionError(f"specialize: {param!r} is no parameter, expected one of {', '.join(self._names)}")
        name = self._names[place]
        annotation = ast.unparse(self._func.args.args[place].annotation or ast.Constant(None))
        if isinstance(value, Buffer):
            self._bind_buffer(name, value)
        elif annotation.startswith(("T.handle", "T.Buffer")):
            raise UnsupportedError(f"specialize: parameter {name} is {value!r}, expected a buffer for a buffer")
        else:
            self._values[name] = self._expression(value)

    def _bind_buffer(self, name: str, buffer: Buffer) -> None:
        match = next((each for each in self._sizes.values() if _is_match_of(each, name)), None)
        if match is None:
            raise UnsupportedError(f"specialize: parameter {name} has no symbolic sizes, expected T.match_buffer of it")
        assert isinstance(match.value, ast.Call)
        given = {each.arg: each.value for each in match.value.keywords}
        self._bind_sizes(name, "dimensions", _elements(match.value.args[1]), buffer.shape)
        if "strides" in given:
            self._bind_sizes(name, "strides", _elements(given["strides"]), buffer.strides)
        if "elem_offset" in given:
            self._bind_sizes(name, "offset", [given["elem_offset"]], [buffer.elem_offset])

    def _bind_sizes(self, name: str, kind: str, old: Sequence[ast.expr], new: Sequence[Any]) -> None:
        if len(old) != len(new):
            raise OptionError(f"specialize: a buffer for {name} with {len(new)} {kind}, expected {len(old)}")
        for before, after in zip(old, new, strict=True):
            value = self._expression(after)
            if isinstance(before, ast.Name) and self._values.get(before.id) is None:
                if ast.dump(before) != ast.dump(value):
                    self._values[before.id] = value
                continue
            known = self._values[before.id] if isinstance(before, ast.Name) else before
            if isinstance(known, ast.Constant) and ast.dump(known) != ast.dump(value):
                raise OptionError(
                    f"specialize: {kind} of {name} are {ast.unparse(known)}, expected {ast.unparse(value)}"
                )
            if not isinstance(known, ast.Constant) and not self._is_bound(known):
                raise OptionError(
                    f"specialize: {kind} of {name} have the expression {ast.unparse(known)}, expected a variable"
                )

    def _is_bound(self, expr: ast.expr) -> bool:
        return all(node.id in self._values for node in ast.walk(expr) if isinstance(node, ast.Name) and node.id != "T")

    def _expression(self, value: Any) -> ast.expr:
        """A value as an expression of the text."""
        expr = as_expr(value)
        if isinstance(expr, IntImm) and expr.dtype == "int32":
            return ast.parse(str(expr.value), mode="eval").body
        if not isinstance(expr, PrimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(f"specialize: value {value!r}, expected a number, an expression or a buffer")
        call = ast.parse(script_of(Evaluate(expr)).splitlines()[-1], mode="eval").body
        assert isinstance(call, ast.Call)
        for var in _variables(expr):
            if var.name not in self._names and var.name not in self._sizes:
                self._new[var] = var.name
        return call.args[0]

    def text(self) -> str:
        """The text of the specialized function."""
        args = self._func.args
        args.args = [arg for arg in args.args if arg.arg not in self._values]
        dropped = [each for name, each in self._sizes.items() if name in self._values]
        declarations = [ast.parse(f"{name} = T.{var.dtype}()").body[0] for var, name in self._new.items()]
        self._func.body = [*declarations, *(each for each in self._func.body if each not in dropped)]
        tree = _Names(self._values).visit(self._tree)
        return ast.unparse(ast.fix_missing_locations(tree))


class _Names(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values: Mapping[str, ast.expr]):
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)


def _is_match_of(statement: ast.Assign, name: str) -> bool:
    """Whether a statement declares the buffer of a parameter."""
    call = statement.value
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "T.match_buffer":
        return False
    return isinstance(source := call.args[0], ast.Name) and source.id == name


def _elements(expr: ast.expr) -> list[ast.expr]:
    return list(expr.elts) if isinstance(expr, ast.Tuple | ast.List) else [expr]


def _variables(expr: PrimExpr) -> list[Var]:
    inside = [var for child in expr.children for var in _variables(child)]
    return [expr, *inside] if isinstance(expr, Var) else inside
