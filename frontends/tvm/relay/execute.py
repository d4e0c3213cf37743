"""Graphs as Python functions: `relay.create_executor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ....backends.graph import GraphExecutor
from ....core.errors import ArgumentError, OptionError
from ....module import Module
from ...relay import Constant, Expr, Function, GlobalVar, TupleType, Var
from ...relay.analysis import free_vars
from ...relay.types import Type
from ..containers import ADT
from ..contrib.graph_executor import GraphModule
from ..ir.module import IRModule
from ..nd import Device, array
from .building import build

KINDS = ("graph", "vm", "debug", "aot")


class Executor:
    """Compiles functions of graphs into Python functions."""

    def __init__(self, mod: Module | None, device: Device | None, target: Any, params: Mapping[str, Any] | None):
        self._mod = mod
        self._device = device
        self._target = target
        self._params = params

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """A Python function that runs `expr`, by default `main` of the module; the value of `expr` if it is not a
        function.

        binds: arrays for parameters, by name or variable. Errors as raised by `relay.build`.
        """
        by_name = {
            key.name_hint if isinstance(key, Var) else key: value.array if isinstance(value, Constant) else value
            for key, value in (binds or {}).items()
        }
        bound = {**(self._params or {}), **by_name}
        if expr is None:
            if self._mod is None:
                raise OptionError("evaluate without an expression, of an executor without a module")
            return self._function(self._mod, bound)
        if isinstance(expr, GlobalVar) and isinstance(self._mod, IRModule):
            return self._function(self._with_main(self._mod[expr]), bound)
        main = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        function = self._function(self._with_main(main), bound)
        return function if isinstance(expr, Function) else function()

    def _with_main(self, main: Function) -> IRModule:
        """A module with a function as its `main`, beside the functions of the module of the executor."""
        others = self._mod.items() if isinstance(self._mod, IRModule) else ()
        graphs = {name: each for name, each in others if isinstance(each, Function)}
        return IRModule.from_graphs({**graphs, "main": main})

    def _function(self, mod: Module, params: Mapping[str, Any]) -> Callable[..., Any]:
        executor = GraphExecutor(build(mod, self._target, params=params).executable, self._device)
        module = GraphModule(executor)
        names = [spec.name for spec in executor.executable.inputs]
        main = mod["main"] if isinstance(mod, IRModule) else None
        type = main.checked_type.ret_type if isinstance(main, Function) else None

        def call(*values: Any, **kwargs: Any) -> Any:
            args = list(_leaves(values))
            if len(args) > len(names):
                raise ArgumentError(f"{len(args)} arguments, expected {len(names)}: {', '.join(names)}")
            module.run(**dict(zip(names, args, strict=False)), **kwargs)
            outputs = [executor.get_output(n) for n in range(executor.num_outputs)]
            results = ADT(array(output, executor.device) for output in outputs)
            if isinstance(type, TupleType):
                return _nested(type, iter(results))
            return results[0] if len(results) == 1 else results

        return call


def _nested(type: Type, results: Iterator[Any]) -> Any:
    """Arrays in the structure of a type."""
    if isinstance(type, TupleType):
        return ADT(_nested(field, results) for field in type.fields)
    return next(results)


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    """The arrays of arguments; a tuple is several."""
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def create_executor(
    kind: str = "debug",
    mod: Module | None = None,
    device: Device | None = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor that turns graphs into Python functions: `create_executor("graph", mod).evaluate()(x)`.

    kind: one of TVM's kinds, all equivalent here.  device: the device of execution, by default the first device of the
    target.  params: arrays for parameters, by name.  A function returns an array, or a list of several. OptionError for
    an unknown kind.
    """
    if kind not in KINDS:
        raise OptionError(f"executor {kind!r}, expected one of {', '.join(KINDS)}")
    return Executor(mod, device, target, params)
