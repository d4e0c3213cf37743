"""Tensors: placeholders, computed tensors, and reductions over axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import SizeError
from ..core.sizes import Extents, check_shape
from .axes import IterVar, Range, as_index, reduce_axis
from .errors import TeError, user_frame
from .expr import (
    Call,
    ExprConvertible,
    ExprLike,
    IntImm,
    Operators,
    PrimExpr,
    SizeVar,
    Var,
    as_condition,
    as_expr,
    as_extent,
    binary_expr,
    cast,
    const,
    true_divide,
)
from .sizes import normal_form

# Tensors


@dataclass(frozen=True, eq=False)
class Operation:
    """The producer of one or more tensors.

    shape: the shape of its tensors, or of the first tensor if shapes differ.  dtypes: the data type of each tensor.
    location: the source location of the statement that created the operation.
    """

    name: str
    shape: tuple[PrimExpr, ...]
    dtypes: tuple[DType, ...]
    location: LocationAttr

    def __post_init__(self) -> None:
        for index, dtype in enumerate(self.dtypes):
            check_shape_of(self.name, self.shape_of(index), dtype)

    @property
    def num_outputs(self) -> int:
        return len(self.dtypes)

    def shape_of(self, index: int) -> tuple[PrimExpr, ...]:
        """The shape of tensor `index`."""
        return self.shape

    def output(self, index: int) -> Tensor:
        """Tensor `index` of the operation. TeError for an index out of range."""
        if not 0 <= index < len(self.dtypes):
            raise TeError(f"{self.name} has {len(self.dtypes)} outputs, there is no number {index}")
        return Tensor(self, index)

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that the operation reads, without duplicates, in the order of their first load."""
        return []


@dataclass(frozen=True, eq=False)
class PlaceholderOp(Operation):
    """An input tensor, provided by the caller."""

    @property
    def dtype(self) -> str:
        """The data type of the elements."""
        return self.dtypes[0].name


@dataclass(frozen=True, eq=False)
class ComputeOp(Operation):
    """Tensors defined element by element, by one expression each or by the values of one reduction.

    axis: the spatial axes.  reduce_axis: the reduction axes.  tag, attrs: the kind of operator, and annotations for
    later passes.  inner: the dimensions along which each iteration of a ragged reduction has a loop, in order.
    """

    axis: tuple[IterVar, ...]
    reduce_axis: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...]
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inner: tuple[int, ...] = ()

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(self._inputs)

    @cached_property
    def _inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(load.producer for load in tensor_loads([*self._bounds, *self.body])))

    @property
    def _bounds(self) -> list[PrimExpr]:
        """The bounds of the reduction axes that are no numbers."""
        doms = [axis.dom for axis in self.reduce_axis if axis.dom is not None]
        return [bound for dom in doms for bound in (dom.min, dom.extent) if not isinstance(bound, IntImm)]

    @cached_property
    def is_ragged(self) -> bool:
        """Whether the bounds of a reduction axis depend on the other axes or on elements of tensors, or whether its
        combiner contains an axis."""
        own = {axis.var for axis in (*self.axis, *self.reduce_axis)}
        first = self.body[0]
        combined = (*first.combiner.result, *first.combiner.identity_element) if isinstance(first, Reduce) else ()
        if any(top in own or isinstance(top, ProducerLoad) for top in self._in_bounds):
            return True
        return any(top in own for top in _parts_of(combined))

    @property
    def bounding_axes(self) -> list[IterVar]:
        """The spatial axes on which the bounds of the reduction axes depend."""
        used = set(self._in_bounds)
        return [axis for axis in self.axis if axis.var in used]

    @property
    def _in_bounds(self) -> Iterator[PrimExpr]:
        """The expressions in the bounds of the reduction axes."""
        return _parts_of(self._bounds)


def _parts_of(expressions: Iterable[PrimExpr]) -> Iterator[PrimExpr]:
    """Yields expressions and all in them, each once."""
    todo, seen = [*expressions], set[PrimExpr]()
    while todo:
        if (top := todo.pop()) not in seen:
            seen.add(top)
            yield top
            todo += top.children


