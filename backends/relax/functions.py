"""Functions of the virtual machine: the operations of a function of `relax` as Python functions on registers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.diagnostics import where
from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, UnsupportedError
from ...core.sizes import byte_count, check_shape
from ...expressions.sizes import size_function
from ...operators.relax import (
    AllocTensorOp,
    ApplyOp,
    CallableType,
    CallDpsPackedOp,
    CallInplacePackedOp,
    CallOp,
    CallPackedOp,
    CallPurePackedOp,
    CallTirInplaceOp,
    CallTirOp,
    FuncOp,
    FuncRefOp,
    IfOp,
    MatchCastOp,
    PrimValueOp,
    ReturnOp,
    ShapeOfOp,
    ShapeOp,
    StringOp,
    ToVdeviceOp,
    TupleGetOp,
    TupleOp,
    YieldOp,
)
from ...operators.relax.calls import result_types
from ...operators.relax.devices import Devices
from ...operators.relax.types import is_tensor, known_dtype, known_shape, names_bound_by, names_in, number_of
from ...operators.relay import CallOp as GraphCallOp
from ...operators.relay import ConstantOp, Size, dtype_of_tensor, shape_of
from ...operators.relay.types import names_of
from ...transforms.relay.placement import lifetimes, offset_of, planned_bytes
from ..devices.device import Device
from ..devices.timing import host_clock
from ..graph.executable import allocate_array, to_device
from ..runtime.memory import allocate, empty_array
from ..runtime.packed import call_function, get_global_func
from ..runtime.program import Program
from .applications import application
from .memory import Workspaces, argument_of
from .profile import CallProfile, StepTime, shapes_of, step_name
from .values import Mismatch, Sizes, Value, argument_error, describe, type_checker

if TYPE_CHECKING:
    from .machine import VirtualMachine

MOST_UNALIGNED = 4096
"""The size in bytes up to which a result is an array of numpy as it comes: to align it takes longer than its vectors do
that cross cache lines."""
Registers: TypeAlias = list[Value]
Step: TypeAlias = Callable[[Registers, Sizes], None]
"""Executes an operation: reads and writes registers, and may bind sizes."""


_LITERALS = (ConstantOp, FuncRefOp, PrimValueOp, ShapeOp, StringOp)
"""Operations whose values the function has without a call."""


class VMFunction:
    """A function of a virtual machine. Calls convert and check the arguments, and export the result."""

    def __init__(self, machine: VirtualMachine, op: FuncOp):
        self.name = op.sym_name.data
        self.machine = machine
        self.params = [name for name, _ in op.params]
        self.types: list[Attribute] = [value.type for _, value in op.params]
        self._has_functions = any(isinstance(type, CallableType) for type in self.types)
        compiler = _Compiler(machine, op)
        checkers = [type_checker(value.type, compiler.device(value)) for _, value in op.params]
        self._binds, self._checks = [bind for bind, _ in checkers], [check for _, check in checkers]
        self._limits = _Limits(op, {name for type in self.types for name in names_bound_by(type)})
        self._steps, self._result = compiler.steps(op.body.block)
        self._workspaces = [
            (compiler.storages[device], Workspaces(size, device, machine.poisons))
            for device, size in compiler.memory_sizes().items()
        ]
        self._registers = compiler.count
        self._empty = [None] * (compiler.count - len(self.params))
        self._labels = [
            (step_name(each), each.name, compiler.reads(each.results))
            for each in op.body.block.ops
            if not isinstance(each, ReturnOp)
        ]

    def __call__(self, *args: Any) -> Any:
        """The result for arguments: arrays of any library, numbers, shapes, tuples.

        Raises ArgumentError for arguments that do not match the parameters, ExecutionError if a packed function fails,
        LinkError if it is not registered.
        """
        if self._has_functions:
            args = tuple(self.machine.imported_function(each) if callable(each) else each for each in args)
        return self.machine.exported(self.run(args))

    def arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments by position. named: those after `args` by the names of parameters. Raises ArgumentError for
        other names."""
        rest = self.params[len(args) :]
        if named and set(rest) != set(named):
            given, expected = ", ".join(named), ", ".join(rest) or "none"
            raise ArgumentError(f"{self.name}: arguments {given} by name, expected {expected}")
        return (*args, *(named[each] for each in rest if named))

    def run(self, args: Sequence[Value]) -> Value:
        """The result for arguments, in the form of the virtual machine."""
        sizes: Sizes = {}
        registers: Registers = [None] * self._registers
        self._bind(args, registers, sizes)
        return self._run(registers, sizes)

    def run_checked(self, args: Sequence[Value]) -> Value:
        """The result for arguments that are of the types of the parameters, none of which has a named size."""
        return self._run([*args, *self._empty], {})

    def _run(self, registers: Registers, sizes: Sizes) -> Value:
        if not self._workspaces:
            for step in self._steps:
                step(registers, sizes)
        else:
            with self._memory(registers):
                for step in self._steps:
                    step(registers, sizes)
        return registers[self._result]

    @contextmanager
    def _memory(self, registers: Registers) -> Generator[None]:
        """Memory of intermediate results for the steps of a call, on each device."""
        held: list[tuple[Workspaces, Any]] = []
        try:
            for register, workspaces in self._workspaces:
                memory = registers[register] = workspaces.acquire()
                held.append((workspaces, memory))
            yield
        finally:
            for workspaces, memory in held:
                workspaces.release(memory)

    def profile(self, *args: Any) -> CallProfile:
        """A call whose steps are measured one by one, by the clock of the device. Raises the errors of a call."""
        sizes: Sizes = {}
        registers: Registers = [None] * self._registers
        times: list[StepTime] = []
        self._bind(args, registers, sizes)

        def run() -> None:
            for step, (name, operation, results) in zip(self._steps, self._labels, strict=True):
                seconds = self.machine.clock(lambda step=step: step(registers, sizes), 1)
                times.append(StepTime(name, operation, shapes_of([registers[n] for n in results]), seconds))

        with self._memory(registers):
            total = host_clock(run, 1)
        return CallProfile(self.name, tuple(times), total, self.machine.exported(registers[self._result]))

    def _bind(self, args: Sequence[Value], registers: Registers, sizes: Sizes) -> None:
        if len(args) != len(self.params):
            names = ", ".join(self.params)
            raise ArgumentError(f"{self.name}: expected {len(self.params)} arguments ({names}), got {len(args)}")
        index = 0
        try:
            for index, (bind, arg) in enumerate(zip(self._binds, args, strict=True)):
                registers[index] = bind(arg, sizes)
            for index, check in enumerate(self._checks):
                if check is not None:
                    check(registers[index], sizes)
        except Mismatch as error:
            raise self._error(index, error) from None
        self._limits.check(sizes)

    def _error(self, index: int, error: Mismatch) -> ArgumentError:
        if error.size is None:
            return argument_error(f"{self.name}: argument {index} ({self.params[index]})", error)
        name, number = error.size
        first = next(n for n, type in enumerate(self.types) if name in names_bound_by(type))
        known = error.text.partition(" = ")[2].partition(",")[0]
        return ArgumentError(f"{self.name}: {name} = {known} from argument {first}, {number} from argument {index}")

    def __repr__(self) -> str:
        return f"<function {self.name}({', '.join(self.params)}) of a virtual machine>"


