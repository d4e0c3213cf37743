"""Fixtures of programs for devices."""

from collections.abc import Callable
from typing import Any

import pytest

import stepwell
from stepwell import Schedule, parse_tvmscript
from stepwell.backends.runtime import Program


@pytest.fixture
def build_on(target: str) -> Callable[..., Program]:
    """`build_on(text)`: builds TVMScript for the device; the first loop of each block is split into thread blocks and
    threads."""

    def build(text: str, threads: int = 4) -> Program:
        return stepwell.build(_bound(text, threads), target=target)

    return build


def _bound(text: str, threads: int) -> Any:
    sch = Schedule(parse_tvmscript(text))
    for name in sorted({line.split('"')[1] for line in text.splitlines() if "T.block(" in line}):
        outer, inner = sch.split(sch.get_loops(sch.get_block(name))[0], [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch.mod