def tensor_loads(body: Iterable[PrimExpr]) -> list[ProducerLoad]:
    """The distinct loads in expressions, inner before outer: a load follows the loads in its indices."""
    elements: list[ProducerLoad] = []
    seen: set[PrimExpr] = set()
    todo = [(expr, False) for expr in reversed(list(body))]
    while todo:
        expr, is_expanded = todo.pop()
        if is_expanded and isinstance(expr, ProducerLoad):
            elements.append(expr)
        elif expr not in seen:
            seen.add(expr)
            todo.append((expr, True))
            todo += [(child, False) for child in reversed(expr.children)]
    return elements


def topological_order(outputs: Iterable[Tensor]) -> list[Operation]:
    """The operations that `outputs` depend on, in topological order: producers before consumers."""
    operations: dict[Operation, None] = {}
    todo: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(list(outputs))]
    while todo:
        op, is_ready = todo.pop()
        if op in operations:
            continue
        if is_ready:
            operations[op] = None
        else:
            todo.append((op, True))
            todo += [(tensor.op, False) for tensor in reversed(op.input_tensors)]
    return list(operations)


class Tensor(ExprConvertible, Operators):
    """A tensor: result `value_index` of an operation. Tensors are equal if operation and index are the same.

    `A[i, j]`, `A(i, j)` and `A[i][j]` denote an element; a tensor without dimensions converts to its only element.
    """

    __slots__ = ("op", "value_index")

    def __init__(self, op: Operation, value_index: int = 0):
        self.op = op
        self.value_index = value_index

    @property
    def shape(self) -> Extents[PrimExpr]:
        return Extents(self.op.shape_of(self.value_index))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data_type(self) -> DType:
        return self.op.dtypes[self.value_index]

    @property
    def dtype(self) -> str:
        return self.data_type.name

    @property
    def name(self) -> str:
        """The name of the operation, followed by the index of the tensor if the operation has several: `B.v0`."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __call__(self, *indices: ExprLike) -> PrimExpr:
        if len(indices) != self.ndim:
            raise TeError(f"{len(indices)} indices into tensor {self.name} of {self.ndim} dimensions")
        subscripts = [self._index(index) for index in indices]
        for n, (index, extent) in enumerate(zip(subscripts, self.shape, strict=True)):
            size = extent.value if isinstance(extent, IntImm) else None
            if isinstance(index, IntImm) and (index.value < 0 or (size is not None and index.value >= size)):
                limit = "" if size is None else f", expected one from 0 to {size - 1}"
                raise TeError(f"index {index.value} into dimension {n} of tensor {self.name}{limit}")
        return ProducerLoad(self, subscripts)

    def _index(self, value: ExprLike) -> PrimExpr:
        """An index; a truth value is the index 0 or 1."""
        if isinstance(value, PrimExpr) and value.data_type.is_bool:
            value = cast("int32", value)
        return as_index(value, f"index into tensor {self.name}")

    def __getitem__(self, indices: Any) -> Any:
        return TensorSlice(self, ())[indices]

    def astype(self, dtype: str) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A tensor of the elements converted to another data type."""
        return compute(self.shape, lambda *i: cast(dtype, self(*i)), tag="elemwise")

    def operator(self, name: str, a: Any, b: Any) -> Any:
        """The elementwise `+ - * /` of tensors, numbers and scalar expressions, a tensor. TeError for other operators
        and operands."""
        others = [value for value in (a, b) if not isinstance(value, Tensor | bool | int | float)]
        if others and not self.ndim:
            return None
        others = [value for value in others if not isinstance(value, PrimExpr)]
        if name not in _TENSOR_OPERATORS or others:
            raise TeError(f"operator {name} on tensor {self.name}, expected elements of it: {self.name}[...]")
        combine = true_divide if name == "div" else partial(binary_expr, name)
        return elementwise_tensor(combine, [a, b], _TENSOR_OPERATORS[name])

    def asexpr(self) -> PrimExpr:
        if self.ndim:
            raise TeError(f"tensor {self.name} of {self.ndim} dimensions, expected an element of it: {self.name}[...]")
        return self()

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.op is other.op and self.value_index == other.value_index

    def __hash__(self) -> int:
        return hash((self.op, self.value_index))

    def __repr__(self) -> str:
        return f"Tensor(shape=[{', '.join(map(repr, self.shape))}], op.name={self.name})"


