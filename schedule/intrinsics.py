"""Tensor intrinsics: descriptions of a computation on small buffers, each with an implementation, by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from ..analysis.names import buffer_name
from ..analysis.scopes import statements
from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError
from ..dialects import mlir_context
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
    if (intrin.name in _INTRINSICS or intrin.name in BYTE_PRODUCTS) and not override:
        raise OptionError(
            f"tensor intrinsic {intrin.name!r} is registered already, expected override=True or another name"
        )
    _INTRINSICS[intrin.name] = intrin
    return intrin


def tensor_intrin(name: str) -> TensorIntrin:
    """The intrinsic registered as `name`, or that of `BYTE_PRODUCTS`. OptionError if there is none."""
    if name in _INTRINSICS:
        return _INTRINSICS[name]
    if name in BYTE_PRODUCTS:
        return _byte_products(BYTE_PRODUCTS[name])
    known = [*_INTRINSICS, *BYTE_PRODUCTS]
    raise OptionError(f"no tensor intrinsic {name!r}{did_you_mean(name, known)} (registered: {', '.join(known)})")


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


# Products of bytes


def byte_products_name(lanes: int) -> str:
    """The name of the intrinsic of `BYTE_PRODUCTS` with a number of lanes."""
    return f"vpdpbusd_{lanes}x4"


BYTE_PRODUCTS = {byte_products_name(lanes): lanes for lanes in (4, 8, 16)}
"""The intrinsics that add the products of four bytes to each lane of a vector, by name, with the number of lanes:
`C[i] += A[k] * B[4 * i + k]` for k from 0 to 3, with A of uint8, B of int8 and C of int32. Processors with AVX-512 VNNI
have them as an instruction."""

_ADD_PRODUCTS = """
tir.func @add_products("a" %a: !tir.handle, "b" %b: !tir.handle, "c" %c: !tir.handle) {{
  %a_offset = tir.symbol "a_offset" : i32
  %b_offset = tir.symbol "b_offset" : i32
  %c_offset = tir.symbol "c_offset" : i32
  %A = tir.match_buffer "A" %a offset [%a_offset] : !tir.handle -> memref<4xui8, strided<[1], offset: ?>>
  %B = tir.match_buffer "B" %b offset [%b_offset] : !tir.handle -> memref<{bytes}xi8, strided<[1], offset: ?>>
  %C = tir.match_buffer "C" %c offset [%c_offset] : !tir.handle -> memref<{lanes}xi32, strided<[1], offset: ?>>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  {body}
}}
"""
_DESCRIPTION = """
  tir.for serial "i" %i : i32 in [0 +: {lanes}] {{
    tir.for serial "k" %k : i32 in [0 +: 4] {{
      tir.block "sum" (spatial "vi" %vi : i32 in [0 +: {lanes}] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) {{
        %first = arith.muli %vi, %four : i32
        %n = arith.addi %first, %vk : i32
        tir.access reads %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        tir.access reads %A[%vk] : memref<4xui8, strided<[1], offset: ?>>
        tir.access reads %B[%n] : memref<{bytes}xi8, strided<[1], offset: ?>>
        tir.access writes %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        %sum = tir.load %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        %x = tir.load %A[%vk] : memref<4xui8, strided<[1], offset: ?>>
        %y = tir.load %B[%n] : memref<{bytes}xi8, strided<[1], offset: ?>>
        %left = tir.cast %x : ui8 -> i32
        %right = tir.cast %y : i8 -> i32
        %product = arith.muli %left, %right : i32
        %result = arith.addi %sum, %product : i32
        tir.store %result, %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
      }}
    }}
  }}
"""
_IMPLEMENTATION = """
  %a_lanes = tir.ramp %zero, %one : vector<4xi32>
  %b_lanes = tir.ramp %zero, %one : vector<{bytes}xi32>
  %c_lanes = tir.ramp %zero, %one : vector<{lanes}xi32>
  %x = tir.load %A[%a_lanes : vector<4xi32>] : memref<4xui8, strided<[1], offset: ?>>
  %y = tir.load %B[%b_lanes : vector<{bytes}xi32>] : memref<{bytes}xi8, strided<[1], offset: ?>>
  %sums = tir.load %C[%c_lanes : vector<{lanes}xi32>] : memref<{lanes}xi32, strided<[1], offset: ?>>
  %whole = tir.reinterpret %x : vector<4xui8> -> i32
  %left = vector.broadcast %whole : i32 to vector<{lanes}xi32>
  %result = tir.call_llvm "llvm.x86.avx512.vpdpbusd.{bits}"(%sums, %left, %y)
    : vector<{lanes}xi32>, vector<{lanes}xi32>, vector<{bytes}xi8> -> vector<{lanes}xi32>
  tir.store %result, %C[%c_lanes : vector<{lanes}xi32>] : memref<{lanes}xi32, strided<[1], offset: ?>>
"""


@cache
def _byte_products(lanes: int) -> TensorIntrin:
    """The intrinsic of `BYTE_PRODUCTS` with a number of lanes."""
    sizes = {"lanes": lanes, "bytes": 4 * lanes, "bits": 32 * lanes}

    def function(body: str) -> Module:
        text = _ADD_PRODUCTS.format(body=body.format(**sizes), **sizes)
        return Module(Parser(mlir_context(), text).parse_module())

    return describe_tensor_intrin(byte_products_name(lanes), function(_DESCRIPTION), function(_IMPLEMENTATION))