class _Limits:
    """The bounds of sizes of a function whose names are known. known: the names."""

    def __init__(self, op: FuncOp, known: set[str], among: set[str] | None = None):
        """among: names of which a bound has at least one; by default all bounds count."""
        self.name = op.sym_name.data
        self.limits = [
            (limit, size_function(limit.size))
            for limit in op.size_limits
            if (names := set(names_of(limit.size))) <= known and (among is None or names & among)
        ]

    def check(self, sizes: Sizes) -> None:
        """Raises ArgumentError for a size that a bound does not admit."""
        for limit, compute in self.limits:
            number = compute(sizes)
            if not limit.admits(number):
                raise ArgumentError(f"{self.name}: size {limit.size} is {number}, expected {limit.requirement}")


class _Compiler:
    """The compilation of one function. registers: the register of each value.  count: the number of registers.
    storages: the register of the memory of planned results on each device.  names: the sizes that are known so far."""

    def __init__(self, machine: VirtualMachine, op: FuncOp):
        self.machine = machine
        self.func = op
        self.placement = Devices.of_function(op)
        self.name = op.sym_name.data
        self.registers: dict[SSAValue, int] = {value: n for n, (_, value) in enumerate(op.params)}
        self.storages = {device: n for n, device in enumerate(dict.fromkeys(machine.devices), len(self.registers))}
        self.count = len(self.registers) + len(self.storages)
        self.names = {name for _, value in op.params for name in names_bound_by(value.type)}

    def steps(self, block: Block) -> tuple[list[Step], int]:
        """The steps of a block, and the register of its result."""
        steps: list[Step] = []
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp):
                return steps, self.registers[op.value]
            if type(op) not in _COMPILERS:
                raise UnsupportedError(f"{where(op)}{op.name} in function {self.name}, expected calls and values")
            step = self._releasing(op, _COMPILERS[type(op)](self, op))
            steps.append(self._poisoned(op, step) if self.machine.poisons else step)
        raise UnsupportedError(f"function {self.name} without a return")

    def branch(self, block: Block) -> tuple[list[Step], int]:
        """The steps of a branch, whose sizes are unknown after it, and the register of its result."""
        names = set(self.names)
        result = self.steps(block)
        self.names = names
        return result

    def _releasing(self, op: Operation, step: Step) -> Step:
        """A step that releases the values that it reads last."""
        dead = self.reads(self._last_operands.get(op, []))
        if not dead:
            return step

        def run(registers: Registers, sizes: Sizes) -> None:
            step(registers, sizes)
            for register in dead:
                registers[register] = None

        return run

    @cached_property
    def _last_operands(self) -> dict[Operation, list[SSAValue]]:
        """The values in memory of their own that an operation of the function, and not its terminator, reads last."""
        block, reads = self.func.body.block, dict[Operation, list[SSAValue]]()
        ops = list(block.ops)
        results = [result for op in ops if not isinstance(op, _LITERALS) for result in op.results]
        for value, first, last in lifetimes(block, [each for each in results if offset_of(each) is None]):
            if first < last < len(ops) - 1:
                reads.setdefault(ops[last], []).append(value)
        return reads

    def _poisoned(self, op: Operation, step: Step) -> Step:
        """A step that overwrites the memory of its results before, and the memory of operands that it reads last."""
        before = [self._place(result) for result in op.results]
        after = self._last_reads.get(op, [])

        def run(registers: Registers, sizes: Sizes) -> None:
            for storage, offset, size in filter(None, before):
                registers[storage].poison(offset, size)
            step(registers, sizes)
            for storage, offset, size in after:
                registers[storage].poison(offset, size)

        return run

    @cached_property
    def _last_reads(self) -> dict[Operation, list[tuple[int, int, int]]]:
        """The places of the planned results that an operation of the function reads last."""
        block, reads = self.func.body.block, dict[Operation, list[tuple[int, int, int]]]()
        ops = list(block.ops)
        results: list[SSAValue] = [result for op in ops for result in op.results]
        places = {result: place for result in results if (place := self._place(result))}
        for value, _, last in lifetimes(block, places):
            reads.setdefault(ops[last], []).append(places[value])
        return reads

    def memory_sizes(self) -> dict[Device, int]:
        """The bytes that the planned results need on each device that has some."""
        sizes: dict[Device, int] = {}
        for op in self.func.body.block.ops:
            for result in op.results:
                if place := self._place(result):
                    device = self.device(result)
                    sizes[device] = max(sizes.get(device, 0), place[1] + place[2])
        return sizes

    def _place(self, value: SSAValue) -> tuple[int, int, int] | None:
        """The register of the memory, the offset and the bytes of a planned result."""
        offset = offset_of(value)
        if offset is None:
            return None
        size = planned_bytes(value, self.func.size_bounds)
        assert size is not None
        return self.storages[self.device(value)], offset, size

    def device(self, value: SSAValue) -> Device:
        """The device of a value."""
        return self.machine.named(self.placement.of(value))

    def program(self, value: SSAValue) -> Program:
        """The native code that computes a value."""
        return self.machine.executable.program_for(self.device(value))

    def define(self, value: SSAValue) -> int:
        """A new register for a value."""
        self.registers[value] = self.count
        self.count += 1
        return self.registers[value]

    def reads(self, values: Sequence[SSAValue]) -> list[int]:
        """The registers of operands."""
        return [self.registers[value] for value in values]

    def allocator(
        self, type: Attribute, what: str, device: Device, offset: int | None = None
    ) -> Callable[[Registers, Sizes], Value]:
        """The function that allocates a tensor on a device, or takes it from the memory of the function at an offset.
        The function raises ArgumentError or SizeError for a negative extent."""
        dtype, name, shape = dtype_of_tensor(type), f"{self.name}: {what}", _shape_function(shape_of(type))
        if offset is not None:
            storage = self.storages[device]
            if not names_in(type):
                return lambda registers, sizes: registers[storage].tensor(offset, shape(sizes), dtype)
            element = numpy_dtype(dtype).itemsize

            def place(registers: Registers, sizes: Sizes) -> Value:
                extents = shape(sizes)
                check_shape(extents, element, name)
                return registers[storage].tensor(offset, extents, dtype)

            return place
        if device.kind == "cpu":
            kind = numpy_dtype(dtype)
            if not names_in(type):
                known = shape({})
                size = byte_count(known, kind.itemsize)
                if size <= MOST_UNALIGNED:
                    return lambda _, __: np.empty(known, kind)
                return lambda _, __: allocate(known, kind, size, name)
            return lambda _, sizes: empty_array(shape(sizes), kind, name)
        return lambda _, sizes: allocate_array(shape(sizes), dtype, device, name)