_TENSOR_OPERATORS = {"add": "T_add", "sub": "T_subtract", "mul": "T_multiply", "div": "T_divide"}
"""The operators on whole tensors, with the names of the resulting tensors."""


def elementwise_tensor(combine: Callable[..., Any], operands: Sequence[Any], name: str) -> Any:
    """The tensor of `combine` applied element by element to numbers and tensors, with broadcasting; without a tensor
    among the operands, the result of `combine`.

    TeError if the shapes do not match.
    """
    shapes = [tensor.shape for tensor in operands if isinstance(tensor, Tensor)]
    if not shapes:
        return combine(*operands)
    shape = broadcast_shape(shapes)
    if shape is None:
        raise TeError(f"shapes {' and '.join(str(list(shape)) for shape in shapes)} do not go together")

    def element(value: Any, axes: Sequence[PrimExpr]) -> Any:
        if not isinstance(value, Tensor):
            return value
        leading = len(axes) - value.ndim
        dims = zip(axes[leading:], value.shape, shape[leading:], strict=True)
        return value(*(0 if _is_one(own) and not _is_one(whole) else axis for axis, own, whole in dims))

    tag = "broadcast" if sum(isinstance(operand, Tensor) for operand in operands) > 1 else "elemwise"
    names = [f"ax{n}" for n in range(len(shape))]
    return compute(
        shape, lambda *axes: combine(*(element(operand, axes) for operand in operands)), name, tag, varargs_names=names
    )


def _is_one(extent: PrimExpr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def is_same_extent(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two extents are equal, structurally or in normal form."""
    return a is b or _is_structurally_equal(a, b) or normal_form(a) == normal_form(b)


def _is_structurally_equal(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    if isinstance(a, Var) or type(a) is not type(b) or a.dtype != b.dtype or not a.children:
        return False
    if isinstance(a, Call) and isinstance(b, Call) and a.op != b.op:
        return False
    if isinstance(a, ProducerLoad) and isinstance(b, ProducerLoad) and a.producer != b.producer:
        return False
    return len(a.children) == len(b.children) and all(map(is_same_extent, a.children, b.children))


def broadcast_shape(shapes: Sequence[Sequence[PrimExpr]]) -> list[PrimExpr] | None:
    """The broadcast shape of tensors: from the last dimension on, extents are equal or 1. None for a mismatch."""
    result: list[PrimExpr] = []
    for n in range(1, max(map(len, shapes)) + 1):
        extents = [shape[-n] for shape in shapes if n <= len(shape)]
        wide = [extent for extent in extents if not _is_one(extent)]
        if not all(is_same_extent(extent, wide[0]) for extent in wide[1:]):
            return None
        result.insert(0, wide[0] if wide else extents[0])
    return result


class TensorSlice(ExprConvertible, Operators):
    """A tensor with its leading indices fixed; indices that are slices denote parts of dimensions."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]):
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: Any) -> Any:
        more: tuple[Any, ...] = indices if isinstance(indices, tuple) else (indices,)
        leading = (*self.indices, *more)
        if len(leading) < self.tensor.ndim or any(isinstance(index, slice) for index in leading):
            return TensorSlice(self.tensor, leading)
        return self.tensor(*leading)

    def asexpr(self) -> PrimExpr:
        return self.tensor(*self.indices)

    @property
    def dtype(self) -> str:
        return self.tensor.dtype


class ProducerLoad(PrimExpr):
    """An element of a tensor."""

    __slots__ = ("indices", "producer")

    def __init__(self, producer: Tensor, indices: Sequence[PrimExpr]):
        self.producer = producer
        self.indices = tuple(indices)
        self.data_type = producer.data_type

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.indices

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return ProducerLoad(self.producer, children)


# Reductions


@dataclass(frozen=True, eq=False)
class CommReducer:
    """A commutative reducer: the expressions `result` that combine the variables `lhs` and `rhs`, and the identity
    element."""

    name: str
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]


