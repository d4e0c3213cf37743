"""Devices of values: moves between devices, hints, and the device of each value of a function.

Types do not name devices. A value is on the device of its operands; `relax.to_vdevice` moves it. The attribute
`relax.devices` of a module lists the devices, of which the first is that of all other values; `relax.memory_scopes`
lists the memory of each, such as `global.texture`, unless it is `global` for all. A memory scope of a device is a
device of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ...core.errors import ArgumentError
from ...dialects.tir.base import TirOp, require, string_array
from ..relay import ConstantOp
from ..relay.effects import UNPLACED, ComputesTensors
from .control import DataflowOp, IfOp, OutputOp
from .functions import CallOp, FuncOp, ReturnOp, YieldOp
from .types import is_tensor
from .values import PrimValueOp, ShapeOfOp, ShapeOp, StringOp, TupleGetOp, TupleOp

DEVICES = "relax.devices"
"""The attribute of a module with the targets of its devices: `["llvm", "cuda"]`."""
SCOPES = "relax.memory_scopes"
"""The attribute of a module with the memory scopes of its devices: `["global", "global.texture"]`."""
GLOBAL = "global"
"""The memory scope that names of devices leave out."""
PARAM_DEVICES = "param_devices"
"""The attribute of a function with the devices of parameters, by their names."""
_WITHOUT_DEVICE = (PrimValueOp, ShapeOfOp, ShapeOp, StringOp)
"""Operations whose results are values of the machine, without a device."""


def device_names(module: Operation | None) -> list[str]:
    """The names of the devices of a module: the kind of the target, the number among those of the kind and of the
    memory scope, and this scope unless it is `global`."""
    targets = [] if module is None else targets_in(module.attributes.get(DEVICES))
    kinds = [text.partition(" ")[0] for text in targets]
    kept = list(zip(kinds, memory_scopes(module), strict=True))
    return [_name(kind, kept[:n].count((kind, scope)), scope) for n, (kind, scope) in enumerate(kept)]


def _name(kind: str, number: int, scope: str) -> str:
    return f"{kind}:{number}" if scope == GLOBAL else f"{kind}:{number}:{scope}"


def memory_scopes(module: Operation | None) -> list[str]:
    """The memory scopes of the devices of a module."""
    attributes = {} if module is None else module.attributes
    count, stated = len(targets_in(attributes.get(DEVICES))), targets_in(attributes.get(SCOPES))
    return [*stated, *[GLOBAL] * count][:count]


def state_devices(module: Operation, targets: Iterable[str], scopes: Iterable[str]) -> None:
    """States the devices of a module: the targets, and the memory scopes."""
    known = list(scopes)
    module.attributes[DEVICES] = string_array(targets)
    module.attributes.pop(SCOPES, None)
    if any(scope != GLOBAL for scope in known):
        module.attributes[SCOPES] = string_array(known)


def targets_in(attribute: Attribute | Iterable[Attribute] | None) -> list[str]:
    """The texts of an array of texts."""
    items = attribute.data if isinstance(attribute, ArrayAttr) else ()
    return [each.data for each in items if isinstance(each, StringAttr)]


def param_devices(func: FuncOp) -> dict[str, str]:
    """The devices of the parameters of a function that are stated, by the names of the parameters."""
    stated = None if func.func_attrs is None else func.func_attrs.data.get(PARAM_DEVICES)
    items = stated.data if isinstance(stated, DictionaryAttr) else {}
    return {name: each.data for name, each in items.items() if isinstance(each, StringAttr)}


class _DeviceExists(SymbolUserOpInterface):
    def verify(self, op: Operation) -> None:
        assert isinstance(op, _Placement)
        name, module = op.device.data, op.get_toplevel_object()
        known = device_names(module if isinstance(module, Operation) else None)
        require(name in known, f"(C1) device {name!r}, expected one of the module: {', '.join(known) or 'none'}")


class _Placement(TirOp):
    """Base class of operations that state the device of a value."""

    value = operand_def(Attribute)
    device = prop_def(StringAttr)
    output = result_def(Attribute)

    assembly_format = "$value `on` $device attr-dict-with-keyword `:` type($value) `->` type($output)"

    def __init__(self, value: SSAValue, device: str):
        super().__init__(operands=[value], properties={"device": StringAttr(device)}, result_types=[value.type])

    def verify_(self) -> None:
        require(self.value.type == self.output.type, f"(C2) result of type {self.output.type} for {self.value.type}")
        require(is_tensor(self.value.type), f"(C2) value of type {self.value.type}, expected a tensor")


@irdl_op_definition
class ToVdeviceOp(_Placement):
    """Copies a tensor to a device of the module.

    Constraints
        (C1) the module has the device.
        (C2) the value is a tensor, and the result has its type.

    Example
        %1 = relax.to_vdevice %0 on "cuda:0" : tensor<8xf32> -> tensor<8xf32>

    Source: `R.to_vdevice(x, "cuda:0")`
    """

    name = "relax.to_vdevice"

    traits = traits_def(_DeviceExists(), ComputesTensors())


@irdl_op_definition
class HintOnDeviceOp(_Placement):
    """States the device on which a tensor is wanted: `relax-realize-devices` copies it there if it is not.

    Constraints
        (C1), (C2) as of relax.to_vdevice.

    Example
        %1 = relax.hint_on_device %0 on "cuda:0" : tensor<8xf32> -> tensor<8xf32>

    Source: `R.hint_on_device(x, tvm.cuda(0))`
    """

    name = "relax.hint_on_device"

    traits = traits_def(_DeviceExists(), ComputesTensors())


# Devices of values


@dataclass
class Devices:
    """The devices of the values of a function of a module with devices. names: those of the module.  around: the
    functions under analysis, whose results are on the first device."""

    func: FuncOp
    names: list[str]
    around: tuple[FuncOp, ...] = ()
    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _known: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    @staticmethod
    def of_function(func: FuncOp, around: tuple[FuncOp, ...] = ()) -> Devices:
        """The devices of all values of a function, whose parameters are on the first device unless they or hints state
        another one. around: the functions under analysis. Raises VerifyException for an operation on several
        devices."""
        devices = Devices.of_parameters(func)
        devices.around = (*around, func)
        if len(devices.names) > 1:
            ops = list(func.walk())
            if not any(isinstance(op, HintOnDeviceOp) for op in ops):
                for _, value in func.params:
                    if devices.known(value) is None:
                        devices.set(value, devices.names[0])
            for op in ops:
                devices.visit(op)
        return devices

    @staticmethod
    def of_parameters(func: FuncOp) -> Devices:
        """The devices of the parameters of a function that are stated."""
        devices, stated = Devices(func, device_names(func.parent_op())), param_devices(func)
        for name, value in func.params:
            if name in stated:
                devices.set(value, stated[name])
        return devices

    def of(self, value: SSAValue) -> str | None:
        """The device of a value: the first of the module if nothing states another; None without devices."""
        if len(self.names) < 2:
            return self.names[0] if self.names else None
        return self.known(value) or self.names[0]

    def known(self, value: SSAValue) -> str | None:
        """The device of a value that a parameter or a move states, None if there is none."""
        return self._known.get(self._root(value))

    def same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two values are on one device, whichever it is."""
        return self._root(value) is self._root(other)

    def visit(self, op: Operation) -> None:
        """Follows an operation. Raises VerifyException for values on several devices."""
        match op:
            case _Placement():
                self.set(op.output, op.device.data)
            case TupleOp() | ReturnOp() | FuncOp():
                pass
            case TupleGetOp() if isinstance(op.value.owner, TupleOp):
                self._join(op, [op.output, op.value.owner.values[op.index.value.data]])
            case DataflowOp() if isinstance(last := op.body.block.last_op, OutputOp):
                for output, value in zip(op.outputs, last.values, strict=True):
                    self._join(op, [output, value])
            case IfOp():
                lasts = [region.block.last_op for region in op.regions]
                self._join(op, [op.output, *(last.value for last in lasts if isinstance(last, YieldOp))])
            case CallOp() if (callee := op.function) is not None:
                stated = param_devices(callee)
                for (name, _), value in zip(callee.params, op.args, strict=False):
                    if is_tensor(value.type):
                        self.set(value, stated.get(name, self.names[0]))
                self._set_result(op, callee)
            case OutputOp() | YieldOp():
                pass
            case _ if isinstance(op, _WITHOUT_DEVICE):
                pass
            case _:
                self._join(op, [*filter(_has_device, (*op.operands, *op.results))])

    def _set_result(self, op: CallOp, callee: FuncOp) -> None:
        """States the device of the result of a function that is not under analysis."""
        last = callee.body.block.last_op
        if is_tensor(op.output.type) and isinstance(last, ReturnOp) and callee not in self.around:
            device = Devices.of_function(callee, self.around).of(last.value)
            assert device is not None
            self.set(op.output, device)

    def _root(self, value: SSAValue) -> SSAValue:
        while value in self._parents:
            value = self._parents[value]
        return value

    def set(self, value: SSAValue, name: str) -> None:
        """States the device of a value. Raises VerifyException if it is on another one."""
        root = self._root(value)
        if self._known.setdefault(root, name) != name:
            raise _disagreement(value, self._known[root], name)

    def _join(self, op: Operation, values: list[SSAValue]) -> None:
        first: SSAValue | None = None
        for value in values:
            root = self._root(value)
            if first is None:
                first = root
            elif root is not first:
                mine, other = self._known.get(first), self._known.get(root)
                if mine is not None and other is not None and mine != other:
                    text = f"{op.name}: values on {mine} and {other}, expected one device (R.to_vdevice)"
                    raise VerifyException(text)
                self._parents[root] = first
                if other is not None:
                    self._known[first] = other


