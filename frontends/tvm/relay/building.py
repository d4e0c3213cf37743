"""Compilation of graphs: `tvm.relay.build`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ....backends.c import c_source
from ....backends.cuda.program import DeviceProgram
from ....backends.graph import Executable, GraphExecutor, build_graph
from ....backends.graph.json import graph_json
from ....core.arrays import plain_array
from ....core.errors import ArgumentError, OptionError, UnsupportedError
from ....module import Module
from ....transforms.pipelines import Options, lower_graph, run_pipeline
from ....transforms.pipelines.landings import OPTIMIZED
from ...relay import Function, const, module
from ...relay.functor import bind
from ...relay.parameters import bind_parameters
from ..contrib.graph_executor import GraphModule
from ..devices import device
from ..driver.build_module import C_FORMATS, NATIVE_FORMATS, DeviceModule, check_c_format, save_source, source_of
from ..exporting import overwrite
from ..former_names import former_names
from ..ir.module import IRModule
from ..nd import Device, NDArray, array, cpu
from ..target.target import Target, target_of
from ..transform import PassContext
from .executors import Executor, Runtime
from .inlining import inline_functions, names_with
from .machines import CompiledLibrary, ProgramFactoryModule, device_among, library_of


class GraphExecutorFactoryModule:
    """A compiled graph. `factory["default"](device)` creates an executor; iteration yields JSON, library, params."""

    _formats: tuple[str, ...] = ("ll", "s", "asm")

    def __init__(self, executable: Executable):
        self.executable = executable

    def __getitem__(self, name: str) -> Any:
        """The factory of executors under the name "default", and of executors kernel by kernel under "debug_create",
        whose first argument is "default"; otherwise the kernel called `name`."""
        if name == "default":
            return self._executor
        if name == "debug_create":
            return self._debug_executor
        return self.executable.program[name]

    def _executor(self, *devices: Device | Sequence[Device] | None) -> GraphModule:
        """An executor of the graph on a device. Of devices of several kinds it is that of the target's.
        ArgumentError for several devices of one kind, or a device of another kind."""
        flat: list[Device] = []
        for each in devices:
            flat += [each] if isinstance(each, Device) else each or []
        return GraphModule(GraphExecutor(self.executable, device_among(flat, self.executable.program.device_kind)))

    def _debug_executor(self, name: str, *devices: Device | Sequence[Device] | None) -> GraphModule:
        """An executor of the graph, kernel by kernel. OptionError for another name; other errors as of `_executor`."""
        # lazy: most programs measure whole graphs
        from ..contrib.debugger.debug_executor import GraphModuleDebug

        if name != "default":
            raise OptionError(f"debug_create: graph {name!r}, expected 'default'")
        return GraphModuleDebug(self._executor(*devices))

    def get_graph_json(self) -> str:
        """The graph in TVM's JSON: nodes, the kernel that each calls, and the storage of their tensors."""
        return graph_json(self.executable)

    graph_json = property(get_graph_json)

    def get_lib(self) -> GraphExecutorFactoryModule:
        """The native code, with the graph: this module."""
        return self

    lib = property(get_lib)

    def get_params(self) -> dict[str, NDArray]:
        """The constants by name."""
        return {name: array(values, cpu()) for name, values in self.executable.constants.items()}

    params = property(get_params)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """The device modules of the graph: one if it launches GPU kernels, else none."""
        program = self.executable.program
        return [DeviceModule(program)] if isinstance(program, DeviceProgram) else []

    def get_source(self, fmt: str = "") -> str:
        """The native code as LLVM IR, "ll" (the default), or as assembly, "s" or "asm". OptionError for another
        format."""
        return source_of(self.executable.program, fmt, NATIVE_FORMATS)

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Writes the source: as LLVM IR, `.ll`, or as assembly, `.s` or `.asm`. fmt: the format, by default the ending
        of the name. OptionError for another format; `export_library` saves graphs to load."""
        save_source(self, file_name, fmt, self._formats)

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        fcompile: Any = None,
        *,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Saves the graph, library and params for `tvm.runtime.load_module`: as one file if the name ends in `.tar`,
        else as a folder.

        fcompile, workspace_dir, kwargs: of the C compiler, which is not called. A file at the path is replaced.
        OptionError for a folder that holds something else, and for `addons`; OSError.
        """
        if addons:
            raise OptionError(f"export_library: addons {', '.join(addons)}, expected none: native code has no objects")
        overwrite(file_name)
        self.executable.save(file_name)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self, self.get_params()))


class CGraphModule(GraphExecutorFactoryModule):
    """A compiled graph whose source is C11, for a compiler of the user's. On this machine native code runs it."""

    _formats = C_FORMATS

    def __init__(self, executable: Executable, graph: Module, opt_level: int):
        super().__init__(executable)
        self._graph, self._opt_level = graph, opt_level

    @property
    def workspace_bytes(self) -> int:
        """The bytes of the memory that the tensors of the graph share."""
        return self.executable.workspace

    def get_source(self, fmt: str = "") -> str:
        """The graph as C: a function for each kernel, and a function that calls them with the workspace. OptionError
        for a format other than "c" and "cc"."""
        check_c_format(fmt)
        return c_source(lower_graph(self._graph, self._opt_level)).source