class Reduce(PrimExpr):
    """Value `value_index` of a reduction. Legal only at the top level of a `compute`."""

    __slots__ = ("axis", "combiner", "condition", "init", "source", "value_index")

    def __init__(
        self,
        combiner: CommReducer,
        source: Sequence[PrimExpr],
        axis: Sequence[IterVar],
        condition: PrimExpr,
        value_index: int,
        init: Sequence[PrimExpr] | None = None,
    ):
        self.combiner = combiner
        self.source = tuple(source)
        self.axis = tuple(axis)
        self.condition = condition
        self.value_index = value_index
        self.init = tuple(init or ())
        self.data_type = self.source[value_index].data_type

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return (*self.source, self.condition, *self.init)

    def is_of(self, other: Reduce) -> bool:
        """Whether `self` and `other` are values of the same reduction."""
        return self.combiner is other.combiner and self.source == other.source and self.axis == other.axis


def reductions(
    combiner: CommReducer,
    source: Sequence[PrimExpr],
    axes: Sequence[IterVar],
    condition: PrimExpr,
    init: Sequence[PrimExpr],
) -> tuple[Reduce, ...]:
    """The values of a reduction, one for each source."""
    return tuple(Reduce(combiner, source, axes, condition, n, init) for n in range(len(source)))


Combine: TypeAlias = Callable[[Any, Any], Any]
Identity: TypeAlias = Callable[..., Any]


def comm_reducer(fcombine: Combine, fidentity: Identity, name: str = "reduce") -> Callable[..., Any]:
    """A function that reduces expressions over axes with an associative and commutative combiner.

    fcombine: takes two values, or two tuples of values, and returns the combined value or tuple.  fidentity: takes the
    names of data types and returns the identity element of each.
    The returned function takes an expression or a tuple of expressions, axis (one or several reduction axes), where (a
    predicate that selects the points to reduce) and init (the initial values in place of the identity elements). It
    returns one value for each expression.
    """

    def reducer(
        expr: Any, *values: Any, axis: Any = None, where: Any = None, init: Any = None, span: None = None
    ) -> Any:
        if values and axis is None and isinstance(values[0], IterVar | list | tuple):
            axis, where, init = (*values, None, None)[:3]
        elif values:  # operands to combine, as in te.max(x, y)
            result = expr
            for value in values:
                result = fcombine(result, value)
            return result
        axes = _reduction_axes(axis, name)
        source = tuple(as_expr(value) for value in _as_items(expr))
        combiner = _combiner(fcombine, fidentity, name, tuple(value.data_type for value in source))
        starts = () if init is None else _as_items(init)
        if starts and len(starts) != len(source):
            raise TeError(f"{name}: {len(starts)} values to start from, for {len(source)} that are reduced")
        inits = [cast(value.dtype, start) for value, start in zip(source, starts, strict=False)]
        condition = IntImm("bool", 1) if where is None else as_condition(where)
        results = reductions(combiner, source, axes, condition, inits)
        return results if isinstance(expr, tuple | list) else results[0]

    reducer.__name__ = name
    return reducer


def _as_element(value: Any) -> PrimExpr:
    """The value of an element; a number of numpy has its data type, float64 too, whose numbers are those of Python."""
    return const(value.item(), "float64") if isinstance(value, np.float64) else as_expr(value)


