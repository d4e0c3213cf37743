"""Translation of upstream MLIR to LLVM IR text, in one walk, by a table of lowerings per operation class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from ...core.diagnostics import did_you_mean
from ...core.errors import UnsupportedError
from ...transforms.pipelines import Part
from ..runtime.code import signature_table
from ..runtime.python_calls import is_direct
from ..runtime.signature import Failure, FunctionSignature, PackedSignature
from . import arith, calls, control, intrinsics, math, vector
from . import gpu as launches
from . import memref as buffers
from .debug import DebugInfo
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
    **intrinsics.LOWERINGS,
    **buffers.LOWERINGS,
    **vector.LOWERINGS,
    **control.LOWERINGS,
    **calls.LOWERINGS,
    **launches.LOWERINGS,
}
"""The lowering of every supported operation."""

_FOOTER = """\
!0 = !{!"branch_weights", i32 2000, i32 1}
!1 = !{i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
!3 = distinct !{!3, !4, !5}
!4 = !{!"llvm.loop.unroll.disable"}
!5 = !{!"llvm.loop.align", i32 32}
"""


PART_NUMBERS = 1 << 20
"""The number of failures, and of packed functions, that a part of a program may have."""


@dataclass(frozen=True)
class Facts:
    """The facts about a program, or a part of it, that other code relies on.

    functions: the callable functions, as `entry.NAME(ptr slots) -> i32 status`.  failures: the meanings of positive
    statuses; a negative status is an exception in a packed function.  packed: the packed functions, which native code
    calls by number.  symbols: the C functions, by name with the text of their declarations.  external: the C variables.
    variables: those of the program, which its parts share.  expected, shared: the declarations of the functions that
    the part calls in other parts, and of those that other parts may call, by their symbols.
    """

    functions: tuple[FunctionSignature, ...]
    failures: Mapping[int, Failure]
    packed: Mapping[int, PackedSignature]
    symbols: Mapping[str, str]
    external: tuple[str, ...]
    variables: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    expected: Mapping[str, str] = field(default_factory=dict[str, str])
    shared: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def externals(self) -> tuple[str, ...]:
        """The C symbols that the program requires."""
        functions = [name for name in self.symbols if not name.startswith("llvm.")]
        return (*functions, *(name for name in self.external if name != DISPATCHER))

    def table(self, device: Sequence[object]) -> bytes:
        """The signature table. device: the facts about a device and its kernels."""
        return signature_table(self.functions, self.failures, self.packed, self.externals, device)


@dataclass(frozen=True)
class EmittedModule:
    """LLVM IR text with the facts that its callers rely on. stack: the stack buffers of static size, by their numbers
    (`remarks.py`)."""

    parts: ModuleText
    facts: Facts
    stack: tuple[memref.AllocaOp, ...]

    @property
    def text(self) -> str:
        """LLVM IR of the module."""
        return self.parts.whole()

    @property
    def functions(self) -> tuple[FunctionSignature, ...]:
        """The callable functions."""
        return self.facts.functions


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
    instructions: frozenset[str] = frozenset(),
    requirements: DeviceRequirements = NO_KERNELS,
    callables: bool = True,
    debug: bool = False,
) -> EmittedModule:
    """LLVM IR for a module in the upstream subset. `instructions`: the features of the processor, by LLVM's names.
    `callables`: whether Python calls the functions, not only an executor. `debug`: with debug information.

    Raises UnsupportedError for operations that cannot be compiled.
    """
    emitter = _ModuleEmitter(module, instructions, debug=debug)
    emitter.add_functions(requirements, callables)
    facts = emitter.facts()
    emitter.add_interface(facts, requirements.facts)
    return EmittedModule(emitter.text(), facts, emitter.stack)


def emit_part(part: Part, *, instructions: frozenset[str], callables: bool, debug: bool) -> EmittedModule:
    """LLVM IR for a part in the upstream subset, without the interface of the program. Other arguments and errors: as
    of `emit_module`."""
    emitter = _ModuleEmitter(part.module.op, instructions, part, debug=debug)
    emitter.add_functions(NO_KERNELS, callables)
    return EmittedModule(emitter.text(), emitter.facts(), emitter.stack)


def emit_interface(parts: Sequence[Facts], order: Sequence[str]) -> EmittedModule:
    """LLVM IR for the interface of a program: what its parts share, and the signature table.

    order: the names of functions in the order of the program. Raises UnsupportedError if parts use a C function with
    different types.
    """
    facts = _join(parts, order)
    emitter = _ModuleEmitter(ModuleOp([]), frozenset())
    emitter.add_variables(facts.variables)
    emitter.add_interface(facts, ())
    text = replace(emitter.text(), shared={each.name for each in facts.variables.values()})
    return EmittedModule(text, facts, ())


def _join(parts: Sequence[Facts], order: Sequence[str]) -> Facts:
    """The facts about the program of parts. order, errors: as of `emit_interface`."""
    symbols: dict[str, str] = {}
    for part in parts:
        for name, signature in part.symbols.items():
            _require_same_type(name, symbols.setdefault(name, signature), signature)
    shared = {name: text for part in parts for name, text in part.shared.items()}
    for part in parts:
        for name, text in part.expected.items():
            assert shared[name] == text, f"{shared[name]} is declared as {text}"
    position = {name: n for n, name in enumerate(order)}
    return Facts(
        tuple(sorted((each for part in parts for each in part.functions), key=lambda each: position[each.name])),
        {number: each for part in parts for number, each in part.failures.items()},
        {number: each for part in parts for number, each in part.packed.items()},
        symbols,
        tuple(dict.fromkeys(name for part in parts for name in part.external)),
        {name: each for part in parts for name, each in part.variables.items()},
    )


def _require_same_type(name: str, known: str, signature: str) -> None:
    if known != signature:
        raise UnsupportedError(f"external symbol {name!r} is used with two types, {known} and {signature}")


class _ModuleEmitter:
    """The module under construction; implements `LlvmModule`."""

    def __init__(
        self, module: ModuleOp, instructions: frozenset[str], part: Part | None = None, *, debug: bool = False
    ) -> None:
        """instructions: the features of the processor.  part: of the program; None for all of it.  debug: whether the
        module has debug information."""
        self.instructions = instructions
        self.debug = DebugInfo(_FOOTER.count("\n")) if debug else None
        self._module = module
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._declared: dict[str, tuple[str, str]] = {}
        self._external: list[str] = []
        self._helpers: dict[str, str] = {}
        self._globals: list[Definition] = []
        self._bodies: list[Definition] = []
        self._exports: list[str] = []
        self._signatures: tuple[FunctionSignature, ...] = ()
        self._variables: dict[str, Definition] = {}
        self._failures: dict[Failure, int] = {}
        self._packed: dict[str, int] = {}
        self._stack: list[memref.AllocaOp] = []
        self._elsewhere: dict[str, str] = {}
        self._part = part
        self._first_number = 0 if part is None else part.number * PART_NUMBERS
        self.work = Work(self.function, POLL_WORK)

    def add_functions(self, requirements: DeviceRequirements, callables: bool) -> None:
        """Adds the functions and globals of the module, and the code by which Python calls its public functions."""
        public: list[func.FuncOp] = []
        for op in self._module.ops:
            match op:
                case memref.GlobalOp():
                    self._globals.append(_emit_global(op))
                case func.FuncOp() if not op.is_declaration:
                    self._bodies.append(
                        Definition.of_function(_symbol(op.sym_name.data), calls.emit_function(self, op))
                    )
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
            functions = tuple(replace(each, direct=is_direct(each)) for each in functions)
        self._exports += [calls.emit_entry(self, op) for op in public]
        self._signatures = functions

    def add_variables(self, variables: Mapping[str, Definition]) -> None:
        """Adds variables of the program."""
        self._variables.update(variables)

    def add_interface(self, facts: Facts, device: Sequence[object]) -> None:
        """Adds the definitions that a program has once. facts: about the program.  device: as of `Facts.table`."""
        self._exports += [emit_discard(self), _emit_table(facts.table(device))]

    def facts(self) -> Facts:
        """The facts about the functions of the module."""
        return Facts(
            self._signatures,
            {number: failure for failure, number in self._failures.items()},
            {number: packed_signature(self._functions[name]) for name, number in self._packed.items()},
            {name: signature for name, (signature, _) in self._declared.items()},
            tuple(self._external),
            self._variables,
            self._elsewhere,
            self._shared(),
        )

    def _shared(self) -> dict[str, str]:
        """The declarations of the functions that other parts of the program call, by their symbols."""
        names = [] if self._part is None else sorted(self._part.shared & self._functions.keys())
        own = (self._functions[name] for name in names)
        return {_symbol(op.sym_name.data): calls.declaration_of(self, op) for op in own if not op.is_declaration}

    @property
    def stack(self) -> tuple[memref.AllocaOp, ...]:
        """The stack buffers, by their numbers."""
        return tuple(self._stack)

    def text(self) -> ModuleText:
        """The text of the module. The variables of a program are defined outside of its parts."""
        declared = [f"declare {signature} {attributes}".rstrip() for signature, attributes in self._declared.values()]
        declared += [f"{global_symbol(name)} = external global i8" for name in self._external]
        variables, outside = [*self._globals], {**self._elsewhere}
        if self._part is None:
            variables += self._variables.values()
        else:
            outside |= {each.name: each.declaration for each in self._variables.values()}
        return ModuleText(
            declared,
            self._helpers,
            variables,
            self._bodies,
            self._exports,
            self._footer(),
            outside,
            self._shared().keys(),
        )

    def _footer(self) -> str:
        return _FOOTER if self.debug is None else _FOOTER + self.debug.footer()

    def declare(self, name: str, result: str, parameters: Sequence[str], attributes: str = "") -> str:
        full = global_symbol(name)
        signature = f"{result} {full}({', '.join(parameters)})"
        known, _ = self._declared.setdefault(name, (signature, attributes))
        _require_same_type(name, known, signature)
        return full

    def elsewhere(self, declaration: func.FuncOp) -> None:
        symbol = _symbol(declaration.sym_name.data)
        if symbol not in self._elsewhere:
            self._elsewhere[symbol] = calls.declaration_of(self, declaration)

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
        return self._failures.setdefault(failure, self._number(self._failures) + 1)

    def function(self, name: str) -> func.FuncOp:
        if name not in self._functions:
            raise UnsupportedError(f"no function called {name!r} in the module{did_you_mean(name, self._functions)}")
        return self._functions[name]

    def packed_number(self, declaration: func.FuncOp) -> int:
        return self._packed.setdefault(declaration.sym_name.data, self._number(self._packed))

    def _number(self, known: Collection[object]) -> int:
        """The number of a new failure or packed function. known: those before, in this part."""
        if len(known) >= PART_NUMBERS - 1:
            raise UnsupportedError(f"a part of a program with {len(known)} assertions, expected fewer")
        return self._first_number + len(known)

    def stack_name(self, op: memref.AllocaOp) -> str:
        self._stack.append(op)
        return name_of_stack_buffer(len(self._stack) - 1, op)

    def lowering(self, op: Operation) -> Lowering:
        lowering = LOWERINGS.get(type(op))
        if lowering is None:
            raise lowering_unsupported(op, "no LLVM lowering")
        return lowering


def _symbol(name: str) -> str:
    """The symbol of a function of the module."""
    return global_symbol(calls.function_name(name))


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