def _shape_function(shape: Sequence[Size]) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    if all(isinstance(size, int) for size in shape):
        known = cast("tuple[int, ...]", tuple(shape))
        return lambda _: known
    extents = [_size(size) for size in shape]
    return lambda sizes: tuple(extent(sizes) for extent in extents)


def _size(size: Size) -> Callable[[Mapping[str, int]], int]:
    return (lambda _, number=size: number) if isinstance(size, int) else size_function(size)


def _reader(numbers: Sequence[int]) -> Callable[[Registers], tuple[Value, ...]]:
    """The function that reads some registers."""
    match numbers:
        case []:
            return lambda _: ()
        case [number]:
            return lambda registers: (registers[number],)
        case _:
            return itemgetter(*numbers)


# Native code


def _graph(compiler: _Compiler, op: GraphCallOp) -> Step:
    """A call of a graph: its arguments, constants, results, workspace and sizes."""
    machine, name = compiler.machine, op.callee.string_value()
    description = machine.executable.graphs[name]
    device = compiler.device(op.outputs[0])
    function = machine.executable.program_for(device)[name]
    read = _reader(compiler.reads(op.args))
    constants = [machine.constant(spec.name, device) for spec in description.constants]
    allocators = [
        compiler.allocator(output.type, f"result {n}", device, offset_of(output)) for n, output in enumerate(op.outputs)
    ]
    outputs = [compiler.define(output) for output in op.outputs]
    numbers = description.numbers
    acquire, release = machine.workspaces[device].acquire, machine.workspaces[device].release
    needs_workspace = description.workspace

    if len(outputs) == 1 and not numbers and not needs_workspace:
        (allocate,), (output,) = allocators, outputs

        def run_alone(registers: Registers, sizes: Sizes) -> None:
            result = allocate(registers, sizes)
            function(*read(registers), *constants, result)
            registers[output] = result

        return run_alone

    def run(registers: Registers, sizes: Sizes) -> None:
        results = [allocate(registers, sizes) for allocate in allocators]
        extra = [sizes[each] for each in numbers] if numbers else ()
        if needs_workspace:
            memory = acquire()
            try:
                function(*read(registers), *constants, *results, memory.part(needs_workspace), *extra)
            finally:
                release(memory)
        else:
            function(*read(registers), *constants, *results, *extra)
        for n, result in zip(outputs, results, strict=True):
            registers[n] = result

    return run