@former_names(ir_mod=("mod", "func"))
def build(
    ir_mod: Module | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    executor: Executor | None = None,
    runtime: Runtime | None = None,
) -> Any:
    """Compiles the function `main` of a graph, which was `func` until v0.5 and `mod` until v0.7: a
    `GraphExecutorFactoryModule`. A program with sizes that only data determines is a `ProgramFactoryModule`.

    params: the arrays of constant parameters, by name; those that `relay.quantize` has replaced by constants are
    ignored.

    target: `llvm` by default, `c` for the same with C as the source, `cuda` for a GPU;
    with `llvm -libs=cblas` libraries compute the operators that they
    support. target_host, mod_name, executor: ignored. The `opt_level` of the context controls rewriting and fusion.
    Errors as for `stepwell.backends.graph`; UnsupportedError for the runtime "crt" with another target
    than `c`, whose source needs none.

    With the option `relay.backend.use_meta_schedule` of the context, inside of `with database:` (of `meta_schedule`),
    kernels have their fastest schedules of the database; those without a record have default schedules.
    """
    level = PassContext.current().opt_level
    chosen = target_of(_target_of_one_device(target))
    program = IRModule.from_expr(ir_mod) if isinstance(ir_mod, Function) else ir_mod
    library = library_of(program, params or {}, chosen, level)
    if isinstance(library, CompiledLibrary):
        return ProgramFactoryModule(library)
    graph = bind_graph(ir_mod, params)
    if runtime is not None and runtime.name == "crt" and chosen.kind.name != "c":
        raise UnsupportedError("runtime 'crt', expected 'cpp', or the target 'c': programs run on this machine")
    executable = build_graph(graph, target=chosen.compiled, opt_level=level, schedule_kernels=_schedules_of(chosen))
    return CGraphModule(executable, graph, level) if chosen.kind.name == "c" else GraphExecutorFactoryModule(executable)


def _schedules_of(target: Target) -> Callable[[Module], Module] | None:
    """The schedules of the entered database of `meta_schedule`, where the context has the option
    `relay.backend.use_meta_schedule`; None for default schedules alone."""
    # lazy: the tuner imports this module
    from ..meta_schedule.database import Database, apply_database

    config = PassContext.current().config
    database = Database.current() if config.get("relay.backend.use_meta_schedule") else None
    if database is None or not database.has_schedules_of_users():
        return None
    return lambda mod: apply_database(database, mod, target)


def _target_of_one_device(target: Any) -> Any:
    """The target of the device `relay.fallback_device_type` of the context, by default the processor, for a dictionary
    of the targets of several devices; other targets are themselves. Warns that a graph runs on one device."""
    if not isinstance(target, Mapping) or "kind" in target or len(target) < 2:
        return target
    kind = PassContext.current().config.get("relay.fallback_device_type", 1)
    by_kind: dict[int, Any] = {_device_type(key): value for key, value in target.items()}  # pyright: ignore
    chosen = by_kind.get(kind, next(iter(by_kind.values())))
    warnings.warn(f"the graph runs on one device, with the target {chosen}", UserWarning, stacklevel=3)
    return chosen


def _device_type(key: Any) -> int:
    """The number of a kind of devices in DLPack: of a number, a constant, a device, or the name of one."""
    if isinstance(key, Device | str):
        return (device(key) if isinstance(key, str) else key).device_type
    return int(getattr(key, "value", key))


def optimize(
    mod: Module | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """A graph as `build` rewrites it before fusion, and its constants by name."""
    optimized = run_pipeline(bind_graph(mod, params), OPTIMIZED.passes(Options()))
    constants = {name: array(values, cpu()) for name, values in optimized.constants.items()}
    return IRModule(optimized.op, optimized.constants), constants


def bind_params_by_name(func: Module | Function, params: Mapping[str, Any]) -> Any:
    """A function with parameters replaced by arrays, by name; for a module, a module with those of `main` replaced.
    ArgumentError as for `build`; of a program that is no graph, the types of the arrays are not checked.
    """
    if not isinstance(func, Function):
        mod = bind_graph(func, params)
        return IRModule(mod.op, mod.constants)
    program = IRModule.from_expr(func)
    if program.has_operations:
        bind_graph(program, params)
    named = {name: [each for each in func.params if each.name_hint == name] for name in params}
    for name, found in named.items():
        if len(found) != 1:
            raise ArgumentError(f"{len(found)} parameters {name!r}, expected one")
    return bind(func, {found[0]: const(params[name]) for name, found in named.items()})


def bind_graph(mod: Module | Function, params: Mapping[str, Any] | None) -> Module:
    """A graph with constants for parameters, and without calls of functions to inline. params: as of `build`."""
    graph = module(mod) if isinstance(mod, Function) else mod
    if isinstance(graph, IRModule) and names_with(graph, "Inline"):
        graph = inline_functions(graph)
    bound = _bound_names(graph)
    arrays = {name: plain_array(value) for name, value in (params or {}).items() if name not in bound}
    return bind_parameters(graph, arrays) if arrays else graph


BOUND = "BoundParameters"
"""The attribute of `main` that names the parameters that were replaced by constants."""


def record_bound(mod: IRModule, names: Sequence[str]) -> IRModule:
    """The module, whose `main` names parameters that were replaced by constants; `build` accepts arrays for them."""
    if not names:
        return mod
    result = IRModule(mod.op.clone(), dict(mod.constants))
    result.type_definitions |= mod.type_definitions
    result.add_graphs({"main": mod["main"].with_attr(BOUND, " ".join(names))})
    return result


def _bound_names(mod: Module) -> list[str]:
    main: Any = mod["main"] if isinstance(mod, IRModule) and "main" in names_with(mod, BOUND) else None
    return [] if main is None else str(main.attrs[BOUND]).split()
