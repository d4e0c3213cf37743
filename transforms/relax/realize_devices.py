"""The pass `relax-realize-devices`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...operators.relax import FuncOp, HintOnDeviceOp, ToVdeviceOp
from ...operators.relax.devices import PARAM_DEVICES, Devices, device_names
from ..relay.graphs import replace
from .functions import insert_before, relax_functions


class RelaxRealizeDevicesPass(ModulePass):
    """Replaces hints by copies between devices, where a value is on another device than the hint states.

    A value on no stated device, and the parameters from which it is computed, are placed on the device of their first
    hint. Copies to the device of the value are removed. An operation on several devices is an error.

    Before
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relax.hint_on_device %x on "cuda:0" : tensor<8xf32> -> tensor<8xf32>
          %1 = relay.exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
          %2 = relax.hint_on_device %1 on "llvm:0" : tensor<8xf32> -> tensor<8xf32>
          relax.return %2 : tensor<8xf32>
        }

    After
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> attrs {param_devices = {x = "cuda:0"}} {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relax.to_vdevice %0 on "llvm:0" : tensor<8xf32> -> tensor<8xf32>
          relax.return %1 : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: hints.
    """

    name = "relax-realize-devices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op) if device_names(op) else ():
            _realize(func)


def _realize(func: FuncOp) -> None:
    devices = Devices.of_parameters(func)
    for op in list(func.walk()):
        if isinstance(op, HintOnDeviceOp | ToVdeviceOp):
            device, at = op.device.data, devices.known(op.value)
            is_input = any(devices.same(op.value, param) for _, param in func.params)
            if isinstance(op, HintOnDeviceOp) and at is None and is_input:
                devices.set(op.value, device)
                at = device
            if at == device:
                replace(op, [op.value])
                continue
            if isinstance(op, HintOnDeviceOp):
                copy = ToVdeviceOp(op.value, device)
                insert_before(op, copy)
                replace(op, [copy.output])
                op = copy
        try:
            devices.visit(op)
        except VerifyException as error:
            raise UnsupportedError(f"{where(op)}{error}") from None
    stated: dict[str, Attribute] = {
        name: StringAttr(device)
        for name, value in func.params
        if (device := devices.known(value)) not in (None, devices.names[0])
    }
    attrs = {} if func.func_attrs is None else dict(func.func_attrs.data)
    attrs.pop(PARAM_DEVICES, None)
    if stated:
        attrs[PARAM_DEVICES] = DictionaryAttr(stated)
    func.func_attrs = DictionaryAttr(attrs) if attrs else None