def _kernel(compiler: _Compiler, op: CallTirOp) -> Step:
    """A call of a kernel with tensors of which the types are known at run time only; native code checks them."""
    function = compiler.program(op.output)[op.callee.string_value()]
    numbers = [_size(_parse(text)) for text in op.size_texts]
    return _destination(compiler, op, lambda args, sizes: function(*args, *[n(sizes) for n in numbers]))


def _parse(text: str) -> Size:
    return int(text) if text.isdigit() else text


def _destination(
    compiler: _Compiler,
    op: CallTirOp | CallDpsPackedOp,
    call: Callable[[list[Value], Sizes], object],
) -> Step:
    """A call in destination-passing style."""
    read = _reader(compiler.reads(op.args))
    types = result_types(op.output.type)
    offset = offset_of(op.output)
    device = compiler.device(op.output)
    allocators = [compiler.allocator(type, f"result of {op.name}", device, offset) for type in types]
    is_tuple, output = op.output.type is not types[0], compiler.define(op.output)

    def run(registers: Registers, sizes: Sizes) -> None:
        results = [allocate(registers, sizes) for allocate in allocators]
        call([*read(registers), *results], sizes)
        registers[output] = tuple(results) if is_tuple else results[0]

    return run


def _kernel_in_place(compiler: _Compiler, op: CallTirInplaceOp) -> Step:
    """A call of a kernel that overwrites arguments."""
    function, read = compiler.program(op.output)[op.callee.string_value()], _reader(compiler.reads(op.args))
    numbers = [_size(_parse(text)) for text in op.size_texts]
    device = compiler.device(op.output)
    allocators = [compiler.allocator(type, f"result of {op.name}", device) for type in op.new_types]
    positions, output, is_tuple = op.positions, compiler.define(op.output), isinstance(op.output.type, TupleType)

    def run(registers: Registers, sizes: Sizes) -> None:
        args, new = read(registers), [allocate(registers, sizes) for allocate in allocators]
        function(*args, *new, *[n(sizes) for n in numbers])
        rest = iter(new)
        results = tuple(next(rest) if n == -1 else args[n] for n in positions)
        registers[output] = results if is_tuple else results[0]

    return run


