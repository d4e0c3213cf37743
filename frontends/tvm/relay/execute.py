"""Graphs as Python functions: `relay.create_executor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ....backends.graph import GraphExecutor
from ....core.errors import ArgumentError, OptionError
from ....module import Module
from ...relay import Constant, Expr, Function, GlobalVar, TupleType, Var, const
from ...relay.analysis import free_vars
from ...relay.functor import bind
from ...relay.types import Type
from ..containers import leaves_of, tuple_object
from ..contrib.graph_executor import GraphModule
from ..former_names import former_names
from ..ir.module import IRModule
from ..nd import Device, array
from ..transform import PassContext
from .building import build
from .machines import InterpretedLibrary, library_of

KINDS = ("graph", "vm", "debug", "aot")
INTERPRETING = ("vm", "debug")
"""The kinds that interpret programs which are no graphs."""


class Executor:
    """Compiles functions of graphs into Python functions."""

    def __init__(
        self, kind: str, mod: Module | None, device: Device | None, target: Any, params: Mapping[str, Any] | None
    ):
        self._kind = kind
        self._mod = mod
        self._device = device
        self._target = target
        self._params = params

    @property
    def executable(self) -> Any:
        """The module compiled for the virtual machine. OptionError for an executor of another kind or without a
        module."""
        # lazy: most programs evaluate functions
        from .vm import compile

        if self._kind != "vm" or self._mod is None:
            raise OptionError(f"executable of an executor {self._kind!r}, expected 'vm' with a module")
        return compile(self._mod, self._target, params=self._params)

    def evaluate(self, expr: Expr | Module | None = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """A Python function that runs `expr`, by default `main` of the module; `main` of a module; the value of
        `expr` if it is not a function.

        binds: arrays for parameters, by name or variable. Errors as raised by `relay.build`.
        """
        by_name = {key: value for key, value in (binds or {}).items() if not isinstance(key, Var)}
        variables = {
            key: value if isinstance(value, Constant) else const(value)
            for key, value in (binds or {}).items()
            if isinstance(key, Var)
        }
        bound = {**(self._params or {}), **by_name}
        if isinstance(expr, Module):
            return self._function(expr, bound)
        expr = bind(expr, variables) if expr is not None and variables else expr
        if expr is None:
            if self._mod is None:
                raise OptionError("evaluate without an expression, of an executor without a module")
            return self._function(self._mod, bound)
        root: Any = self._mod[expr] if isinstance(expr, GlobalVar) and isinstance(self._mod, IRModule) else expr
        if isinstance(root, Function):
            return self._function(self._with_main(root), bound)
        free = [each for each in free_vars(root) if each.name_hint not in bound]
        if free:
            raise ArgumentError(f"variables {', '.join(map(repr, free))} have no value")
        return self._function(self._with_main(Function(free_vars(root), root)), bound)()

    def _with_main(self, main: Function) -> IRModule:
        """A module with a function as its `main`, beside the functions of the module of the executor."""
        others = self._mod.items() if isinstance(self._mod, IRModule) else ()
        graphs = {name: each for name, each in others if isinstance(each, Function)}
        return IRModule({**graphs, "main": main})

    def _function(self, mod: Module, params: Mapping[str, Any]) -> Callable[..., Any]:
        library = library_of(mod, params, self._target, PassContext.current().opt_level)
        if isinstance(library, InterpretedLibrary) and self._kind not in INTERPRETING:
            raise OptionError(f"executor {self._kind!r} of a program that is no graph, expected 'vm' or 'debug'")
        if library is not None:
            return library.on_device(self._device)("main")
        executor = GraphExecutor(build(mod, self._target, params=params).executable, self._device)
        module = GraphModule(executor)
        names = [spec.name for spec in executor.executable.inputs]
        main = mod["main"] if isinstance(mod, IRModule) else None
        type = main.checked_type.ret_type if isinstance(main, Function) else None

        def call(*values: Any, **kwargs: Any) -> Any:
            args = list(leaves_of(values))
            if len(args) > len(names):
                raise ArgumentError(f"{len(args)} arguments, expected {len(names)}: {', '.join(names)}")
            module.run(**dict(zip(names, args, strict=False)), **kwargs)
            outputs = [executor.get_output(n) for n in range(executor.num_outputs)]
            results = tuple_object(array(output, executor.device) for output in outputs)
            if isinstance(type, TupleType):
                return _nested(type, iter(results))
            return results[0] if len(results) == 1 else results

        return call


def _nested(type: Type, results: Iterator[Any]) -> Any:
    """Arrays in the structure of a type."""
    if isinstance(type, TupleType):
        return tuple_object(_nested(field, results) for field in type.fields)
    return next(results)


@former_names(device="ctx")
def create_executor(
    kind: str = "debug",
    mod: Module | None = None,
    device: Device | None = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor that turns graphs into Python functions: `create_executor("graph", mod).evaluate()(x)`.

    kind: one of TVM's kinds, equivalent for graphs; "vm" and "debug" interpret all other programs.  device: the device
    of execution, by default the first device of the target.  params: arrays for parameters, by name.  A function
    returns an array, or a list of several. OptionError for an unknown kind.
    """
    if kind not in KINDS:
        raise OptionError(f"executor {kind!r}, expected one of {', '.join(KINDS)}")
    return Executor(kind, mod, device, target, params)
