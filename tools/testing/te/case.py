"""What a case of the corpus of tensor expressions is."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Build: TypeAlias = Callable[[Any], list[Any]]


class Sized:
    """A namespace like the one it is made from in which symbols are the numbers that `sizes` gives to their names."""

    def __init__(self, te: Any, sizes: Mapping[str, float]) -> None:
        self._te = te
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        if name in ("var", "size_var"):
            return lambda symbol, dtype="int32": self._sizes[symbol]
        return getattr(self._te, name)


@dataclass(frozen=True)
class Case:
    """Tensors written with the functions of a namespace `te`, TVM's or ours, and what numpy computes for them."""

    name: str
    build: Build
    """From the namespace to the arguments of `create_prim_func`: inputs first and then outputs, but see `outputs`."""
    reference: Callable[..., Array | Sequence[Array]]
    """From the inputs, in order, to the output or the outputs, in order."""
    sizes: Mapping[str, float] = field(default_factory=dict[str, float])
    """A number for each symbol. Any others from 2 on will do too, unless the case is `fixed`."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """The least and the largest value of the inputs of a name, if not all values that `draw` takes will do."""
    outputs: tuple[int, ...] = (-1,)
    """Where the outputs are among the arguments."""
    rtol: float = 1e-5
    """How much of the largest value floats may be off; integers may not."""
    index_dtype: str | None = None
    """The `index_dtype_override` of `create_prim_func`."""
    fixed: bool = False
    """The sizes are part of the case, or depend on each other."""
    runs: bool = True
    """False where the tensors are too large to be allocated."""
    tvm_refuses: str = ""
    """Why TVM 0.27 raises an error instead of making a function."""
    tvm_differs: str = ""
    """Why what TVM 0.27 makes does not compute what was asked for; the reference is right."""
    tvm_fails: str = ""
    """Why what TVM 0.27 makes, though it is right, cannot be compiled or called."""

    def sized(self, te: Any) -> list[Any]:
        """The arguments with numbers for symbols; an argument that is a symbol is its number."""
        return self.build(Sized(te, self.sizes))

    def inputs(self, te: Any, seed: int = 0) -> list[Any]:
        """Values for the inputs, in order: arrays, and a number for a symbol."""
        choose = np.random.default_rng(seed)
        tensors = self.sized(te)
        outputs = {place % len(tensors) for place in self.outputs}
        return [self._value(tensor, choose) for place, tensor in enumerate(tensors) if place not in outputs]

    def _value(self, tensor: Any, choose: np.random.Generator) -> Any:
        if isinstance(tensor, int | float):
            return tensor
        shape = tuple(int(size) for size in tensor.shape)
        return draw(shape, str(tensor.dtype), self.ranges.get(str(tensor.name)), choose)

    def expected(self, inputs: Sequence[Any]) -> list[Array]:
        """What the outputs are for these inputs, in order."""
        with np.errstate(all="ignore"):
            made = self.reference(*inputs)
        return [np.asarray(made)] if isinstance(made, np.ndarray | np.generic) else [np.asarray(each) for each in made]

    def arguments(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Both in the order of the arguments."""
        count = len(inputs) + len(outputs)
        made = {place % count: output for place, output in zip(self.outputs, outputs, strict=True)}
        rest = iter(inputs)
        return [made[place] if place in made else next(rest) for place in range(count)]

    def differs(self, got: Array, expected: Array) -> bool:
        """Whether an output is not what is expected: its dtype, its shape, or a value by more than `rtol` allows."""
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return True
        if got.dtype.kind != "f":
            return not np.array_equal(got, expected)
        finite = np.abs(expected[np.isfinite(expected)]).astype(np.float64)
        atol = self.rtol * float(finite.max(initial=0.0))
        return not np.allclose(got.astype(np.float64), expected.astype(np.float64), self.rtol, atol, equal_nan=True)


def draw(shape: tuple[int, ...], dtype: str, bounds: tuple[float, float] | None, choose: np.random.Generator) -> Array:
    """Random values between the bounds. Without bounds they are small numbers with few digits, whose sums and products
    are exact in any order.
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
    """Cases in the order they are written in."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def add(self, name: str, build: Build, reference: Callable[..., Array | Sequence[Array]], **rest: Any) -> None:
        """One more case; `rest` has the other fields of it."""
        self.cases.append(Case(name, build, reference, **rest))

    def case(self, reference: Callable[..., Array | Sequence[Array]], **rest: Any) -> Callable[[Build], Build]:
        """Decorates the function that builds the case, whose name it takes."""

        def register(build: Build) -> Build:
            self.add(getattr(build, "__name__"), build, reference, **rest)
            return build

        return register
