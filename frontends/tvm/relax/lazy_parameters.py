"""Functions that fetch weights when they need them, and store results as soon as they have them:
`LazyTransformParams`, `LazyGetInput`, `LazySetOutput`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, NoneAttr, TupleType, UnitAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....core.errors import UnsupportedError
from ....core.identifiers import fresh_name
from ....core.walking import find_ops
from ....core.xdsl_compat import set_name_hint
from ....dialects.tir.base import annotations_attr, string_array
from ....operators.relax import (
    CallableType,
    CallOp,
    CallPackedOp,
    CallPurePackedOp,
    DataflowOp,
    FuncOp,
    FuncRefOp,
    MatchCastOp,
    ObjectType,
    PrimType,
    PrimValueOp,
    ReturnOp,
    ShapeOp,
    ShapeType,
    StringOp,
    TupleGetOp,
    TupleOp,
)
from ....operators.relax.devices import param_devices
from ....operators.relax.types import names_bound_by, names_in, prim, tuple_type
from ....operators.relay import ConstantOp
from ....transforms.relax.functions import insert_before, relax_functions
from ....transforms.relax.inline_dataflow import inline_region
from ....transforms.relax.lift_parameters import NUM_INPUT
from ....transforms.relay.graphs import erase
from .effects import FORCE_PURE
from .expr import Var

_LITERALS = (ConstantOp, PrimValueOp, ShapeOp, StringOp, FuncRefOp)
_INVOKE = "vm.builtin.invoke_closure"
Fetch = Callable[[Operation, int, str], SSAValue]
"""A function from an operation, the position and the name of a weight, that inserts the call before the operation and
returns its result."""
Store = Callable[[Operation, int, SSAValue], None]
"""A function from an operation, the position of a result and the result, that inserts the call before the operation."""


def fetch_and_store(
    module: ModuleOp, get: str, store: str | None, get_params: Sequence[Var], set_params: Sequence[Var]
) -> None:
    """Rewrites the functions whose names end in `transform_params`, in place, as of `LazyTransformParams`."""
    for func in relax_functions(module):
        if not func.sym_name.data.endswith("transform_params"):
            continue
        lazy = _LazyFunction(module, func)
        fields = lazy.weights_or_fields()
        extra = dict.fromkeys((*get_params, *set_params))
        args = {var: lazy.add_parameter(var.name_hint, var.struct_info.type) for var in extra}
        lazy.keep_sizes(fields)
        lazy.fetch(fields, _fetch_by_name(get, [args[var] for var in get_params]))
        if store is not None:
            lazy.store(_store_by_name(store, [args[var] for var in set_params]))
        lazy.finish(lazy.inputs)
        func.impure = UnitAttr()


def fetch_by_callback(module: ModuleOp) -> None:
    """Rewrites functions that are not private, in place, as of `LazyGetInput`."""
    for func in relax_functions(module):
        if func.private is None:
            lazy = _LazyFunction(module, func)
            weights = lazy.weights()
            callback = lazy.add_parameter("fget_param", _callback_type(ObjectType(), impure=False))
            lazy.fetch(weights, _fetch_by_value(callback))
            lazy.finish(lazy.inputs + 1)


def store_by_callback(module: ModuleOp) -> None:
    """Rewrites functions that are not private, in place, as of `LazySetOutput`."""
    for func in relax_functions(module):
        if func.private is None:
            count = _input_count(func)
            lazy = _LazyFunction(module, func)
            position = len(func.params) if count is None else count
            callback = lazy.add_parameter("fset_output", _callback_type(tuple_type([]), impure=True), position)
            lazy.store(_store_by_value(callback))
            lazy.finish(None if count is None else count + 1)
            func.impure = UnitAttr()


def _callback_type(result: Attribute, *, impure: bool) -> CallableType:
    inputs = ArrayAttr[Attribute]([prim(None, "int64"), ObjectType()])
    return CallableType(inputs, result, UnitAttr() if impure else NoneAttr())


def _input_count(func: FuncOp) -> int | None:
    """The number of inputs among the parameters, which precede the weights; None if the function does not state it."""
    count = None if func.func_attrs is None else func.func_attrs.data.get(NUM_INPUT)
    if not isinstance(count, IntegerAttr):
        return None
    if not 0 <= count.value.data <= len(func.params):
        raise UnsupportedError(
            f"function {func.sym_name.data}: {count.value.data} inputs of {len(func.params)} parameters"
        )
    return count.value.data


# Calls


def _insert(op: Operation, new: Operation) -> SSAValue:
    insert_before(op, new)
    return new.results[0]


def _fetch_by_name(name: str, extra: Sequence[SSAValue]) -> Fetch:
    def fetch(op: Operation, index: int, _: str) -> SSAValue:
        return _insert(op, CallPackedOp(name, [*extra, _insert(op, PrimValueOp(prim(index)))], ObjectType()))

    return fetch


def _fetch_by_value(callback: SSAValue) -> Fetch:
    def fetch(op: Operation, index: int, name: str) -> SSAValue:
        operands = [callback, _insert(op, PrimValueOp(prim(index))), _insert(op, StringOp(name))]
        return _insert(op, CallPurePackedOp(_INVOKE, operands, ObjectType()))

    return fetch


def _store_by_name(name: str, extra: Sequence[SSAValue]) -> Store:
    def store(op: Operation, index: int, value: SSAValue) -> None:
        _insert(op, CallPackedOp(name, [*extra, _insert(op, PrimValueOp(prim(index))), value], ObjectType()))

    return store


def _store_by_value(callback: SSAValue) -> Store:
    def store(op: Operation, index: int, value: SSAValue) -> None:
        operands = [callback, _insert(op, PrimValueOp(prim(index))), value]
        _insert(op, CallPackedOp(_INVOKE, operands, ObjectType()))

    return store


# Functions


class _LazyFunction:
    """The rewrite of a function. inputs: the number of parameters that stay."""

    def __init__(self, module: ModuleOp, func: FuncOp):
        """UnsupportedError for a function that the module itself calls, and for weights on stated devices."""
        name = func.sym_name.data
        used = {op.callee.string_value() for kind in (CallOp, FuncRefOp) for op in find_ops(module, kind)}
        if name in used:
            raise UnsupportedError(f"function {name} gets other parameters, but the module calls it")
        self.func = func
        self.block: Block = func.body.block
        self.inputs = _input_count(func) or 0
        self._weights = list(func.body.block.args[self.inputs :])
        self._names = [each for each, _ in func.params]
        if devices := param_devices(func):
            raise UnsupportedError(f"function {name}: parameters {', '.join(devices)} on devices, expected none")
        for region in list(find_ops(func, DataflowOp)):
            inline_region(region)
        self._removed: list[SSAValue] = []

    def add_parameter(self, name: str, type: Attribute, position: int | None = None) -> BlockArgument:
        """A new parameter, by default the last one."""
        index = len(self._names) if position is None else position
        removed = set(self._removed)
        taken = {each for each, arg in zip(self._names, self.block.args, strict=True) if arg not in removed}
        argument = self.block.insert_arg(type, index)
        self._names.insert(index, fresh_name(name, taken))
        set_name_hint(argument, self._names[index])
        return argument

    def weights(self) -> list[SSAValue]:
        """The weights, which are no parameters from then on."""
        self._removed += self._weights
        return list[SSAValue](self._weights)

    def weights_or_fields(self) -> list[SSAValue]:
        """The weights, or the fields of the only one if it is a tuple."""
        weights = self.weights()
        if len(weights) != 1 or not isinstance(type := weights[0].type, TupleType):
            return weights
        (whole,), first = weights, self.block.first_op
        assert first is not None
        uses = list(whole.uses)
        fields = [_insert(first, TupleGetOp(whole, n)) for n in range(len(type.types.data))]
        for use in uses:
            if isinstance(get := use.operation, TupleGetOp):
                field = fields[get.index.value.data]
                if field.name_hint is None and get.output.name_hint is not None:
                    set_name_hint(field, get.output.name_hint)
                get.output.replace_all_uses_with(field)
                erase(get)
            else:
                use.operation.operands[use.index] = _insert(use.operation, TupleOp(fields))
        self._removed += fields
        return fields

    def keep_sizes(self, weights: Sequence[SSAValue]) -> None:
        """Replaces shapes and numbers that have names of sizes by parameters."""
        for n, value in enumerate(weights):
            if isinstance(value.type, ShapeType | PrimType) and names_in(value.type):
                kept = self.add_parameter(value.name_hint or f"sizes{n}", value.type)
                value.replace_all_uses_with(kept)

    # Weights

    def fetch(self, weights: Sequence[SSAValue], fetch: Fetch) -> None:
        """Replaces weights by the results of calls before their first uses; those whose sizes have names are fetched
        first."""
        first = self.block.first_op
        assert first is not None
        removed = set(self._removed)
        known = {name for arg in self.block.args if arg not in removed for name in names_bound_by(arg.type)}
        for n in self._in_order_of_names(weights, known):
            self._replace(weights[n], fetch, n, first)
        for n, weight in enumerate(weights):
            if weight.uses:
                self._replace(weight, fetch, n, self._first_user(weight))

    def _in_order_of_names(self, weights: Sequence[SSAValue], known: set[str]) -> list[int]:
        """The positions of the weights with names of sizes that are needed, each after those that bind the names of its
        expressions."""
        left = [n for n, weight in enumerate(weights) if names_in(weight.type)]
        ordered: list[int] = []
        while left:
            ready = next(
                (n for n in left if set(names_in(weights[n].type)) <= known | set(names_bound_by(weights[n].type))),
                None,
            )
            if ready is None:
                types = ", ".join(str(weights[n].type) for n in left)
                raise UnsupportedError(
                    f"function {self.func.sym_name.data}: weights {types} whose sizes need each other"
                )
            left.remove(ready)
            if weights[ready].uses or not set(names_bound_by(weights[ready].type)) <= known:
                ordered.append(ready)
            known |= set(names_bound_by(weights[ready].type))
        return ordered

    def _first_user(self, value: SSAValue) -> Operation:
        """The first operation of the body with a use of a value in it."""
        users = {self.block.find_ancestor_op_in_block(use.operation) for use in value.uses}
        return next(op for op in self.block.ops if op in users)

    def _replace(self, weight: SSAValue, fetch: Fetch, index: int, place: Operation) -> None:
        name = weight.name_hint or f"param{index}"
        cast = _insert(place, MatchCastOp(fetch(place, index, name), weight.type))
        set_name_hint(cast, name)
        weight.replace_all_uses_with(cast)

    # Results

    def store(self, store: Store) -> None:
        """Stores the results, the fields if the function returns a tuple, where they are computed, and returns
        nothing."""
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        whole = last.value
        results = [whole]
        if isinstance(whole.owner, TupleOp):
            results = list(whole.owner.values)
        elif isinstance(whole.type, TupleType):
            results = [_insert(last, TupleGetOp(whole, n)) for n in range(len(whole.type.types.data))]
        first = self.block.first_op
        assert first is not None
        places = [self._after(value, first, last) for value in results]
        for n, (value, place) in enumerate(zip(results, places, strict=True)):
            store(place, n, value)
        nothing = _insert(last, TupleOp([]))
        last.operands[0] = nothing
        self.func.result_type = nothing.type
        if isinstance(whole.owner, TupleOp) and not whole.uses:
            erase(whole.owner)

    def _after(self, value: SSAValue, first: Operation, last: Operation) -> Operation:
        """The operation before which a result is stored: the one after its computation."""
        if not isinstance(value.owner, Operation):
            return first
        if isinstance(value.owner, _LITERALS):
            return last
        following = value.owner.next_op
        assert following is not None
        return following

    # The end

    def finish(self, inputs: int | None) -> None:
        """Removes the weights. inputs: the number that the function states then, if it does."""
        for value in reversed(self._removed):
            if isinstance(value, BlockArgument):
                del self._names[value.index]
                self.block.erase_arg(value)
            elif isinstance(value.owner, TupleGetOp):
                erase(value.owner)
        self.func.param_names = string_array(self._names)
        attrs = {} if self.func.func_attrs is None else dict(self.func.func_attrs.data)
        attrs.pop(FORCE_PURE, None)
        if inputs is not None and (inputs or NUM_INPUT in attrs):
            attrs[NUM_INPUT] = IntegerAttr(inputs, i64)
        self.func.func_attrs = annotations_attr(attrs)
