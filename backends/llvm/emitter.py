"""Translation of upstream MLIR to LLVM IR text, in one walk, by a table of lowerings per operation class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from ...core.diagnostics import did_you_mean
from ...core.errors import UnsupportedError
from ..runtime.code import signature_table
from ..runtime.python_calls import TABLE
from ..runtime.signature import Failure, FunctionSignature, PackedSignature
from . import arith, calls, control, math, python_calls, vector
from . import gpu as launches
from . import memref as buffers
from .function import Lowering, Lowerings, global_symbol, lowering_unsupported
from .linking import DISPATCHER
from .polls import POLL_WORK
from .remarks import name_of_stack_buffer
from .signatures import function_signature, packed_signature
from .types import dense_bytes, element_size, escape
from .units import Definition, ModuleText
from .work import Work, is_short
from .workspace import emit_discard

LOWERINGS: Lowerings = {
    **arith.LOWERINGS,
    **math.LOWERINGS,
    **buffers.LOWERINGS,
    **vector.LOWERINGS,
    **control.LOWERINGS,
    **calls.LOWERINGS,
    **launches.LOWERINGS,
}
"""The lowering of every supported operation."""

_FOOTER = '!0 = !{!"branch_weights", i32 2000, i32 1}\n!1 = !{i32 1}\n!2 = !{!"branch_weights", i32 1, i32 2000}\n'


@dataclass(frozen=True)
class EmittedModule:
    """LLVM IR text with the metadata of its callers.

    `functions`: the callable functions, as `entry.NAME(ptr slots) -> i32 status`. `failures`: status k > 0 means
    `failures[k - 1]`; a negative status, an exception in a packed function. `packed`: the packed functions, which
    native code calls by index. `externals`: the required C symbols. `stack`: the stack buffers of static size, by their
    numbers (`remarks.py`).
    """

    parts: ModuleText
    functions: tuple[FunctionSignature, ...]
    failures: tuple[Failure, ...]
    packed: tuple[PackedSignature, ...]
    externals: tuple[str, ...]
    stack: tuple[memref.AllocaOp, ...]

    @property
    def text(self) -> str:
        """LLVM IR of the module."""
        return self.parts.whole()


@dataclass(frozen=True)
class DeviceRequirements:
    """The requirements of the kernels that a module launches. signature: adds them to the signature of a host function.
    facts: the device and the kernels, whose `repr` contains all facts that launches rely on.
    """

    signature: Callable[[FunctionSignature], FunctionSignature] = lambda signature: signature
    facts: Sequence[object] = ()


NO_KERNELS = DeviceRequirements()


def emit_module(
    module: ModuleOp,
    *,
    native_half: bool = False,
    requirements: DeviceRequirements = NO_KERNELS,
    callables: bool = True,
) -> EmittedModule:
    """LLVM IR for a module in the upstream subset. `native_half`: the target has instructions to convert between f16
    and f32. `callables`: emit functions that Python calls directly (`python_calls.py`), besides the entry points.

    Raises UnsupportedError for operations that cannot be compiled.
    """
    return _ModuleEmitter(module, native_half).emit(requirements, callables)


class _ModuleEmitter:
    """The module under construction; implements `LlvmModule`."""

    def __init__(self, module: ModuleOp, native_half: bool) -> None:
        self.native_half = native_half
        self._module = module
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._declared: dict[str, tuple[str, str]] = {}
        self._external: list[str] = []
        self._helpers: dict[str, str] = {}
        self._variables: dict[str, Definition] = {}
        self._failures: dict[Failure, int] = {}
        self._packed: dict[str, int] = {}
        self._stack: list[memref.AllocaOp] = []
        self.work = Work(self.function, POLL_WORK)

    def emit(self, requirements: DeviceRequirements, callables: bool) -> EmittedModule:
        variables: list[Definition] = []
        bodies: list[Definition] = []
        public: list[func.FuncOp] = []
        for op in self._module.ops:
            match op:
                case memref.GlobalOp():
                    variables.append(_emit_global(op))
                case func.FuncOp() if not op.is_declaration:
                    name = global_symbol(calls.function_name(op.sym_name.data))
                    bodies.append(Definition.of_function(name, calls.emit_function(self, op)))
                    if op.sym_visibility is None or op.sym_visibility.data == "public":
                        public.append(op)
                case func.FuncOp() | gpu.ModuleOp():
                    pass  # declared at its calls; kernels belong to the device
                case _:
                    raise lowering_unsupported(op, "no LLVM lowering at the top of a module")
        functions = tuple(
            replace(requirements.signature(function_signature(op, self.function)), short=is_short(op, self.function))
            for op in public
        )
        if callables:
            functions = tuple(replace(each, direct=python_calls.is_direct(each)) for each in functions)
        exports = [calls.emit_entry(self, op) for op in public]
        exports += [
            python_calls.emit_callable(self, op, signature)
            for op, signature in zip(public, functions, strict=True)
            if signature.direct
        ]
        exports.append(emit_discard(self))
        declared = [f"declare {signature} {attributes}".rstrip() for signature, attributes in self._declared.values()]
        declared += [f"{global_symbol(name)} = external global i8" for name in self._external]
        packed = tuple(packed_signature(self._functions[name]) for name in self._packed)
        failures, externals = tuple(self._failures), self._externals()
        exports.append(_emit_table(signature_table(functions, failures, packed, externals, requirements.facts)))
        variables += self._variables.values()
        parts = ModuleText(declared, self._helpers, variables, bodies, exports, _FOOTER)
        return EmittedModule(parts, functions, failures, packed, externals, tuple(self._stack))

    def _externals(self) -> tuple[str, ...]:
        """The C symbols that the module requires."""
        functions = [name for name in self._declared if not name.startswith("llvm.")]
        return (*functions, *(name for name in self._external if name not in (TABLE, DISPATCHER)))

    def declare(self, name: str, result: str, parameters: Sequence[str], attributes: str = "") -> str:
        full = global_symbol(name)
        signature = f"{result} {full}({', '.join(parameters)})"
        known, _ = self._declared.setdefault(name, (signature, attributes))
        if known != signature:
            raise UnsupportedError(f"external symbol {name!r} is used with two types, {known} and {signature}")
        return full

    def external(self, name: str) -> str:
        if name not in self._external:
            self._external.append(name)
        return global_symbol(name)

    def helper(self, name: str, text: Callable[[], str]) -> str:
        full = global_symbol(name)
        if full not in self._helpers:
            self._helpers[full] = text()
        return full

    def variable(self, name: str, type: str, value: str) -> str:
        full = global_symbol(name)
        self._variables.setdefault(name, Definition.of_variable(full, "global", type, value))
        return full

    def has_variable(self, name: str) -> bool:
        return name in self._variables

    def failure(self, failure: Failure) -> int:
        return self._failures.setdefault(failure, len(self._failures) + 1)

    def function(self, name: str) -> func.FuncOp:
        if name not in self._functions:
            raise UnsupportedError(f"no function called {name!r} in the module{did_you_mean(name, self._functions)}")
        return self._functions[name]

    def packed_number(self, declaration: func.FuncOp) -> int:
        return self._packed.setdefault(declaration.sym_name.data, len(self._packed))

    def stack_name(self, op: memref.AllocaOp) -> str:
        self._stack.append(op)
        return name_of_stack_buffer(len(self._stack) - 1, op)

    def lowering(self, op: Operation) -> Lowering:
        lowering = LOWERINGS.get(type(op))
        if lowering is None:
            raise lowering_unsupported(op, "no LLVM lowering")
        return lowering


def _emit_table(table: bytes) -> str:
    return f'@"stepwell.signatures" = constant [{len(table)} x i8] c"{escape(table)}"'


def _emit_global(op: memref.GlobalOp) -> Definition:
    name = global_symbol(buffers.global_name(op.sym_name.data))
    count = 1
    for extent in op.type.get_shape():
        if extent < 0:
            raise lowering_unsupported(op, f"a global needs a static shape, got {op.type}")
        count *= extent
    size = count * element_size(op.type.element_type)
    value = (
        "zeroinitializer"
        if isinstance(op.initial_value, UnitAttr)
        else (f'c"{escape(dense_bytes(op.initial_value, op.type))}"')
    )
    alignment = max(64, op.alignment.value.data if op.alignment is not None else 1)
    kind = "constant" if op.constant is not None else "global"
    return Definition.of_variable(name, kind, f"[{size} x i8]", value, f", align {alignment}")