def _as_items(value: Any) -> tuple[Any, ...]:
    """The items of a tuple or a list; any other value alone."""
    items: Any = value if isinstance(value, tuple | list) else (value,)
    return tuple(items)


def _reduction_axes(axis: Any, name: str) -> tuple[IterVar, ...]:
    """One or several reduction axes; for an empty list an axis of a single value. TeError for anything else, and for a
    repeated axis."""
    axes = _as_items(axis)
    if not axes:
        return (reduce_axis((0, 1)),)
    if not all(isinstance(each, IterVar) and each.kind == "reduce" for each in axes):
        raise TeError(f"{name}: axis {axis!r}, expected what te.reduce_axis gives")
    if len(set(axes)) < len(axes):
        raise TeError(f"{name}: an axis is given twice")
    return axes


def _combiner(fcombine: Combine, fidentity: Identity, name: str, kinds: tuple[DType, ...]) -> CommReducer:
    lhs = tuple(Var(f"x{n}" if n else "x", dtype.name) for n, dtype in enumerate(kinds))
    rhs = tuple(Var(f"y{n}" if n else "y", dtype.name) for n, dtype in enumerate(kinds))
    if len(kinds) == 1:
        result, identity = fcombine(lhs[0], rhs[0]), fidentity(kinds[0].name)
    else:
        result, identity = fcombine(lhs, rhs), fidentity(*(dtype.name for dtype in kinds))
    sides: dict[str, tuple[PrimExpr, ...]] = {}
    for what, values in (("fcombine", result), ("fidentity", identity)):
        items = _as_items(values)
        if len(items) != len(kinds):
            raise TeError(f"{name}: {what} gives {len(items)} values, expected {len(kinds)}")
        sides[what] = tuple(cast(dtype.name, value) for dtype, value in zip(kinds, items, strict=True))
    return CommReducer(name, lhs, rhs, sides["fcombine"], sides["fidentity"])


# Construction of tensors


def shape_as_extents(shape: Any, what: str) -> Extents[PrimExpr]:
    """The extents of a shape as expressions; constant extents compute exactly, and a whole float is its integer.
    TeError for a shape that no tensor has."""
    if isinstance(shape, PrimExpr | int):
        shape = (shape,)
    extents = [int(extent) if isinstance(extent, float) and extent.is_integer() else extent for extent in shape]
    known = [extent if isinstance(extent, int) and not isinstance(extent, bool) else None for extent in extents]
    _check_known(known, 1, what)
    return Extents(
        as_index(extent, f"shape of {what}") if number is None else as_extent(number)
        for extent, number in zip(extents, known, strict=True)
    )


def check_shape_of(name: str, shape: Sequence[PrimExpr], dtype: DType) -> None:
    """TeError for a shape that no tensor of a data type has: extents or bytes that int64 does not hold."""
    known = [extent.value if isinstance(extent, IntImm) else None for extent in shape]
    _check_known(known, dtype.bytes * dtype.lanes, name)


def _check_known(extents: Sequence[int | None], element_bytes: int, name: str) -> None:
    try:
        check_shape(extents, element_bytes, f"shape of {name}")
    except SizeError as error:
        raise TeError(str(error)) from None


