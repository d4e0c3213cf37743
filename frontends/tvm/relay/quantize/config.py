"""The configuration of the quantization of graphs: `qconfig`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from .....core.diagnostics import did_you_mean
from .....core.errors import OptionError

CHOICES: dict[str, tuple[Any, ...]] = {
    "nbit_activation": (32,),
    "dtype_input": ("int8",),
    "dtype_weight": ("int8",),
    "dtype_activation": ("int32",),
    "calibrate_mode": ("global_scale", "kl_divergence", "percentile"),
    "weight_scale": ("power2", "max"),
    "round_for_shift": (True,),
    "rounding": ("UPWARD", "TONEAREST"),
    "partition_conversions": ("disabled",),
}
"""The values of options that have few."""


@dataclass(frozen=True)
class QConfig:
    """How `quantize` makes operators on integers: a context, `with qconfig(global_scale=4.0): ...`.

    nbit_input, nbit_weight: the bits of the integers, 2 to 8.  calibrate_mode: how the range of the data of a product
    is found, `global_scale` for one range of all.  weight_scale: whether the range of a weight is its greatest number,
    or the power of two from it on.  skip_conv_layers: the convolutions that stay, by their place in the order of
    computation; None for none.  skip_dense_layer: whether products of matrices stay.  do_simulation: whether operators
    stay on floats, with rounded operands.  debug_enabled_ops: the names of the operators that are quantized, None for
    all.  rounding: of sums to the integers of the next operator.  calibrate_chunk_by: the number of operands whose
    numbers are in memory at once during calibration, -1 for all.
    OptionError for other values.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_conv_layers: Sequence[int] | None = (0,)
    skip_dense_layer: bool = True
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    _entered: ClassVar[list[QConfig]] = []

    def __post_init__(self) -> None:
        for name, values in CHOICES.items():
            _require(name, getattr(self, name), getattr(self, name) in values, " or ".join(map(repr, values)))
        for name in ("nbit_input", "nbit_weight"):
            _require(name, bits := getattr(self, name), bits in range(2, 9), "2 to 8 bits")
        _require("global_scale", self.global_scale, self.global_scale > 0, "a positive number")
        chunk = self.calibrate_chunk_by
        _require("calibrate_chunk_by", chunk, chunk == -1 or chunk > 0, "a positive number, or -1 for all operands")

    def enables(self, name: str) -> bool:
        """Whether operators of a name may be quantized."""
        if name == "nn.dense" and self.skip_dense_layer:
            return False
        return self.debug_enabled_ops is None or name in self.debug_enabled_ops

    def __enter__(self) -> Self:
        self._entered.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered.pop()


def _require(name: str, value: object, is_valid: bool, expected: str) -> None:
    if not is_valid:
        raise OptionError(f"qconfig: {name} {value!r}, expected {expected}")


def qconfig(**options: Any) -> QConfig:
    """A configuration with options other than the default ones. OptionError for an unknown option, and for an unknown
    value."""
    known = [field.name for field in fields(QConfig)]
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise OptionError(f"qconfig: option {name!r}{hint}, expected one of {', '.join(known)}")
    return QConfig(**options)


def current_qconfig() -> QConfig:
    """The configuration of the innermost context, the default one outside of contexts."""
    return QConfig._entered[-1] if QConfig._entered else QConfig()  # pyright: ignore[reportPrivateUsage]