# Packed functions


def _dps_packed(compiler: _Compiler, op: CallDpsPackedOp) -> Step:
    name = op.func_name.data
    return _destination(
        compiler,
        op,
        lambda args, _: call_function(name, get_global_func(name), args),
    )


def _packed(compiler: _Compiler, op: CallPackedOp | CallPurePackedOp | CallInplacePackedOp) -> Step:
    name, read = op.func_name.data, _reader(compiler.reads(op.args))
    return _checked_result(compiler, op, lambda registers: call_function(name, get_global_func(name), read(registers)))


def _apply(compiler: _Compiler, op: ApplyOp) -> Step:
    """A word on operands whose types are known at run time only."""
    read, place = _reader(compiler.reads(op.args)), f"{where(op)}{compiler.name}: R.{op.word.data}"
    call = application(op, compiler.device(op.output), place)
    return _checked_result(compiler, op, lambda registers: call(read(registers)))


def _checked_result(
    compiler: _Compiler,
    op: ApplyOp | CallPackedOp | CallPurePackedOp | CallInplacePackedOp,
    call: Callable[[Registers], Value],
) -> Step:
    """The step that checks the result of a packed function, or of a word. Functions for their effect may return None
    where nothing reads the result."""
    is_read = next(iter(op.output.uses), None) is not None
    bind, check = type_checker(op.output.type, compiler.device(op.output))
    what = f"R.{op.word.data}" if isinstance(op, ApplyOp) else f"packed function {op.func_name.data!r}"
    output, place = compiler.define(op.output), f"{compiler.name}: result of {what}"

    def run(registers: Registers, sizes: Sizes) -> None:
        result = call(registers)
        if result is None and not is_read:
            registers[output] = None
            return
        try:
            registers[output] = bind(result, sizes)
            if check is not None:
                check(registers[output], sizes)
        except Mismatch as error:
            raise argument_error(place, error) from None

    return run


# Functions and branches


def _call(compiler: _Compiler, op: CallOp) -> Step:
    machine, name = compiler.machine, op.callee.string_value()
    read, output = _reader(compiler.reads(op.args)), compiler.define(op.output)
    types = [value.type for _, value in machine.executable.functions[name].params]
    if types == [arg.type for arg in op.args] and all(map(_is_certain, types)):

        def run_checked(registers: Registers, _: Sizes) -> None:
            registers[output] = machine.functions[name].run_checked(read(registers))

        return run_checked

    def run(registers: Registers, _: Sizes) -> None:
        registers[output] = machine.functions[name].run(read(registers))

    return run


def _is_certain(type: Attribute) -> bool:
    """Whether a value of a type in the machine is one of the type in all calls: a tensor of numbers as sizes."""
    return is_tensor(type) and known_dtype(type) is not None and known_shape(type) is not None and not names_in(type)


def _branch(compiler: _Compiler, op: IfOp) -> Step:
    condition = compiler.registers[op.condition]
    then, orelse = (compiler.branch(region.block) for region in (op.then, op.orelse))
    output, is_host = compiler.define(op.output), compiler.device(op.condition).kind == "cpu"

    def run(registers: Registers, sizes: Sizes) -> None:
        flag = registers[condition]
        steps, result = then if (flag if is_host else flag.numpy()) else orelse
        own = dict(sizes)
        for step in steps:
            step(registers, own)
        registers[output] = registers[result]

    return run


# Values


