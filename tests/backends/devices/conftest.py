"""Fixtures of devices, and of programs for them."""

from collections.abc import Callable
from typing import Any

import pytest

import stepwell
from stepwell import Device, PluginError, Schedule, parse_tvmscript
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.runtime import Program


def _skip_without(device: Device) -> None:
    if device.kind == "cuda_emulated" and compiler() is None:
        pytest.skip("needs g++ and binutils")
    if device.kind == "cuda":
        try:
            _ = device.driver
        except (stepwell.DeviceError, PluginError) as error:
            pytest.skip(str(error))


@pytest.fixture(params=["cuda_emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    """Each kind of device that runs kernels."""
    found = Device(request.param)
    _skip_without(found)
    return found


@pytest.fixture
def build_on(device: Device) -> Callable[..., Program]:
    """`build_on(text)`: builds TVMScript for the device; the first loop of each block is split into thread blocks and
    threads."""

    def build(text: str, threads: int = 4) -> Program:
        return stepwell.build(_bound(text, threads), target=_TARGETS[device.kind])

    return build


_TARGETS = {"cuda": "cuda", "cuda_emulated": "cuda-emulated"}


def _bound(text: str, threads: int) -> Any:
    sch = Schedule(parse_tvmscript(text))
    for name in sorted({line.split('"')[1] for line in text.splitlines() if "T.block(" in line}):
        outer, inner = sch.split(sch.get_loops(sch.get_block(name))[0], [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch.mod