def location_of_user() -> LocationAttr:
    frame = user_frame()
    if frame is None:
        return UnknownLoc()
    return FileLineColLoc(StringAttr(frame.f_code.co_filename), IntAttr(frame.f_lineno), IntAttr(1))


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor. shape: sizes, numbers or expressions of variables; dtype: float32 if missing."""
    try:
        kind = dtypes.parse_dtype("float32" if dtype is None else dtype)
    except ValueError as error:
        raise TeError(str(error)) from None
    _require_scalars(f"placeholder {name}", kind)
    return PlaceholderOp(name, shape_as_extents(shape, name), (kind,), location_of_user()).output(0)


def _require_scalars(where: str, *kinds: DType) -> None:
    """Raises TeError for vectors, which are no elements of tensors."""
    for kind in kinds:
        if kind.lanes > 1:
            raise TeError(f"{where}: elements of {kind}, expected scalars")


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at `i, j, ...` is `fcompute(i, j, ...)`; a tuple of tensors if `fcompute` returns several
    values.

    shape: sizes, numbers or expressions.  fcompute: takes a variable for each dimension, returns an expression, a
    reduction (`te.sum(...)`), or several expressions or several values of one reduction.  name: of the block that
    computes the tensor.  tag: the kind of operator.  attrs: annotations of the block.  varargs_names: names of the
    variables if fcompute takes `*args`.
    """
    extents = shape_as_extents(shape, name)
    names = _axis_names(fcompute, len(extents), name, varargs_names)
    axis = tuple(
        IterVar(Range(IntImm(extent.dtype, 0), extent), Var(n, extent.dtype), "spatial")
        for n, extent in zip(names, extents, strict=True)
    )
    result = fcompute(*(a.var for a in axis))
    body = tuple(map(_as_element, _as_items(result)))
    if not body:
        raise TeError(f"compute {name}: no value")
    reduced = _reduce_axes(body, name)
    kinds = tuple(value.data_type for value in body)
    _require_scalars(f"compute {name}", *kinds)
    op = ComputeOp(name, extents, kinds, location_of_user(), axis, reduced, body, tag, dict(attrs or {}))
    return tuple(op.output(n) for n in range(len(body))) if len(body) > 1 else op.output(0)


def _axis_names(
    fcompute: Callable[..., Any], rank: int, name: str, varargs_names: Sequence[str] | None
) -> Sequence[str]:
    """The names of the axes: the names of the parameters of `fcompute`."""
    parameters = list(inspect.signature(fcompute).parameters.values())
    star = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if star is None:
        if len(plain) != rank:
            raise TeError(f"compute {name}: a function of {len(plain)} variables for {rank} dimensions")
        return plain
    more = rank - len(plain)
    if more < 0:
        raise TeError(f"compute {name}: a function of at least {len(plain)} variables for {rank} dimensions")
    if varargs_names is not None:
        if len(varargs_names) != more:
            raise TeError(f"compute {name}: {len(varargs_names)} names for the {more} variables of *{star}")
        return [*plain, *varargs_names]
    return [*plain, *(f"{star}{n}" for n in range(more))]


def _reduce_axes(body: Sequence[PrimExpr], name: str) -> tuple[IterVar, ...]:
    """The reduction axes of the values of a compute. TeError for reductions that one block cannot compute."""
    first = body[0]
    for value in body:
        if isinstance(value, Reduce) != isinstance(first, Reduce):
            raise TeError(f"compute {name}: some values are reductions and others are not")
        if isinstance(value, Reduce) and isinstance(first, Reduce) and not value.is_of(first):
            raise TeError(f"compute {name}: its values are of different reductions, expected those of one")
        inner = value.children if isinstance(value, Reduce) else (value,)
        if any(_has_reduction(child) for child in inner):
            raise TeError(
                f"compute {name}: a reduction inside of an expression; compute it as a tensor of its own, and use that"
            )
    if not isinstance(first, Reduce):
        return ()
    indices = [value.value_index for value in body if isinstance(value, Reduce)]
    if indices != list(range(len(first.source))):
        raise TeError(
            f"compute {name}: value{'s' * (len(indices) > 1)} {', '.join(map(str, indices))} of a reduction that gives "
            f"{len(first.source)}, expected all of them in their order"
        )
    return first.axis


def _has_reduction(expr: PrimExpr) -> bool:
    todo, seen = [expr], set[PrimExpr]()
    while todo:
        top = todo.pop()
        if isinstance(top, Reduce):
            return True
        if top not in seen:
            seen.add(top)
            todo += top.children
    return False


def var(name: str = "tindex", dtype: str = "int32", span: None = None) -> Var:
    """A variable for a size that is known at run time."""
    return Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: None = None) -> SizeVar:
    """A variable for a non-negative size that is known at run time."""
    return SizeVar(name, dtype)
