"""Marks of values: `tvm.relay.annotation`."""

from __future__ import annotations

from ...relay import annotation
from ...relay.annotation import *  # noqa: F403
from ...relay.annotation import DEVICE_COPY, ON_DEVICE
from ...relay.expr import Call, Expr
from ..devices import Device
from ..devices import device as find_device
from ..target.virtual_device import VirtualDevice

__all__ = ["on_device"]
__all__ += annotation.__all__


def _virtual(device: str | Device | VirtualDevice) -> VirtualDevice:
    if isinstance(device, VirtualDevice):
        return device
    return VirtualDevice(find_device(device) if isinstance(device, str) else device)


def on_device(
    body: Expr,
    device: str | Device | VirtualDevice | None = None,
    constrain_result: bool = False,
    constrain_body: bool = True,
) -> Call:
    """A value on a device. Graphs are compiled for one device, so the mark changes nothing.

    constrain_result: whether the users of the value are on the device, too.  constrain_body: whether the value is.
    OptionError for the name of no device.
    """
    where = VirtualDevice() if device is None or not constrain_body else _virtual(device)
    attributes = {"virtual_device": where, "constrain_result": constrain_result, "constrain_body": constrain_body}
    return Call(ON_DEVICE, [body], attributes)


def device_copy(data: Expr, src_device: str | Device | VirtualDevice, dst_device: str | Device | VirtualDevice) -> Call:
    """A value on another device. Graphs are compiled for one device, so the mark changes nothing. OptionError for the
    name of no device."""
    attributes = {"src_virtual_device": _virtual(src_device), "dst_virtual_device": _virtual(dst_device)}
    return Call(DEVICE_COPY, [data], attributes)
