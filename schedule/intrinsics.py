"""Tensor intrinsics: descriptions of a computation on small buffers, each with an implementation, by name."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ..analysis.names import buffer_name
from ..analysis.scopes import statements
from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError
from ..dialects.tir import BlockOp, FuncOp, InitOp, MatchBufferOp
from ..dialects.tir.tree import treeify
from ..module import Module


@dataclass(frozen=True)
class TensorIntrin:
    """A tensor intrinsic. description: a function whose statements are the computation.  implementation: a function of
    the same buffers, whose statements replace it.
    """

    name: str
    description: FuncOp
    implementation: FuncOp


_INTRINSICS: dict[str, TensorIntrin] = {}


def describe_tensor_intrin(name: str, description: Module, implementation: Module) -> TensorIntrin:
    """The tensor intrinsic of two functions, copied.

    description: a function whose parameters are buffers; its statements are the computation.  implementation: a
    function of the same buffers, whose statements replace the computation; its `T.match_buffer` may name the strides
    and the offset that the memory has. OptionError for a module of several functions, or if the parameters differ in
    number, shape or data type.
    """
    functions = [_function(name, module) for module in (description, implementation)]
    for function in functions:
        treeify(function)
    pairs = [buffers_of(function) for function in functions]
    if len(pairs[0]) != len(pairs[1]):
        raise OptionError(
            f"tensor intrinsic {name!r}: the implementation has {len(pairs[1])} buffers, expected {len(pairs[0])}"
        )
    for described, implemented in zip(*pairs, strict=True):
        got, expected = _shape(implemented), _shape(described)
        if got != expected:
            raise OptionError(
                f"tensor intrinsic {name!r}: buffer {buffer_name(implemented)} of the implementation is {got}, "
                f"expected {expected}"
            )
    return TensorIntrin(name, *functions)


def add_tensor_intrin(intrin: TensorIntrin, *, override: bool = False) -> TensorIntrin:
    """Adds an intrinsic to those that later schedules of this process find by name. OptionError for a name that is
    taken, unless `override`."""
    if intrin.name in _INTRINSICS and not override:
        raise OptionError(
            f"tensor intrinsic {intrin.name!r} is registered already, expected override=True or another name"
        )
    _INTRINSICS[intrin.name] = intrin
    return intrin


def tensor_intrin(name: str) -> TensorIntrin:
    """The intrinsic registered as `name`. OptionError if there is none."""
    if name not in _INTRINSICS:
        known = ", ".join(_INTRINSICS) or "none"
        raise OptionError(f"no tensor intrinsic {name!r}{did_you_mean(name, _INTRINSICS)} (registered: {known})")
    return _INTRINSICS[name]


def _function(name: str, module: Module) -> FuncOp:
    """A copy of the only function of a module."""
    functions = [op for op in module.op.body.block.ops if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise OptionError(f"tensor intrinsic {name!r}: a module of {len(functions)} functions, expected one")
    return functions[0].clone()


def buffers_of(function: FuncOp) -> list[SSAValue]:
    """The buffers of the parameters of a function, in order. OptionError for a parameter that is no buffer."""
    matched = {op.source: op.buffer for op in function.body.block.ops if isinstance(op, MatchBufferOp)}
    buffers: list[SSAValue] = [matched.get(argument, argument) for argument in function.body.block.args]
    for buffer in buffers:
        if not isinstance(buffer.type, MemRefType):
            raise OptionError(f"tensor intrinsic: parameter of type {buffer.type}, expected a buffer")
    return buffers


def block_of(function: FuncOp) -> BlockOp | None:
    """The block around all statements of a function, whose axes have a single value; None if there is none."""
    ops = statements(function.body.block)
    alone = len(ops) == 1 and isinstance(ops[0], BlockOp) and all(axis.extent == 1 for axis in ops[0].axes)
    return ops[0] if alone else None  # pyright: ignore[reportReturnType]


def init_of(function: FuncOp) -> InitOp | None:
    """The init of the block around all statements of a function."""
    block = block_of(function)
    return None if block is None else block.init


def body_of(function: FuncOp) -> list[Operation]:
    """The statements of a function, without the block around them and its init."""
    block = block_of(function)
    ops = statements(function.body.block if block is None else block.body.block)
    return [op for op in ops if not isinstance(op, InitOp)]


def _shape(buffer: SSAValue) -> str:
    type = buffer.type
    assert isinstance(type, MemRefType)
    return f"{type.element_type}[{', '.join(map(str, type.get_shape()))}]"  # pyright: ignore[reportUnknownMemberType]
