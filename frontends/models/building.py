"""The builder of a graph: inserts operators, folds operators on constant tensors, computes sizes as tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.dtypes import numpy_dtype
from ...core.identifiers import fresh_name
from ...core.sizes import check_shape
from ...operators import operator_of, relax
from ...operators.attributes import normalize_attributes
from ...operators.broadcast import BROADCASTING
from ...operators.relax.types import names_in
from ...operators.relay import (
    FuncOp,
    RelayBuilder,
    Size,
    SizeLimit,
    dtype_of_tensor,
    result_types,
    shape_of,
    tensor_type,
)
from ...operators.relay.types import names_of
from .errors import ModelError, ModelUnsupportedError
from .limits import MOST_FOLDED, NodeBudget, require_created, require_rank
from .symbols import Symbol, is_provably_at_least, size_of_symbol, split_constant_term, symbol_array
from .types import Array
from .values import ModelTensor, require_dtype, tensor_of_array, tensor_of_ssa_value, tensor_of_symbols

T = TypeVar("T")


class Builder:
    """Inserts operators into a function.

    entry: the entry block of the function, which holds the constants.  constants: arrays by name.  fold: whether
    operators on constant tensors are folded at import time.  data_sizes: the names of sizes that only data determines,
    each with the node that determines it.  is_program: whether the function calls packed functions.  functions: the
    bodies of loops, functions of their own.
    """

    def __init__(self, entry: Block, constants: dict[str, Array], fold: bool = True):
        self.entry = entry
        self.fold = fold
        self.relay = RelayBuilder(entry, constants)
        self.written: dict[ModelTensor, SSAValue] = {}
        self.carriers: dict[Size, tuple[SSAValue, int]] = {}
        self.limits: dict[tuple[str, str], int] = {}
        self.data_sizes: dict[str, str] = {}
        self.is_program = False
        self.functions: list[FuncOp] = []
        self.node = ""
        self.budget = NodeBudget()

    def require_at_most(self, extent: Symbol, limit: int) -> None:
        """Adds the run-time check `extent <= limit` to the function."""
        self._limit(extent, "<=", limit, min)

    def require_at_least(self, least: int, value: Any) -> None:
        """Adds the run-time check `value >= least` to the function; no check for values that provably satisfy it.
        Raises ModelError for a constant less than `least`."""
        if is_provably_at_least(least, value):
            return
        if not isinstance(value, Symbol):
            raise ModelError(f"a size of {value}, expected at least {least}")
        self._limit(value, ">=", least, max)

    def _limit(self, value: Symbol, sign: str, number: int, stricter: Callable[[int, int], int]) -> None:
        size, more = split_constant_term(value)
        if not self.data_sizes.keys().isdisjoint(names_of(size.text)):
            raise ModelUnsupportedError(f"a limit of the size {size.text}, which only data determines")
        key = size.text, sign
        self.limits[key] = stricter(number - more, self.limits.get(key, number - more))

    @property
    def size_limits(self) -> list[str]:
        """The limits of symbolic sizes, as text."""
        return [str(SizeLimit(size, sign, number)) for (size, sign), number in self.limits.items()]

    def new_size(self, what: str) -> str:
        """The name of a size that only data determines. what: the operation that determines it."""
        known = {name for value in self.entry.args for name in names_in(value.type)}
        name = fresh_name(f"{what}_size", known | self.data_sizes.keys())
        self.data_sizes[name] = f"{what} of {self.node}" if self.node else what
        return name

    def attempt(self, write: Callable[[Block], T]) -> tuple[T, Block, Callable[[], None]]:
        """Calls `write` with the insertion point in a new block. Returns the result, the block, and a function that
        discards the block with all that `write` has added to the function; an exception discards it too."""
        block = Block()
        limits, data_sizes, functions = dict(self.limits), dict(self.data_sizes), len(self.functions)
        is_program = self.is_program

        def discard() -> None:
            self.limits, self.data_sizes, self.is_program = limits, data_sizes, is_program
            del self.functions[functions:]
            for op in reversed(list(block.ops)):
                op.detach()
                op.erase()

        try:
            return self.build_in_block(block, lambda: write(block)), block, discard
        except BaseException:
            discard()
            raise

    # Insertion points

    def set_location(self, name: str) -> None:
        """Sets the source location of the operators inserted from now on to the node `name`."""
        self.node = name
        location: LocationAttr = NameLoc(StringAttr(name), UnknownLoc()) if name else UnknownLoc()
        self.relay.location = location

    def build_in_block(self, block: Block, write: Callable[[], Any]) -> Any:
        """Calls `write` with the insertion point at the end of `block`; returns its result."""
        point, carriers, written = self.relay.point, dict(self.carriers), dict(self.written)
        self.relay.point = InsertPoint.at_end(block)
        try:
            return write()
        finally:
            self.relay.point, self.carriers = point, carriers
            self.written = written | {each: value for each, value in self.written.items() if each.array is not None}

    # Tensors

    def value(self, tensor: ModelTensor) -> SSAValue:
        """The SSA value of a tensor; inserts a constant or the computation of sizes if required."""
        if tensor.value is not None:
            return tensor.value
        if tensor not in self.written:
            self.written[tensor] = self._constant(tensor) if tensor.array is not None else self._compute_sizes(tensor)
        return self.written[tensor]

    def _constant(self, tensor: ModelTensor) -> SSAValue:
        assert tensor.array is not None
        require_dtype(tensor.dtype)
        point = self.relay.point
        first = self.entry.first_op
        self.relay.point = InsertPoint.at_end(self.entry) if first is None else InsertPoint.before(first)
        constant = self.relay.constant(tensor.array, tensor.name)
        self.relay.point = InsertPoint.at_end(point.block) if point.insert_before is None else point
        return constant

    def tensor_of_value(self, value: SSAValue) -> ModelTensor:
        """The tensor of an SSA value. Records its symbolic extents, from which other sizes can be computed."""
        for axis, extent in enumerate(shape_of(value)):
            if isinstance(extent, str):
                self.carriers.setdefault(extent, (value, axis))
        return tensor_of_ssa_value(value)

    def scalar_constant(self, value: float, dtype: str) -> ModelTensor:
        """A constant scalar tensor."""
        return tensor_of_array(np.asarray(value, numpy_dtype(require_dtype(dtype))))

    # Operators

    def op(self, name: str, *operands: ModelTensor, **attributes: object) -> ModelTensor:
        """The first result of an operator. Raises TeError for incompatible operands or attributes."""
        return self.ops(name, *operands, **attributes)[0]

    def ops(self, name: str, *operands: ModelTensor, **attributes: object) -> list[ModelTensor]:
        """The results of an operator, folded if all operands are constants."""
        arrays = [operand.array for operand in operands]
        if self.fold and all(array is not None for array in arrays):
            folded = _fold(name, [array for array in arrays if array is not None], attributes)
            if folded is not None:
                return folded
        if name in BROADCASTING and self.data_sizes:
            operands = tuple(self._broadcast(operands))
        results = self.relay.operators(name, *map(self.value, operands), **attributes)
        for result in results:
            require_rank(len(shape_of(result)))
        return [self.tensor_of_value(result) for result in results]

    def _broadcast(self, operands: Sequence[ModelTensor]) -> Sequence[ModelTensor]:
        """The operands of a broadcast; expanded by a packed function if only data determines which extents are 1."""
        shape: list[Size] = []
        is_ambiguous = False
        for n in range(1, max(operand.rank for operand in operands) + 1):
            wide = dict.fromkeys(each.shape[-n] for each in operands if n <= each.rank and each.shape[-n] != 1)
            if len(wide) > 1 and any(map(self._is_data_size, wide)):
                is_ambiguous = True
                numbers = [extent for extent in wide if isinstance(extent, int)]
                shape.insert(0, numbers[0] if numbers else self.new_size("broadcast"))
            else:
                shape.insert(0, next(iter(wide), 1))
        if not is_ambiguous:
            return operands
        # lazy: calls of packed functions are built by a builder
        from .data_sizes import call_host

        return call_host(self, "broadcast", operands, [(operand.dtype, shape) for operand in operands])

    def equate_extents(self, tensors: Sequence[ModelTensor], axes: Sequence[int]) -> list[ModelTensor]:
        """Tensors of one rank with equal extents along some axes. A check when the program runs equates extents that
        only data determines; tensors of other differing extents are returned unchanged."""
        shape = {axis: self._known_extent([each.shape[axis] for each in tensors]) for axis in axes}
        return [self._with_extents(each, shape) for each in tensors]

    def _known_extent(self, extents: Sequence[Size]) -> Size:
        """An extent that data does not determine, if there is one; else the first extent."""
        return next((each for each in extents if not self._is_data_size(each)), extents[0])

    def _with_extents(self, tensor: ModelTensor, extents: Mapping[int, Size]) -> ModelTensor:
        shape = [extents.get(axis, own) if self._is_data_size(own) else own for axis, own in enumerate(tensor.shape)]
        if tuple(shape) == tensor.shape:
            return tensor
        cast = relax.MatchCastOp(self.value(tensor), tensor_type(shape, tensor.dtype))
        return self.tensor_of_value(self.relay.insert(cast).output)

    def _is_data_size(self, extent: Size) -> bool:
        return isinstance(extent, str) and not self.data_sizes.keys().isdisjoint(names_of(extent))

    def scalar(self, name: str, data: ModelTensor, value: float) -> ModelTensor:
        """The result of a binary operator on a tensor and a scalar of the same data type."""
        return self.op(name, data, self.scalar_constant(value, data.dtype))

    def cast(self, data: ModelTensor, dtype: str) -> ModelTensor:
        """Converts a tensor to a data type."""
        return data if data.dtype == dtype else self.op("cast", data, dtype=require_dtype(dtype))

    # Sizes as tensors

    def _compute_sizes(self, tensor: ModelTensor) -> SSAValue:
        """Computes a tensor of integers and symbols from the shapes of other tensors."""
        assert tensor.sizes is not None
        flat = [self.expand(self.size_value(each), [1]) for each in tensor.sizes.ravel()]
        whole = self.op("concatenate", *flat, axis=0) if flat else tensor_of_array(np.zeros(0, "int64"))
        return self.value(self.cast(self.reshape(whole, symbol_array(tensor.shape)), tensor.dtype))

    def size_value(self, value: Any) -> ModelTensor:
        """An integer or symbol as an int64 scalar tensor."""
        if not isinstance(value, Symbol):
            return self.scalar_constant(int(value), "int64")
        if value.text in self.carriers:
            return self.op("sum", self.ones_vector(value))
        return self._evaluate(ast.parse(value.text, mode="eval").body)

    def _evaluate(self, tree: ast.expr) -> ModelTensor:
        match tree:
            case ast.Name(id=name):
                return self.size_value(Symbol(name))
            case ast.Constant(value=int(number)):
                return self.scalar_constant(number, "int64")
            case ast.UnaryOp(operand=operand):
                return self.op("negative", self._evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.op(_ARITHMETIC[type(op)], self._evaluate(left), self._evaluate(right))
            case ast.Call(func=ast.Name(id=name), args=[left, right]):
                return self.op({"min": "minimum", "max": "maximum"}[name], self._evaluate(left), self._evaluate(right))
            case _:
                raise ModelUnsupportedError(f"the size {ast.unparse(tree)} as a value")

    def ones_vector(self, extent: Any) -> ModelTensor:
        """An int64 vector of `extent` ones."""
        if not isinstance(extent, Symbol):
            require_created([int(extent)], "a vector of ones")
            return tensor_of_array(np.ones(int(extent), "int64"))
        if extent.text not in self.carriers:
            raise ModelUnsupportedError(f"a tensor of extent {extent}, which no other tensor has")
        value, axis = self.carriers[extent.text]
        vector = tensor_of_ssa_value(value)
        for other in reversed(range(vector.rank)):
            if other != axis:
                vector = self.op("take", vector, self.scalar_constant(0, "int64"), axis=other)
        return self.cast(self.op("ones_like", vector), "int64")

    def index_vector(self, extent: Any) -> ModelTensor:
        """The int64 vector 0, 1, ..., extent - 1."""
        if not isinstance(extent, Symbol):
            require_created([int(extent)], "a vector of indices")
            return tensor_of_array(np.arange(int(extent)))
        return self.op("cumsum", self.ones_vector(extent), axis=0, exclusive=True)

    # Shapes

    def reshape(self, data: ModelTensor, shape: Any) -> ModelTensor:
        """Reshapes a tensor. shape: integers and symbols. Raises ModelUnsupportedError if the codes of `reshape` cannot
        express the shape."""
        target = tuple(size_of_symbol(each) for each in shape)
        if target == data.shape:
            return data
        require_rank(len(target))
        numbers = [each for each in target if isinstance(each, int)]
        if data.array is not None and len(numbers) == len(target):
            if prod(numbers) != data.array.size or min(numbers, default=0) < 0:
                raise ModelError(f"a reshape of {data.array.size} elements as {numbers}")
            return tensor_of_array(data.array.reshape(numbers), data.name)
        if len(numbers) == len(target) and 0 in numbers:
            require_created(numbers, "a reshape")
            return tensor_of_array(np.zeros(numbers, numpy_dtype(data.dtype)))
        codes = _reshape_codes(data.shape, target)
        reshaped = None if codes is None else self.op("reshape", data, newshape=codes)
        if reshaped is None or reshaped.shape != target:
            reshaped = self._split_extent(data, shape)
        if reshaped is None:
            words = f"[{', '.join(map(str, data.shape))}] as [{', '.join(map(str, target))}]"
            raise ModelUnsupportedError(
                f"a reshape of {words}, of which several sizes are known only when the model runs"
            )
        return reshaped

    def _split_extent(self, data: ModelTensor, shape: Any) -> ModelTensor | None:
        """Splits one extent, a product of symbols, by reads at computed indices: `[b * n, 4]` as `[b, n, 4]`. None for
        another reshape."""
        target = [size_of_symbol(each) for each in shape]
        axis = next(
            (n for n, pair in enumerate(zip(data.shape, target, strict=False)) if pair[0] != pair[1]), data.rank
        )
        end = len(target) - (data.rank - axis - 1)
        parts = list(shape[axis:end])
        if axis == data.rank or len(parts) < 2 or list(data.shape[axis + 1 :]) != target[end:]:
            return None
        if size_of_symbol(prod(parts)) != data.shape[axis]:
            return None
        index = self.index_vector(parts[0])
        for part in parts[1:]:
            rows = self.op("multiply", self.op("expand_dims", index, axis=index.rank), self.size_value(part))
            index = self.op("add", rows, self.index_vector(part))
        return self.op("take", data, index, axis=axis)

    def expand(self, data: ModelTensor, shape: Any) -> ModelTensor:
        """Broadcasts a tensor to a shape of integers and symbols."""
        target = tuple(size_of_symbol(each) for each in shape)
        if target == data.shape:
            return data
        require_rank(len(target))
        if all(isinstance(each, int) for each in target):
            return self.op("broadcast_to", data, shape=target)
        front = len(target) - data.rank
        condition: ModelTensor | None = None
        for axis, extent in enumerate(target):
            if axis >= front and data.shape[axis - front] == extent:
                continue
            mask = self.op("greater", self.ones_vector(shape[axis]), self.scalar_constant(0, "int64"))
            if axis + 1 < len(target):
                mask = self.op("expand_dims", mask, axis=1, num_newaxis=len(target) - axis - 1)
            condition = mask if condition is None else self.op("logical_and", condition, mask)
        assert condition is not None
        expanded = self.op("where", condition, data, data)
        if expanded.shape != target:
            raise ModelUnsupportedError(f"an expansion of {list(data.shape)} to {list(target)}")
        return expanded

    def full(self, shape: Any, value: Array) -> ModelTensor:
        """A tensor with all elements equal to `value`. shape: integers and symbols."""
        element = tensor_of_array(value.reshape(()))
        if any(isinstance(each, Symbol) for each in shape):
            return self.expand(element, shape)
        extents = [int(each) for each in shape]
        check_shape(extents, value.dtype.itemsize, "a constant")
        require_rank(len(extents))
        if prod(extents) <= MOST_FOLDED:
            return tensor_of_array(np.full(extents, value))
        return self.expand(element, extents)

    def constant(self, array: Any) -> ModelTensor:
        """A constant tensor."""
        return tensor_of_array(array)

    def symbols(self, values: Any) -> ModelTensor:
        """A tensor of integers and symbols."""
        return tensor_of_symbols(values)


_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "floor_mod",
}


def _fold(name: str, arrays: Sequence[Array], attributes: Mapping[str, object]) -> list[ModelTensor] | None:
    """The results of an operator by its numpy reference; None if they are too large, or differ in type from the results
    of the operator, and for dequantized matrices, for products of integers may replace those of floats
    (`relay-quantize-products`)."""
    if name == "qnn.dequantize" and arrays[0].ndim > 1:
        return None
    try:
        types: list[Attribute] = [tensor_type(array.shape, require_dtype(_name(array))) for array in arrays]
    except ModelUnsupportedError:
        return None
    operator = operator_of(name)
    checked = normalize_attributes(operator, attributes)
    expected = result_types(name, tuple(types), tuple(checked.items()))
    shapes = [shape_of(type) for type in expected]
    for shape in shapes:
        require_rank(len(shape))
    if any(not all(isinstance(n, int) for n in shape) for shape in shapes):
        return None
    if any(prod(n for n in shape if isinstance(n, int)) > MOST_FOLDED for shape in shapes):
        return None
    if sum(array.size for array in arrays) > MOST_FOLDED:
        return None
    with np.errstate(all="ignore"):
        results = operator.arrays(arrays, checked)
    got = [(array.shape, _name(array)) for array in results]
    if got != [(shape, dtype_of_tensor(type)) for shape, type in zip(shapes, expected, strict=True)]:
        return None
    return [tensor_of_array(array) for array in results]


def _name(array: Array) -> str:
    return "string" if array.dtype == object else array.dtype.name


def _reshape_codes(shape: Sequence[Size], target: Sequence[Size]) -> list[int] | None:
    """The codes of `newshape` for a shape: 0 copies an extent, -3 merges two, -4 splits an extent in two, -1 is
    inferred."""
    codes: list[int] = []
    rest, n, has_rest = list(shape), 0, False
    while n < len(target):
        extent, pair = target[n], target[n : n + 2]
        if rest and rest[0] == extent:
            codes.append(0)
            rest = rest[1:]
        elif len(rest) > 1 and _is_product(extent, *rest[:2]):
            codes.append(-3)
            rest = rest[2:]
        elif rest and len(pair) > 1 and any(isinstance(each, int) for each in pair) and _is_product(rest[0], *pair):
            codes += [-4, *(each if isinstance(each, int) else -1 for each in pair)]
            rest, n = rest[1:], n + 1
        elif isinstance(extent, int) and extent > 0:
            codes.append(extent)
            rest = rest[1:]
        elif not has_rest:
            codes.append(-1)
            has_rest = True
            rest = rest[1:]
        else:
            return None
        n += 1
    return codes


def _is_product(whole: Size, a: Size, b: Size) -> bool:
    """Whether `whole` is `a * b`."""
    both = symbol_array([a, b])
    return size_of_symbol(both[0] * both[1]) == whole
