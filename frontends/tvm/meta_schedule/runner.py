"""Measurements of kernels: `tvm.meta_schedule.runner`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype, parse_dtype
from ....core.errors import UnsupportedError
from ....expressions.expr import IntImm
from ....module import Module
from .. import driver
from ..absent import report_absent
from ..devices import device
from ..ir.module import PrimFunc
from ..nd import NDArray, array
from ..nodes.expr import Buffer
from ..target.target import Target

__getattr__ = report_absent("tvm.meta_schedule.runner")


@dataclass(frozen=True)
class EvaluatorConfig:
    """The numbers of a measurement, as of `time_evaluator`. enable_cpu_cache_flush: ignored."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 20
    enable_cpu_cache_flush: bool = False


@dataclass(frozen=True)
class LocalRunner:
    """Measures kernels on this machine, in this process."""

    timeout_sec: float = 30.0
    evaluator_config: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    cooldown_sec: float = 0.0

    def seconds(self, mod: Module, target: Target) -> list[float]:
        """The seconds of each repetition of a kernel, on random arrays. UnsupportedError for a parameter of unknown
        size; DeviceError without the device of the target."""
        (func,) = (each for each in mod.items() if isinstance(each[1], PrimFunc))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
        dev = device(target.kind.name)
        rng = np.random.default_rng(0)
        arrays = [_random(each, rng, dev) for each in func[1].params]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
        built = driver.build(mod, target=target)
        config = self.evaluator_config
        evaluator = built.time_evaluator(
            built.entry_name, dev, config.number, config.repeat, min_repeat_ms=config.min_repeat_ms
        )
        return list(evaluator(*arrays).results)


def _random(param: Any, rng: np.random.Generator, dev: Any) -> NDArray:
    if not isinstance(param, Buffer):
        raise UnsupportedError(f"tuning: parameter {param}, expected buffers of known sizes")
    shape = [size.value for size in param.shape if isinstance(size, IntImm)]
    if len(shape) < len(param.shape):
        raise UnsupportedError(f"tuning: parameter {param.name} of unknown size")
    if parse_dtype(param.dtype).is_float:
        return array(rng.standard_normal(shape).astype(numpy_dtype(param.dtype)), dev)
    return array(rng.integers(0, 2, shape).astype(numpy_dtype(param.dtype)), dev)


__all__ = ["EvaluatorConfig", "LocalRunner"]
