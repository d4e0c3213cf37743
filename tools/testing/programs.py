"""Random functions and modules of the `tir` landing, and arguments for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BoolAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, SSAValue

from ...core.dtypes import DType, dtype_of, int_range, mlir_type, numpy_dtype, parse_dtype
from ...dialects.attributes import TIR_NOALIAS
from ...dialects.tir import (
    FuncOp,
    HandleType,
    MatchBufferOp,
    Mixed,
    ReturnOp,
    SymbolOp,
    TirBuilder,
    buffer_type,
    constant_value,
)
from ...module import Module
from .choices import Choices, flag, pick
from .environment import Environment, Features, Slot
from .statements import Statements

_EXTENTS = (4, 1, 3, 5, 7, 8, 0)
_INT32 = parse_dtype("int32")


@dataclass(frozen=True)
class _Parameter:
    """A parameter to be created. shape: in terms of the symbol; None for a scalar.  padding: the difference between the
    row stride and the row length of a matrix."""

    name: str
    dtype: DType
    shape: tuple[int | str, ...] | None
    padding: int = 0

    @property
    def strides(self) -> tuple[int, ...] | None:
        if not self.padding:
            return None
        assert self.shape is not None
        _, columns = self.shape
        assert isinstance(columns, int)
        return columns + self.padding, 1

    @property
    def is_symbolic(self) -> bool:
        return self.shape is not None and any(isinstance(n, str) for n in self.shape)

    @property
    def type(self) -> Attribute:
        if self.shape is None:
            return mlir_type(self.dtype)
        if self.is_symbolic:
            return HandleType()
        shape = [n for n in self.shape if isinstance(n, int)]
        return buffer_type(mlir_type(self.dtype), shape, strides=self.strides)


def random_module(choices: Choices, features: Features = Features()) -> Module:
    """A module with a function `main` and occasionally its callee. It verifies, and has no undefined behaviour."""
    functions: list[FuncOp] = []
    if features.calls and flag(choices, 4):
        small = replace(features, size=max(2, features.size // 2), symbols=False, calls=False)
        functions.append(random_function(choices, small, "helper", is_entry=False))
    functions.append(random_function(choices, features, "main", functions))
    return Module(ModuleOp(functions))  # pyright: ignore[reportArgumentType]


def random_function(
    choices: Choices,
    features: Features = Features(),
    name: str = "main",
    callees: list[FuncOp] | None = None,
    is_entry: bool = True,
) -> FuncOp:
    """A function that verifies and has no undefined behaviour.

    callees: functions that it may call.  is_entry: whether it may have scalar and strided buffer parameters, and a
    result.
    """
    params = _parameters(choices, features, callees or [], is_entry)
    names = [p.name.lower() if p.is_symbolic else p.name for p in params]
    func = FuncOp(
        name,
        list(zip(names, (p.type for p in params), strict=True)),
        attrs={TIR_NOALIAS: BoolAttr.from_bool(True)} if flag(choices) else None,
    )
    builder = TirBuilder(func.body.block)
    env = _environment(builder, func, params)
    statements = Statements(choices, builder, features, callees or [])
    env = statements.allocations(env)
    statements.body(env, 2)
    if is_entry and flag(choices, 4):
        value = statements.expressions.value(env, parse_dtype(pick(choices, features.dtypes)), 2)
        func.properties["result_type"] = value.type
        builder.insert(ReturnOp(value))
    return func


def _parameters(choices: Choices, features: Features, callees: list[FuncOp], is_entry: bool) -> list[_Parameter]:
    params: list[_Parameter] = []
    symbolic = features.symbols and flag(choices, 3)
    for number in range(choices.integer(1, 3)):
        dtype = parse_dtype(pick(choices, features.dtypes))
        extents: list[int | str] = [*_EXTENTS]
        shape = tuple(pick(choices, extents) for _ in range(choices.integer(1, 3 if number == 0 else 2)))
        if symbolic and (number == 0 or flag(choices)):
            # The first occurrence binds the symbol; later shapes may be expressions of it.
            first = "n" if number == 0 else pick(choices, ("n", "n * 2", "n + 1"))
            shape = (first, *shape[1:])
        rows = len(shape) == 2 and all(isinstance(n, int) for n in shape) and flag(choices, 6)
        params.append(_Parameter("ABC"[number], dtype, shape, choices.integer(1, 3) if rows and is_entry else 0))
    for callee in callees:  # buffers for the arguments of calls
        for i, (_, value) in enumerate(callee.params):
            dtype = dtype_of(value.type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
            params.append(_Parameter(f"P{i}", dtype, tuple(value.type.get_shape())))  # pyright: ignore[reportAttributeAccessIssue]
    if is_entry and flag(choices, 3):
        params.append(_Parameter("s", parse_dtype(pick(choices, features.dtypes)), None))
    return params


def _environment(builder: TirBuilder, func: FuncOp, params: list[_Parameter]) -> Environment:
    """The environment at the start of the body of a function. Declares the buffers of its symbolic parameters."""
    env = Environment()
    symbol = None
    if any(p.is_symbolic for p in params):
        symbol = builder.insert(SymbolOp("n", mlir_type(_INT32))).result
    for param, (_, value) in zip(params, func.params, strict=True):
        if param.shape is None:
            env = env.with_value(value, param.dtype)
            continue
        buffer, shape = value, param.shape
        if param.is_symbolic:
            shape = tuple(_size(builder, symbol, n) for n in param.shape)
            buffer = builder.insert(MatchBufferOp(param.name, value, mlir_type(param.dtype), shape)).buffer
        env = env.with_slot(Slot(buffer, shape, param.dtype))  # pyright: ignore[reportArgumentType]
    return replace(env, outer_values=len(env.values))


def _size(builder: TirBuilder, symbol: SSAValue | None, size: int | str) -> Mixed:
    if isinstance(size, int):
        return size
    assert symbol is not None
    match size:
        case "n":
            return symbol
        case "n * 2":
            return builder.mul(symbol, 2)
        case "n + 1":
            return builder.add(symbol, 1)
        case _:
            raise ValueError(size)


# Arguments

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.1, 1e-3, 3.5, -2.5, 1000.0, 1e30, -1e-30, np.inf, -np.inf, np.nan)


def random_arguments(choices: Choices, func: FuncOp) -> dict[str, Any]:
    """Arguments for a function whose indices do not depend on them: arrays and numbers by name.

    Elements include edge cases: small numbers, the ends of the range, infinities, NaN.
    """
    size = pick(choices, (3, 0, 1, 2, 5, 8, 17))
    rng = np.random.default_rng(choices.integer(0, 2**16))
    matches = {op.source: op for op in func.body.block.ops if isinstance(op, MatchBufferOp)}
    arguments: dict[str, Any] = {}
    for name, value in func.params:
        if value in matches:
            match = matches[value]
            shape = [_evaluate(n, size) for n in match.mixed_shape]
            arguments[name] = random_array(rng, shape, dtype_of(match.type.element_type))
        elif isinstance(type := value.type, MemRefType):
            array = random_array(rng, type.get_shape(), dtype_of(type.element_type))
            strides = type.get_strides()
            arguments[name] = (
                array if isinstance(type.layout, NoneAttr) or strides is None else _pad_rows(array, strides)
            )
        else:
            arguments[name] = random_array(rng, (), dtype_of(value.type))[()]
    return arguments


def _evaluate(size: Mixed, symbol: int) -> int:
    if isinstance(size, int):
        return size
    known = constant_value(size)
    if known is not None:
        return int(known)
    owner: Any = size.owner
    if isinstance(owner, SymbolOp):
        return symbol
    lhs, rhs = (_evaluate(v, symbol) for v in owner.operands)
    return lhs * rhs if owner.name == "arith.muli" else lhs + rhs


def random_array(rng: np.random.Generator, shape: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """An array of random numbers and edge cases."""
    if dtype.is_float:
        special = rng.choice(_FLOATS, shape)
        mixed = np.where(rng.random(shape) < 0.3, special, rng.standard_normal(shape) * 4)
        with np.errstate(all="ignore"):
            return np.asarray(mixed).astype(numpy_dtype(dtype))
    low, high = int_range(dtype)
    wide = np.uint64 if high > 2**63 else np.int64
    whole = rng.integers(low, high, shape, dtype=wide, endpoint=True)
    small = rng.integers(max(low, -9), min(high, 9), shape, endpoint=True).astype(wide)
    ends = np.where(rng.random(shape) < 0.5, np.array(low, wide), np.array(high, wide))
    kind = rng.random(shape)
    return np.asarray(np.where(kind < 0.2, ends, np.where(kind < 0.5, whole, small))).astype(numpy_dtype(dtype))


def _pad_rows(array: np.ndarray[Any, Any], strides: Sequence[int | None]) -> np.ndarray[Any, Any]:
    """A matrix with the given row stride."""
    assert isinstance(strides[0], int)
    wide = np.zeros((array.shape[0], strides[0]), array.dtype)
    wide[:, : array.shape[1]] = array
    return wide[:, : array.shape[1]]


def copy_arguments(arguments: dict[str, Any]) -> list[Any]:
    """The arguments in order, with arrays copied, including the padding between rows."""
    return [_copy(a) if isinstance(a, np.ndarray) else a for a in arguments.values()]


def _copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.flags.c_contiguous:
        return array.copy()
    assert isinstance(array.base, np.ndarray)
    return array.base.copy()[tuple(slice(n) for n in array.shape)]