def _has_device(value: SSAValue) -> bool:
    return not isinstance(value.owner, (*_WITHOUT_DEVICE, ConstantOp, TupleOp))


def _is_unplaced(value: SSAValue) -> bool:
    """Whether a value of a program for several devices is computed from values without a device."""
    op = value.owner
    if isinstance(op, Block | _Placement) or any(map(_has_device, op.operands)):
        return False
    while op is not None and not isinstance(op, FuncOp):
        op = op.parent_op()
    return op is not None and len(device_names(op.parent_op())) > 1


UNPLACED.append(_is_unplaced)


def _disagreement(value: SSAValue, known: str, name: str) -> VerifyException:
    owner = value.owner
    place = "a parameter" if isinstance(owner, Block) else f"a result of {owner.name}"
    return VerifyException(f"{place} on {known}, expected it on {name} (R.to_vdevice)")


def replace_device(module: ModuleOp, index: int, target: str, scope: str = GLOBAL) -> None:
    """Replaces the target and the memory scope of a device of a module, and the names of devices that change.
    ArgumentError for a position that the module does not have."""
    before, targets = device_names(module), targets_in(module.attributes.get(DEVICES))
    if not 0 <= index < len(targets):
        raise ArgumentError(f"device {index}, expected one of the {len(targets)} devices of the module")
    scopes = memory_scopes(module)
    targets[index], scopes[index] = target, scope
    state_devices(module, targets, scopes)
    names = dict(zip(before, device_names(module), strict=True))
    for op in module.walk():
        if isinstance(op, _Placement):
            op.device = StringAttr(names[op.device.data])
        elif isinstance(op, FuncOp) and (stated := param_devices(op)):
            assert op.func_attrs is not None
            renamed: dict[str, Attribute] = {name: StringAttr(names[device]) for name, device in stated.items()}
            op.func_attrs = DictionaryAttr({**op.func_attrs.data, PARAM_DEVICES: DictionaryAttr(renamed)})
