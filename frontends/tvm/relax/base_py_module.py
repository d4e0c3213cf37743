"""Modules whose functions are Python's, kernels and programs: `tvm.relax.base_py_module`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr

from ....backends.runtime import packed
from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError, StepwellError
from ....expressions.sizes import evaluate_size
from ....operators import relax
from ....operators.relax import CallPurePackedOp
from ....operators.relax.kernels import signature_of
from ...tvmscript.decorators import read_class
from ...tvmscript.relax.words import PY_FUNC_PREFIX
from ..absent import report_absent
from ..devices import cpu
from ..ir.module import IRModule, PrimFunc
from ..nd import Device, HostArray, NDArray, from_dlpack
from ..nd import array as make_array
from ..script import IS_PYTHON
from ..target.target import TargetLike
from .struct_info import StructInfo

__getattr__ = report_absent("tvm.relax.base_py_module")

_INSTANCES = itertools.count()


class BasePyModule:
    """A module whose methods are Python functions (`@I.pyfunc`), kernels (`@T.prim_func`) and programs (`@R.function`).

    The decorator `@I.ir_module` of a subclass reads its functions; an instance compiles them, and calls kernels and
    programs as methods. Tensors of PyTorch are arguments and results without copies; without PyTorch, results are
    arrays of `tvm.nd`.
    """

    ir_mod: IRModule
    pyfuncs: Mapping[str, Callable[..., Any]]

    def __init__(self, ir_mod: IRModule | None = None, device: Device | None = None, target: TargetLike | None = None):
        """ir_mod: the kernels and programs, by default those of the class.  device: of the arrays, by default the
        processor.  target: of the compilation, by default that of the device. Raises the errors of the compilation."""
        given = ir_mod if ir_mod is not None else getattr(type(self), "ir_mod", IRModule())
        self.ir_mod = IRModule(given.op.clone(), dict(given.constants))
        self.device = device or cpu()
        self.target = target or ("llvm" if self.device.kind == "cpu" else "cuda")
        self.pyfuncs = {
            name: MethodType(function, self) for name, function in getattr(type(self), "pyfuncs", {}).items()
        }
        self._prefix = f"{PY_FUNC_PREFIX}{next(_INSTANCES)}."
        self._kernels: dict[str, Any] = {}
        self._machine: Any = None
        self._link()
        self._compile()

    @classmethod
    def define_module(cls) -> type[BasePyModule]:
        """The class with the functions of its source as `ir_mod`. Raises `ParseError` at the user's line."""
        own = {name: each for name, each in vars(cls).items() if isinstance(each, FunctionType)}
        python = {name: each for name, each in own.items() if getattr(each, IS_PYTHON, False)}
        hidden = {name for name in own if name in python or name.startswith("__")}
        mod = read_class(cls, hidden)
        for name in own.keys() - hidden:
            delattr(cls, name)
        cls.ir_mod, cls.pyfuncs = IRModule(mod.op, mod.constants), python
        return cls

    def _link(self) -> None:
        """Registers the Python functions under names of this instance, which its programs call."""
        for name, function in self.pyfuncs.items():
            self._register(name, function)
        for op in self.ir_mod.op.walk():
            if isinstance(op, CallPurePackedOp) and op.func_name.data.startswith(PY_FUNC_PREFIX):
                name = op.func_name.data.removeprefix(PY_FUNC_PREFIX)
                if name not in self.pyfuncs:
                    raise ArgumentError(f"call_py_func: no Python function {name!r} (has: {', '.join(self.pyfuncs)})")
                op.func_name = StringAttr(self._prefix + name)

    def _register(self, name: str, function: Callable[..., Any]) -> None:
        packed.register_func(self._prefix + name, self._on_tensors(function), override=True)

    def _on_tensors(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            arrays = (HostArray(arg) if isinstance(arg, np.ndarray) else arg for arg in args)
            return self._convert_pytorch_to_tvm(function(*map(self._convert_tvm_to_pytorch, arrays)))

        return call

    def _compile(self) -> None:
        # lazy: compilation imports this package
        from .. import driver
        from . import VirtualMachine, build

        for name, func in self.ir_mod.items():
            if isinstance(func, PrimFunc):
                kernel = func.with_attr("global_symbol", name)
                self._kernels[name] = driver.build(IRModule({name: kernel}), target=self.target)[name]
        if any(isinstance(op, relax.FuncOp) for op in self.ir_mod.function_ops.values()):
            self._machine = VirtualMachine(build(self.ir_mod, self.target), self.device)

    # Functions

    def __getattr__(self, name: str) -> Any:
        """A kernel or a program as a function of tensors."""
        functions = self.__dict__.get("ir_mod", {})
        if name.startswith("_") or name not in functions:
            raise AttributeError(f"{type(self).__name__} has no function {name!r}")
        if name in self._kernels:
            return _Kernel(name, self._kernels[name])
        return lambda *args: self._convert_tvm_to_pytorch(self._machine[name](*self._convert_pytorch_to_tvm(args)))

    def get_function(self, name: str) -> Any:
        """A function by name, None for an unknown one."""
        return getattr(self, name, None)

    def list_functions(self) -> dict[str, list[str]]:
        """The names of the functions by kind."""
        programs = [name for name, op in self.ir_mod.function_ops.items() if isinstance(op, relax.FuncOp)]
        return {"tir": list(self._kernels), "relax": programs, "extern": list(self.pyfuncs)}

    def add_python_function(self, name: str, func: Callable[..., Any]) -> None:
        """Adds a Python function."""
        self.pyfuncs = {**self.pyfuncs, name: func}
        self._register(name, func)

    # Calls

    def call_tir(
        self, tir_func: Any, args: Any, out_sinfo: StructInfo | Sequence[StructInfo], tir_args: Sequence[int] = ()
    ) -> Any:
        """The results of a kernel, by its name or as an attribute of the module.

        out_sinfo: the types of the results; sizes follow from the arguments.  tir_args: numbers after the tensors.
        """
        name = tir_func if isinstance(tir_func, str) else tir_func.name
        if name not in self._kernels:
            raise ArgumentError(f"call_tir: no kernel {name!r} (has: {', '.join(self._kernels)})")
        inputs = self._convert_pytorch_to_tvm(_as_list(args))
        outputs = self._outputs(_sizes_of_results(self.ir_mod, name, inputs), out_sinfo)
        self._kernels[name](*inputs, *outputs, *tir_args)
        return self._result(outputs)

    def call_dps_packed(self, func_name: str, args: Any, out_sinfo: StructInfo | Sequence[StructInfo]) -> Any:
        """The results of a packed function in destination-passing style. out_sinfo: the types of the results, with
        known sizes."""
        inputs = self._convert_pytorch_to_tvm(_as_list(args))
        outputs = self._outputs([], out_sinfo)
        arguments = [each.layout if isinstance(each, HostArray) else each for each in (*inputs, *outputs)]
        packed.get_global_func(func_name)(*arguments)
        return self._result(outputs)

    def call_py_func(self, func_name: str, args: Any) -> Any:
        """The result of a Python function of the module."""
        if func_name not in self.pyfuncs:
            raise ArgumentError(f"call_py_func: no Python function {func_name!r} (has: {', '.join(self.pyfuncs)})")
        return self.pyfuncs[func_name](*map(self._convert_tvm_to_pytorch, _as_list(args)))

    def _outputs(
        self, sizes: Sequence[Sequence[int | None]], infos: StructInfo | Sequence[StructInfo]
    ) -> list[NDArray]:
        """New arrays of some types. sizes: of each, where its type has names of sizes."""
        several = [infos] if isinstance(infos, StructInfo) else list(infos)
        return [
            make_array(np.zeros(_shape(info, known), numpy_dtype(info.dtype or "float32")), self.device)
            for info, known in zip_longest(several, sizes, fillvalue=())
            if isinstance(info, StructInfo)
        ]

    def _result(self, outputs: Sequence[NDArray]) -> Any:
        results = [self._convert_tvm_to_pytorch(each) for each in outputs]
        return results[0] if len(results) == 1 else results

    def _convert_pytorch_to_tvm(self, tensors: Any) -> Any:
        """Tensors of PyTorch as arrays without copies, also those in lists; other values stay."""
        if isinstance(tensors, list | tuple):
            return [self._convert_pytorch_to_tvm(each) for each in tensors]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(tensors, np.ndarray):
            return make_array(tensors, self.device)
        if isinstance(tensors, NDArray) or not hasattr(tensors, "__dlpack__"):
            return tensors
        return from_dlpack(tensors.detach().contiguous() if hasattr(tensors, "detach") else tensors)

    def _convert_tvm_to_pytorch(self, arrays: Any) -> Any:
        """Arrays as tensors of PyTorch without copies, also those in lists; other values stay."""
        if isinstance(arrays, list | tuple):
            return [self._convert_tvm_to_pytorch(each) for each in arrays]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(arrays, NDArray) or not _has_torch():
            return arrays
        return import_module("torch").from_dlpack(arrays)

    # Text

    def script(self) -> str:
        """The kernels and programs as TVMScript, and the names of the Python functions."""
        python = "".join(f"\n# Python function: {name}" for name in self.pyfuncs)
        return f"{self.ir_mod.script()}{python}"

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Prints `script`. style, black_format, options: as of `IRModule.show`."""
        print(self.script())


class _Kernel:
    """A kernel of a module. A call takes inputs and outputs, as does the compiled function."""

    def __init__(self, name: str, function: Any):
        self.name = name
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


@cache
def _has_torch() -> bool:
    return find_spec("torch") is not None


def _as_list(args: Any) -> list[Any]:
    return list(args) if isinstance(args, list | tuple) else [args]  # pyright: ignore[reportUnknownArgumentType]


def _shape(info: StructInfo, sizes: Sequence[int | None]) -> list[int]:
    """The shape of an array of a type. sizes: where the type has names of sizes."""
    shape: list[int] = []
    for axis, size in enumerate(info.shape or ()):
        number = size if isinstance(size, int) else sizes[axis] if axis < len(sizes) else None
        if number is None:
            raise ArgumentError(f"size {size} of dimension {axis} of a result, expected a number")
        shape.append(number)
    return shape


def _sizes_of_results(mod: IRModule, name: str, inputs: Sequence[Any]) -> list[list[int | None]]:
    """The sizes of the results of a kernel for its arguments, whose sizes determine those of its parameters; None for
    a size that is no expression of names."""
    shapes = [each.shape for each in signature_of(mod.function_ops[name]) or () if each.shape is not None]
    sizes: dict[str, int] = {}
    for shape, array in zip(shapes, inputs, strict=False):
        known = {each: int(number) for each, number in zip(shape, array.shape, strict=False) if isinstance(each, str)}
        sizes |= {each: number for each, number in known.items() if each.isidentifier()}
    return [[_known_size(each, sizes) for each in shape] for shape in shapes[len(inputs) :]]


def _known_size(size: int | str | None, sizes: Mapping[str, int]) -> int | None:
    try:
        return size if not isinstance(size, str) else evaluate_size(size, sizes)
    except (KeyError, StepwellError):
        return None


__all__ = ["BasePyModule"]