def _tuple(compiler: _Compiler, op: TupleOp) -> Step:
    inputs, output = compiler.reads(op.values), compiler.define(op.output)

    def run(registers: Registers, _: Sizes) -> None:
        registers[output] = tuple(registers[n] for n in inputs)

    return run


def _tuple_get(compiler: _Compiler, op: TupleGetOp) -> Step:
    value, index, output = compiler.registers[op.value], op.index.value.data, compiler.define(op.output)

    def run(registers: Registers, _: Sizes) -> None:
        registers[output] = registers[value][index]

    return run


def _alloc_tensor(compiler: _Compiler, op: AllocTensorOp) -> Step:
    allocate = compiler.allocator(op.output.type, f"result of {op.name}", compiler.device(op.output))
    output = compiler.define(op.output)

    def run(registers: Registers, sizes: Sizes) -> None:
        registers[output] = allocate(registers, sizes)

    return run


def _set(compiler: _Compiler, op: Operation, compute: Callable[[Sizes], Value]) -> Step:
    output = compiler.define(op.results[0])

    def run(registers: Registers, sizes: Sizes) -> None:
        registers[output] = compute(sizes)

    return run


def _shape(compiler: _Compiler, op: ShapeOp) -> Step:
    return _set(compiler, op, _shape_function(known_shape(op.output.type) or ()))


def _prim_value(compiler: _Compiler, op: PrimValueOp) -> Step:
    value = number_of(op.output.type)  # pyright: ignore[reportArgumentType]
    return _set(compiler, op, size_function(value) if isinstance(value, str) else lambda _: value)


def _string(compiler: _Compiler, op: StringOp) -> Step:
    return _set(compiler, op, lambda _: op.text.data)


def _func_ref(compiler: _Compiler, op: FuncRefOp) -> Step:
    machine, name = compiler.machine, op.callee.string_value()

    def function(*args: Value) -> Value:
        return machine.functions[name].run(args)

    return _set(compiler, op, lambda _: function)


def _constant(compiler: _Compiler, op: ConstantOp) -> Step:
    array = compiler.machine.array_of(op, compiler.device(op.result))
    return _set(compiler, op, lambda _: array)


def _to_device(compiler: _Compiler, op: ToVdeviceOp) -> Step:
    value, output, device = compiler.registers[op.value], compiler.define(op.output), compiler.device(op.output)

    def run(registers: Registers, _: Sizes) -> None:
        array = registers[value]
        copy = array.copy() if isinstance(array, np.ndarray) else array.numpy()
        registers[output] = argument_of(to_device(copy, device))

    return run


def _shape_of(compiler: _Compiler, op: ShapeOfOp) -> Step:
    value, output = compiler.registers[op.value], compiler.define(op.output)

    def run(registers: Registers, _: Sizes) -> None:
        registers[output] = tuple(map(int, registers[value].shape))

    return run


def _match_cast(compiler: _Compiler, op: MatchCastOp) -> Step:
    value, (bind, check) = compiler.registers[op.value], type_checker(op.output.type, compiler.device(op.output))
    output, place = compiler.define(op.output), f"{where(op)}{compiler.name}: match_cast to {describe(op.output.type)}"
    bound = set(names_bound_by(op.output.type))
    compiler.names |= bound
    limits = _Limits(compiler.func, compiler.names, bound)

    def run(registers: Registers, sizes: Sizes) -> None:
        try:
            registers[output] = bind(registers[value], sizes)
            if check is not None:
                check(registers[output], sizes)
        except Mismatch as error:
            raise argument_error(place, error) from None
        limits.check(sizes)

    return run


_COMPILERS: dict[type[Operation], Callable[[_Compiler, Any], Step]] = {
    AllocTensorOp: _alloc_tensor,
    ApplyOp: _apply,
    CallDpsPackedOp: _dps_packed,
    CallInplacePackedOp: _packed,
    CallOp: _call,
    CallPackedOp: _packed,
    CallPurePackedOp: _packed,
    CallTirInplaceOp: _kernel_in_place,
    CallTirOp: _kernel,
    ConstantOp: _constant,
    FuncRefOp: _func_ref,
    GraphCallOp: _graph,
    IfOp: _branch,
    MatchCastOp: _match_cast,
    PrimValueOp: _prim_value,
    ShapeOfOp: _shape_of,
    ShapeOp: _shape,
    StringOp: _string,
    ToVdeviceOp: _to_device,
    TupleGetOp: _tuple_get,
    TupleOp: _tuple,
}
