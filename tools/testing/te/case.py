"""Cases of the corpus of tensor expressions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Build: TypeAlias = Callable[[Any], list[Any]]


class FixedSizes:
    """A view of a namespace in which `var` and `size_var` return the numbers of `sizes`."""

    def __init__(self, te: Any, sizes: Mapping[str, float]) -> None:
        self._te = te
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        if name in ("var", "size_var"):
            return lambda symbol, dtype="int32": self._sizes[symbol]
        return getattr(self._te, name)


@dataclass(frozen=True)
class TensorCase:
    """Tensors built with the functions of a namespace `te`, TVM's or Stepwell's, and their numpy reference."""

    name: str
    build: Build
    """Maps the namespace to the arguments of `create_prim_func`: inputs, then outputs, unless `outputs` differs."""
    reference: Callable[..., Array | Sequence[Array]]
    """Maps the inputs, in order, to the output or the outputs, in order."""
    sizes: Mapping[str, float] = field(default_factory=dict[str, float])
    """A number for each symbol. Any other numbers from 2 on are valid too, unless the case is `fixed`."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """The minimum and the maximum of an input, by name; by default the range of `draw`."""
    outputs: tuple[int, ...] = (-1,)
    """The positions of the outputs among the arguments."""
    rtol: float = 1e-5
    """The tolerance of floats, relative to the largest value; integers are exact."""
    index_dtype: str | None = None
    """The `index_dtype_override` of `create_prim_func`."""
    fixed: bool = False
    """Whether the sizes are part of the case, or depend on each other."""
    runs: bool = True
    """Whether the case can be run; False if the tensors are too large to allocate."""
    tvm_refuses: str = ""
    """The reason why TVM 0.27 raises an error instead of building a function."""
    tvm_differs: str = ""
    """The reason why the function built by TVM 0.27 differs from the reference, which is correct."""
    tvm_fails: str = ""
    """The reason why the function built by TVM 0.27, though correct, cannot be compiled or called."""

    def arguments_of_sizes(self, te: Any) -> list[Any]:
        """The arguments with numbers for symbols, symbolic arguments included."""
        return self.build(FixedSizes(te, self.sizes))

    def inputs(self, te: Any, seed: int = 0) -> list[Any]:
        """Random inputs, in order: arrays, and numbers for symbols."""
        choose = np.random.default_rng(seed)
        tensors = self.arguments_of_sizes(te)
        outputs = {position % len(tensors) for position in self.outputs}
        return [self._value(tensor, choose) for position, tensor in enumerate(tensors) if position not in outputs]

    def _value(self, tensor: Any, choose: np.random.Generator) -> Any:
        if isinstance(tensor, int | float):
            return tensor
        shape = tuple(int(size) for size in tensor.shape)
        return random_values(shape, str(tensor.dtype), self.ranges.get(str(tensor.name)), choose)

    def reference_outputs(self, inputs: Sequence[Any]) -> list[Array]:
        """The reference outputs for inputs, in order."""
        with np.errstate(all="ignore"):
            outputs = self.reference(*inputs)
        return (
            [np.asarray(outputs)]
            if isinstance(outputs, np.ndarray | np.generic)
            else [np.asarray(each) for each in outputs]
        )

    def arguments(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The inputs and outputs in the order of the arguments."""
        count = len(inputs) + len(outputs)
        by_position = {position % count: output for position, output in zip(self.outputs, outputs, strict=True)}
        rest = iter(inputs)
        return [by_position[position] if position in by_position else next(rest) for position in range(count)]

    def differs(self, got: Array, expected: Array) -> bool:
        """Whether an output differs from the expected output in dtype, in shape, or in a value by more than `rtol`."""
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return True
        if got.dtype.kind != "f":
            return not np.array_equal(got, expected)
        finite = np.abs(expected[np.isfinite(expected)]).astype(np.float64)
        atol = self.rtol * float(finite.max(initial=0.0))
        return not np.allclose(got.astype(np.float64), expected.astype(np.float64), self.rtol, atol, equal_nan=True)


def random_values(
    shape: tuple[int, ...], dtype: str, bounds: tuple[float, float] | None, choose: np.random.Generator
) -> Array:
    """Random values between bounds; without bounds small numbers with few digits, whose sums and products are exact in
    any order.
    """
    if dtype == "bool":
        return choose.integers(0, 2, shape).astype(np.bool_)
    if np.dtype(dtype).kind == "f":
        return np.asarray(
            choose.uniform(*bounds, shape) if bounds else choose.integers(-8, 9, shape) / 4, np.dtype(dtype)
        )
    low, high = bounds or ((0, 8) if dtype.startswith("u") else (-8, 8))
    return np.asarray(choose.integers(math.ceil(low), math.floor(high), shape, np.dtype(dtype), endpoint=True))


class Table:
    """Cases in source order."""

    def __init__(self) -> None:
        self.cases: list[TensorCase] = []

    def add(self, name: str, build: Build, reference: Callable[..., Array | Sequence[Array]], **rest: Any) -> None:
        """Adds a case. rest: its other fields."""
        self.cases.append(TensorCase(name, build, reference, **rest))

    def case(self, reference: Callable[..., Array | Sequence[Array]], **rest: Any) -> Callable[[Build], Build]:
        """Registers a case with the decorated function as its builder and namesake."""

        def register(build: Build) -> Build:
            self.add(getattr(build, "__name__"), build, reference, **rest)
            return build

        return register
