"""Tensor intrinsics: descriptions of a computation on small buffers, each with an implementation, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import Parser

from ..analysis.names import buffer_name
from ..analysis.scopes import parameter_buffers, statements
from ..core.byte_products import GROUP, SUMS, bytes_of_windows
from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError
from ..core.walking import find_ops
from ..dialects import mlir_context
from ..dialects.tir import BlockOp, FuncOp, InitOp, LetOp
from ..dialects.tir.tree import treeify
from ..module import Module
from .dot_intrinsics import dot_intrinsic
from .matrix_intrinsics import matrix_intrinsic


@dataclass(frozen=True)
class TensorIntrin:
    """A tensor intrinsic. description: a function whose statements are the computation.  implementation: a function of
    the same buffers, whose statements replace it.
    """

    name: str
    description: FuncOp
    implementation: FuncOp


_INTRINSICS: dict[str, TensorIntrin] = {}
_FAMILIES: list[Callable[[str], tuple[Module, Module] | None]] = []


def describe_tensor_intrin(name: str, description: Module, implementation: Module) -> TensorIntrin:
    """The tensor intrinsic of two functions, copied.

    description: a function whose parameters are buffers; its statements are the computation.  implementation: a
    function of the same buffers, whose statements replace the computation; its `T.match_buffer` may name the strides
    and the offset that the memory has. OptionError for a module of several functions, or if the parameters differ in
    number, shape or data type.
    """
    functions = [_function(name, module) for module in (description, implementation)]
    _replace_names(functions[0])
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
    own = intrin.name in BYTE_PRODUCTS or _WINDOW_PRODUCTS.fullmatch(intrin.name) or matrix_intrinsic(intrin.name)
    own = own or dot_intrinsic(intrin.name)
    if (own or intrin.name in _INTRINSICS) and not override:
        raise OptionError(
            f"tensor intrinsic {intrin.name!r} is registered already, expected override=True or another name"
        )
    _INTRINSICS[intrin.name] = intrin
    return intrin


def add_tensor_intrins(find: Callable[[str], tuple[Module, Module] | None]) -> None:
    """Adds intrinsics that later schedules of this process find by name. find: the description and the implementation
    of a name, None for a name of other intrinsics."""
    _FAMILIES.append(find)


def tensor_intrin(name: str) -> TensorIntrin:
    """The intrinsic registered as `name`, that of `BYTE_PRODUCTS`, that of windows (`window_products_name`), of
    a matrix operation (`matrix_intrinsic`), of products of bytes (`dot_intrinsic`), or of `add_tensor_intrins`.
    OptionError if there is none."""
    if name in _INTRINSICS:
        return _INTRINSICS[name]
    if name in BYTE_PRODUCTS:
        return _byte_products(BYTE_PRODUCTS[name])
    if windows := _WINDOW_PRODUCTS.fullmatch(name):
        return _window_products(*map(int, windows.groups()))
    if functions := matrix_intrinsic(name) or dot_intrinsic(name):
        return describe_tensor_intrin(name, *functions)
    for find in _FAMILIES:
        if functions := find(name):
            return describe_tensor_intrin(name, *functions)
    known = [*_INTRINSICS, *BYTE_PRODUCTS]
    raise OptionError(f"no tensor intrinsic {name!r}{did_you_mean(name, known)} (registered: {', '.join(known)})")


def _replace_names(function: FuncOp) -> None:
    """Replaces names of variables by the variables, as blocks of schedules have no such names."""
    for op in list(find_ops(function, LetOp)):
        if isinstance(op.value.owner, Block):
            op.result.replace_all_uses_with(op.value)
            op.detach()
            op.erase()


def _function(name: str, module: Module) -> FuncOp:
    """A copy of the only function of a module."""
    functions = [op for op in module.op.body.block.ops if isinstance(op, FuncOp)]
    if len(functions) != 1:
        raise OptionError(f"tensor intrinsic {name!r}: a module of {len(functions)} functions, expected one")
    return functions[0].clone()


def buffers_of(function: FuncOp) -> list[SSAValue]:
    """The buffers of the parameters of a function, in order. OptionError for a parameter that is no buffer."""
    buffers = parameter_buffers(function)
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


BYTE_PRODUCTS = {byte_products_name(lanes): lanes for lanes in SUMS}
"""The intrinsics that add the products of four bytes to each lane of a vector, by name, with the number of lanes:
`C[i] += A[k] * B[4 * i + k]` for k from 0 to 3, with A of uint8, B of int8 and C of int32. Processors with AVX-512 VNNI
have them as an instruction."""


def window_products_name(lanes: int, step: int, far: int) -> str:
    """The name of the intrinsic that adds the products of four taps of windows along a row to a sum of each window:
    `C[i] += A[step * i + far * k] * B[k]` for k from 0 to 3, with the data types of `BYTE_PRODUCTS`.

    lanes: the number of windows: 4, 8 or 16.  step, far: the stride and the dilation of the windows.
    """
    return f"vpdpbusd_{lanes}x4_step{step}_far{far}"


_WINDOW_PRODUCTS = re.compile(r"vpdpbusd_(4|8|16)x4_step([1-9][0-9]*)_far([1-9][0-9]*)")

_ADD_PRODUCTS = """
tir.func @add_products("a" %a: !tir.handle, "b" %b: !tir.handle, "c" %c: !tir.handle) {{
  %a_offset = tir.symbol "a_offset" : i32
  %b_offset = tir.symbol "b_offset" : i32
  %c_offset = tir.symbol "c_offset" : i32
  %A = tir.match_buffer "A" %a offset [%a_offset] : !tir.handle -> memref<{data}xui8, strided<[1], offset: ?>>
  %B = tir.match_buffer "B" %b offset [%b_offset] : !tir.handle -> memref<{weights}xi8, strided<[1], offset: ?>>
  %C = tir.match_buffer "C" %c offset [%c_offset] : !tir.handle -> memref<{lanes}xi32, strided<[1], offset: ?>>
  {body}
}}
"""
_DESCRIPTION = """
  tir.for serial "i" %i : i32 in [0 +: {lanes}] {{
    tir.for serial "k" %k : i32 in [0 +: 4] {{
      tir.block "sum" (spatial "vi" %vi : i32 in [0 +: {lanes}] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) {{
        {places}
        tir.access reads %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        tir.access reads %A[{datum}] : memref<{data}xui8, strided<[1], offset: ?>>
        tir.access reads %B[{weight}] : memref<{weights}xi8, strided<[1], offset: ?>>
        tir.access writes %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        %sum = tir.load %C[%vi] : memref<{lanes}xi32, strided<[1], offset: ?>>
        %x = tir.load %A[{datum}] : memref<{data}xui8, strided<[1], offset: ?>>
        %y = tir.load %B[{weight}] : memref<{weights}xi8, strided<[1], offset: ?>>
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
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b_lanes = tir.ramp %zero, %one : vector<{weights}xi32>
  %c_lanes = tir.ramp %zero, %one : vector<{lanes}xi32>
  %y = tir.load %B[%b_lanes : vector<{weights}xi32>] : memref<{weights}xi8, strided<[1], offset: ?>>
  %sums = tir.load %C[%c_lanes : vector<{lanes}xi32>] : memref<{lanes}xi32, strided<[1], offset: ?>>
  {factors}
  %result = tir.call_llvm "llvm.x86.avx512.vpdpbusd.{bits}"(%sums, {call} -> vector<{lanes}xi32>
  tir.store %result, %C[%c_lanes : vector<{lanes}xi32>] : memref<{lanes}xi32, strided<[1], offset: ?>>
"""


@cache
def _byte_products(lanes: int) -> TensorIntrin:
    """The intrinsic of `BYTE_PRODUCTS` with a number of lanes."""
    places = """
        %four = arith.constant 4 : i32
        %first = arith.muli %vi, %four : i32
        %n = arith.addi %first, %vk : i32
    """
    factors = f"""
        %a_lanes = tir.ramp %zero, %one : vector<4xi32>
        %x = tir.load %A[%a_lanes : vector<4xi32>] : memref<4xui8, strided<[1], offset: ?>>
        %whole = tir.reinterpret %x : vector<4xui8> -> i32
        %left = vector.broadcast %whole : i32 to vector<{lanes}xi32>
    """
    call = f"%left, %y) : vector<{lanes}xi32>, vector<{lanes}xi32>, vector<{GROUP * lanes}xi8>"
    sizes = {"lanes": lanes, "data": GROUP, "weights": GROUP * lanes}
    return _products(byte_products_name(lanes), places, ("%vk", "%n"), factors, call, sizes)


@cache
def _window_products(lanes: int, step: int, far: int) -> TensorIntrin:
    """The intrinsic of `window_products_name`."""
    places = f"""
        %step = arith.constant {step} : i32
        %far = arith.constant {far} : i32
        %first = arith.muli %vi, %step : i32
        %tap = arith.muli %vk, %far : i32
        %m = arith.addi %first, %tap : i32
    """
    data = bytes_of_windows(lanes, step, far)
    whole = 1 << (data - 1).bit_length()
    taps = [step * i + far * k for i in range(lanes) for k in range(GROUP)]
    factors = f"""
        %a_lanes = tir.ramp %zero, %one : vector<{whole}xi32>
        %end = arith.constant {data} : i32
        %ends = vector.broadcast %end : i32 to vector<{whole}xi32>
        %mask = arith.cmpi slt, %a_lanes, %ends : vector<{whole}xi32>
        %x = tir.load %A[%a_lanes : vector<{whole}xi32>] if %mask : vector<{whole}xi1>
          : memref<{data}xui8, strided<[1], offset: ?>>
        %left = tir.shuffle %x {taps} : vector<{whole}xui8> -> vector<{GROUP * lanes}xui8>
        %whole = tir.reinterpret %y : vector<4xi8> -> i32
        %right = vector.broadcast %whole : i32 to vector<{lanes}xi32>
    """
    call = f"%left, %right) : vector<{lanes}xi32>, vector<{GROUP * lanes}xui8>, vector<{lanes}xi32>"
    sizes = {"lanes": lanes, "data": data, "weights": GROUP}
    return _products(window_products_name(lanes, step, far), places, ("%m", "%vk"), factors, call, sizes)


def _products(
    name: str, places: str, indices: tuple[str, str], factors: str, call: str, sizes: Mapping[str, int]
) -> TensorIntrin:
    """The intrinsic that adds products of bytes to sums.

    places: the operations that compute indices.  indices: those of the data and of the weights.  factors: the
    operations that make vectors of the bytes.  call: the operands of the instruction after the sums, and all types.
    sizes: the numbers of sums (`lanes`), and of bytes of data and weights.
    """
    bits = 32 * sizes["lanes"]
    description = _DESCRIPTION.format(places=places, datum=indices[0], weight=indices[1], **sizes)
    implementation = _IMPLEMENTATION.format(factors=factors, call=call, bits=bits, **sizes)

    def function(body: str) -> Module:
        return Module(Parser(mlir_context(), _ADD_PRODUCTS.format(body=body, **sizes)).parse_module())

    return describe_tensor_intrin(name, function(description), function(implementation))
