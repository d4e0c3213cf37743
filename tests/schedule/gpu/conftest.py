"""Fixtures that run programs with default schedules on the emulated GPU, and compare them with the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.schedule.gpu import schedule_gpu
from stepwell.schedule.rules.results import DefaultSchedules


def scheduled_and_run(module: Any, *arguments: Any) -> DefaultSchedules:
    schedules = schedule_gpu(module)
    schedules.mod.verify()
    ours, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    (name,) = schedules.mod.functions
    build(module, target="cuda-emulated")[name](*ours)
    build(module, target="python")[name](*expected)
    for a, b in zip(ours, expected, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return schedules


@pytest.fixture(scope="session")
def run() -> Callable[..., DefaultSchedules]:
    """Schedules a module, and compares the results of its function on the emulated GPU with the oracle's."""
    return scheduled_and_run


@pytest.fixture(scope="session")
def rules() -> Callable[[DefaultSchedules], dict[str, str]]:
    """The rule applied to each block, by name."""
    return lambda schedules: {each.block: each.rule for each in schedules.applied}
