"""Faster implementations of functions of xDSL 0.74.0, which return what the originals return.

Passes call these functions for each operation, operand and type; together they took a third of the time of a
compilation. No issue is open for any.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import Any

from xdsl.builder import _current_builder
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, IntegerType, MemRefType, VectorType, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import BlockOps, OpOperands, SSAValues, _IRNode
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OpDef,
    OptionalDef,
    VariadicDef,
    operations,
)
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    SingleAttrAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
    get_construct_name,
    get_op_constructs,
)
from xdsl.utils.exceptions import VerifyException

from .keeping import kept_with_argument

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

_IR = (Attribute, SSAValue, Operation, Block, Region)


# Identity: values and operations are hashed and compared by functions of Python that return what those of `object` do.

for _cls in (SSAValue, Operation, IRDLOperation, Block, Region):
    _cls.__hash__ = object.__hash__
    _cls.__eq__ = object.__eq__


# Hashes: that of a type is the hash of a tuple of attributes, each of which hashes its own attributes.


def _hash_once(cls: Any) -> None:
    compute = cls.__hash__

    def cached_hash(self: Any) -> int:
        fields = self.__dict__
        known = fields.get("_hash")
        if known is None:
            known = fields["_hash"] = compute(self)
        return known

    cls.__hash__ = cached_hash


for _cls in (IntegerType, VectorType, MemRefType):
    _hash_once(_cls)


# Fields: a property is read by a function of C.

_FIELDS: dict[type[Any], dict[str, str]] = {
    SSAValue: {"type": "_type"},
    OpResult: {"owner": "op"},
    BlockArgument: {"owner": "block"},
    Operation: {"next_op": "_next_op", "prev_op": "_prev_op"},
    Block: {"args": "_args", "first_op": "_first_op", "last_op": "_last_op", "next_block": "_next_block"},
    Region: {"first_block": "_first_block", "last_block": "_last_block"},
    Use: {"operation": "_operation", "index": "_index"},
}
for _cls, _names in _FIELDS.items():
    for _name, _field in _names.items():
        setattr(_cls, _name, property(attrgetter(_field)))


# Ancestors: operations, blocks and regions all have a field for what contains them.


def _is_ancestor(self: Any, op: Any) -> bool:
    while op is not None:
        if op is self:
            return True
        op = op.parent
    return False


def _parent_op(self: Operation) -> Operation | None:
    region = None if self.parent is None else self.parent.parent
    return None if region is None else region.parent


_IRNode.is_ancestor = _is_ancestor
Operation.parent_op = _parent_op


# isinstance: a check with an abstract class calls a function of Python. No class is registered as a virtual subclass.


class _Concrete(ABCMeta):
    """The type of classes whose instances are those of their subclasses alone."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _check_concretely(cls: type) -> None:
    if type(cls) is ABCMeta:
        cls.__class__ = _Concrete
    for subclass in type.__subclasses__(cls):
        _check_concretely(subclass)


for _cls in _IR:
    _check_concretely(_cls)


# Walks: each operation passes through a generator for each region, block and operation around it. Here one generator
# yields all operations, in the same order; the next operation and the next block are determined at the same steps.


class OfKinds(dict[type[Any], bool]):
    """Whether each type, of operations for instance, is one of some types."""

    def __init__(self, kinds: tuple[type[Any], ...]):
        super().__init__()
        self.kinds = kinds

    def __missing__(self, kind: type[Any]) -> bool:
        answer = self[kind] = issubclass(kind, self.kinds)
        return answer


_ALL = OfKinds((Operation,))


def walk(root: Operation | Block | Region, are_yielded: OfKinds = _ALL) -> Iterator[Operation]:
    """Yields an operation and all inside, or all in a block or a region, if their types are yielded."""
    pending: list[Any] = [root]  # an operation on the stack stands for the rest of its block
    if isinstance(root, Operation):
        if are_yielded[type(root)]:
            yield root
        pending = list(reversed(root.regions))
    elif type(root) is Block:
        pending = [root._first_op]
    while pending:
        entry: Any = pending.pop()
        if type(entry) is Region:
            entry = entry._first_block
        if type(entry) is Block:
            if entry._next_block is not None:
                pending.append(entry._next_block)
            entry = entry._first_op
        while entry is not None:
            following = entry._next_op
            if are_yielded[type(entry)]:
                yield entry
            if entry.regions:
                if following is not None:
                    pending.append(following)
                pending.extend(reversed(entry.regions))
                break
            entry = following


def _walk_with_one_generator(cls: type[Operation | Block | Region]) -> None:
    original = cls.walk

    def walk_in_order(self: Any, *, reverse: bool = False, region_first: bool = False) -> Iterable[Operation]:
        return original(self, reverse=reverse, region_first=region_first) if reverse or region_first else walk(self)

    cls.walk = walk_in_order


for _cls in (Operation, Block, Region):
    _walk_with_one_generator(_cls)


def _ops_from(op: Operation | None) -> Iterator[Operation]:
    """Yields an operation and those after it in its block."""
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _count_ops(self: BlockOps) -> int:
    """The number of operations of a block, which `list` asks for."""
    count, op = 0, self.block._first_op
    while op is not None:
        count, op = count + 1, op._next_op
    return count


BlockOps.__iter__ = lambda self: _ops_from(self.block._first_op)
BlockOps.__len__ = _count_ops


# Insertion and erasure: an operation without regions contains no block, and a value without uses needs no replacement.

_attach = Block._attach_op
_erase_value = SSAValue.erase


def _attach_op(self: Block, operation: Operation) -> None:
    if operation.regions or operation.parent is not None:
        _attach(self, operation)
    else:
        operation.parent = self


def _insert_before(self: Block, new_op: Operation, existing_op: Operation) -> None:
    if existing_op.parent is not self:
        raise ValueError("Can't insert operation before operation not in current block")
    self._attach_op(new_op)
    new_op._prev_op = before = existing_op._prev_op
    new_op._next_op = existing_op
    existing_op._prev_op = new_op
    if before is None:
        self._first_op = new_op
    else:
        before._next_op = new_op


def _insert_after(self: Block, new_op: Operation, existing_op: Operation) -> None:
    if existing_op.parent is not self:
        raise ValueError("Can't insert operation after operation not in this block.")
    self._attach_op(new_op)
    new_op._next_op = after = existing_op._next_op
    new_op._prev_op = existing_op
    existing_op._next_op = new_op
    if after is None:
        self._last_op = new_op
    else:
        after._prev_op = new_op


def _erase_unused(self: SSAValue, safe_erase: bool = True) -> None:
    if self.first_use is not None:
        _erase_value(self, safe_erase)


def _drop_all_references(self: Operation) -> None:
    self.parent = None
    for operand, use in zip(self._operands, self._operand_uses, strict=False):
        before, after = use._prev_use, use._next_use
        if after is not None:
            after._prev_use = before
        if before is None:
            operand.first_use = after
        else:
            before._next_use = after
    for successor, use in zip(self._successors, self._successor_uses, strict=False):
        successor.remove_use(use)
    self._operand_uses = self._successors = self._successor_uses = ()
    for region in self.regions:
        region.drop_all_references()


def _add_op(self: Block, operation: Operation) -> None:
    self._attach_op(operation)
    operation._prev_op = last = self._last_op
    if last is None:
        self._first_op = operation
    else:
        last._next_op = operation
    self._last_op = operation


Block._attach_op = _attach_op
Block.add_op = _add_op
Block.insert_op_before = _insert_before
Block.insert_op_after = _insert_after
SSAValue.erase = _erase_unused
Operation.drop_all_references = _drop_all_references


# Operands: `op.operands` is a view, whose elements are found by further functions, and `op.lhs` one of its elements.

_element = tuple.__getitem__


def _get_value(self: SSAValues[Any], index: Any) -> Any:
    return _element(self, index) if type(index) is int else SSAValues(_element(self, index))


def _get_operand(self: OpOperands, index: Any) -> Any:
    values = self._op._operands
    return _element(values, index) if type(index) is int else values[index]


def _set_operand(self: OpOperands, index: Any, operand: SSAValue) -> None:
    op: Any = self._op
    values, use = list(op._operands), op._operand_uses[index]
    values[index].remove_use(use)
    operand.add_use(use)
    values[index] = operand
    op._operands = SSAValues(values)


def _values_of(op: Any, construct: VarIRConstruct) -> Any:
    """The operands, results, regions or successors of an operation."""
    if construct is VarIRConstruct.OPERAND:
        return op._operands
    return op.results if construct is VarIRConstruct.RESULT else get_op_constructs(op, construct)


def _get_construct(self: BeforeVariadicSingleAccessor, obj: Any, _objtype: Any = None) -> Any:
    construct = self.construct
    if construct is VarIRConstruct.OPERAND:
        return _element(obj._operands, self.idx)
    if construct is VarIRConstruct.RESULT:
        return _element(obj.results, self.idx)
    return obj.regions[self.idx] if construct is VarIRConstruct.REGION else obj.successors[self.idx]


def _get_accessed(self: BaseAccessor, obj: Any, _objtype: Any = None) -> Any:
    return self.index(_values_of(obj, self.construct))


def _get_unique(self: UniqueVariadicAccessor, obj: Any, _objtype: Any = None) -> Any:
    values = _values_of(obj, self.construct)
    return _slice(values, self.idx, self.idx + len(values) - self.num_defs + 1)


def _slice(values: Any, start: int, end: int) -> Any:
    part = slice(start, end)
    return SSAValues(_element(values, part)) if type(values) is SSAValues else values[part]


def _ends_of(accessor: BaseAttrAccessor, op: Any) -> tuple[int, ...]:
    """The numbers of operands or results of an operation before each in its definition, and of all."""
    option = accessor.option
    return _ends((op.properties if option.as_property else op.attributes)[option.attribute_name])


@kept_with_argument
def _ends(sizes: Any) -> tuple[int, ...]:
    """The sums of the first numbers of an array, which operations share."""
    return tuple(accumulate(sizes.get_values(), initial=0))


def _get_sized(self: BaseAttrAccessor, obj: Any, _objtype: Any = None) -> Any:
    index = _ends_of(self, obj)[self.idx]
    if self.construct is VarIRConstruct.OPERAND:
        return _element(obj._operands, index)
    return _values_of(obj, self.construct)[index]


def _get_optional(self: BaseAttrAccessor, obj: Any, _objtype: Any = None) -> Any:
    ends, index = _ends_of(self, obj), self.idx
    return _values_of(obj, self.construct)[ends[index]] if ends[index + 1] > ends[index] else None


def _get_sized_list(self: BaseAttrAccessor, obj: Any, _objtype: Any = None) -> Any:
    ends, index = _ends_of(self, obj), self.idx
    return _slice(_values_of(obj, self.construct), ends[index], ends[index + 1])


_list_sizes = DenseArrayBase.from_list


@lru_cache(maxsize=1024)
def _shared_sizes(sizes: tuple[int, ...]) -> DenseArrayBase[Any]:
    return _list_sizes(i32, sizes)


@lru_cache(maxsize=1024)
def _shared_numbers(numbers: tuple[int, ...]) -> DenseArrayBase[Any]:
    return _list_sizes(i64, numbers)


def _array_of(data_type: Any, data: Sequence[Any]) -> DenseArrayBase[Any]:
    if (data_type is i32 or data_type is i64) and all([type(number) is int for number in data]):
        return (_shared_sizes if data_type is i32 else _shared_numbers)(tuple(data))
    return _list_sizes(data_type, data)


DenseArrayBase.from_list = staticmethod(_array_of)
Operation.operands = Operation.operands.getter(OpOperands)
SSAValues.__getitem__ = _get_value
BaseAccessor.__get__ = _get_accessed
UniqueVariadicAccessor.__get__ = _get_unique
SingleAttrAccessor.__get__ = _get_sized
OptionalAttrAccessor.__get__ = _get_optional
VariadicAttrAccessor.__get__ = _get_sized_list
OpOperands.__getitem__ = _get_operand
OpOperands.__setitem__ = _set_operand
BeforeVariadicSingleAccessor.__get__ = _get_construct


# Construction: operations without successors do without their lists, and defaults of attributes are looked up once for
# a kind of operation.


def _init_operation(
    self: Any,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: Any = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    self._operands = values = SSAValues(operands)
    uses: list[Use] = []
    for index, value in enumerate(values):
        use = object.__new__(Use)  # its neighbours are None by default
        use._operation, use._index = self, index
        use._next_use = first = value.first_use
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    self._operand_uses = tuple(uses)
    results: list[OpResult] = []
    for index, type in enumerate(result_types):
        result = object.__new__(OpResult)  # without name and uses by default
        result._type, result.op, result.index = type, self, index
        results.append(result)
    self.results = SSAValues(results)
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = successors
    else:
        self._successors = self._successor_uses = ()
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


Operation.__init__ = _init_operation


@cache
def _defaults(cls: type[IRDLOperation]) -> tuple[list[tuple[str, Attribute]], list[tuple[str, Attribute]]]:
    """The default values of the properties and of the attributes of a kind of operation."""
    definition = cls.get_irdl_definition()
    properties, attributes = (
        [
            (name, each.default_value)
            for name, each in definitions.items()
            if not isinstance(each, OptionalDef) and each.default_value is not None
        ]
        for definitions in (definition.properties, definition.attributes)
    )
    return properties, attributes


def _set_defaults(self: IRDLOperation) -> None:
    properties, attributes = _defaults(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    if _current_builder.builder is not None:
        _current_builder.builder.insert(self)


IRDLOperation.__post_init__ = _set_defaults


@cache
def _plain_counts(cls: type[IRDLOperation]) -> tuple[int, int] | None:
    """The numbers of operands and of results of a kind of operation; None if they differ between operations, or if the
    kind has regions or successors."""
    definition = cls.get_irdl_definition()
    values = [each for _, each in (*definition.operands, *definition.results)]
    if definition.options or definition.regions or definition.successors:
        return None
    if any(isinstance(each, VariadicDef) for each in values):
        return None
    return len(definition.operands), len(definition.results)


_LISTS = (list, tuple)


@dataclass(frozen=True)
class _Layout:
    """The operands, results and regions of a kind of operation.

    operands, results: whether each is variadic, and whether it is optional.  sizes: whether the numbers of operands and
    of results are properties, attributes (False) or neither (None).
    """

    operands: list[tuple[bool, bool]]
    results: list[tuple[bool, bool]]
    regions: int
    sizes: tuple[bool | None, bool | None]


@cache
def _layout(cls: type[IRDLOperation]) -> _Layout | None:
    """The layout of a kind of operation; None if it has successors, variadic regions or numbers that must agree."""
    definition = cls.get_irdl_definition()
    known = (AttrSizedOperandSegments, AttrSizedResultSegments)
    if definition.successors or not all(isinstance(each, known) for each in definition.options):
        return None
    if any(isinstance(each, VariadicDef) for _, each in definition.regions):
        return None
    operands, results = (
        [(isinstance(each, VariadicDef), isinstance(each, OptionalDef)) for _, each in values]
        for values in (definition.operands, definition.results)
    )
    stored = {type(each): each.as_property for each in definition.options if isinstance(each, known)}
    return _Layout(operands, results, len(definition.regions), (stored.get(known[0]), stored.get(known[1])))


_VALUES, _ATTRIBUTES = OfKinds((SSAValue,)), OfKinds((Attribute,))


def _are_of(kinds: OfKinds, values: Iterable[Any]) -> bool:
    for value in values:
        if not kinds[type(value)]:
            return False
    return True


def _flatten(
    arguments: Sequence[Any], definitions: list[tuple[bool, bool]], kinds: OfKinds
) -> tuple[list[Any], list[int]] | None:
    """The values of the arguments for some operands or results, and their number for each argument; None if an argument
    is neither a value of the kinds nor a list that its definition accepts.

    definitions: whether each operand or result is variadic, and whether it is optional.
    """
    if len(arguments) != len(definitions):
        return None
    values: list[Any] = []
    sizes: list[int] = []
    for argument, (is_variadic, is_optional) in zip(arguments, definitions, strict=True):
        if kinds[type(argument)]:
            values.append(argument)
            sizes.append(1)
        elif argument is None and is_optional:
            sizes.append(0)
        elif isinstance(argument, _LISTS) and is_variadic and (not is_optional or len(argument) <= 1):
            if not _are_of(kinds, argument):
                return None
            values += argument
            sizes.append(len(argument))
        else:
            return None
    return values, sizes


_init_irdl_operation = IRDLOperation.__init__


def _init_plain_operation(
    self: IRDLOperation,
    *,
    operands: Sequence[Any] | None = None,
    result_types: Sequence[Any] | None = None,
    properties: Mapping[str, Attribute | None] | None = None,
    attributes: Mapping[str, Attribute | None] | None = None,
    successors: Sequence[Any] | None = None,
    regions: Sequence[Any] | None = None,
) -> None:
    operands, result_types, regions = operands or (), result_types or (), regions or ()
    properties, attributes = properties or {}, attributes or {}
    if (
        not successors
        and not regions
        and _plain_counts(type(self)) == (len(operands), len(result_types))
        and _are_of(_VALUES, operands)
        and _are_of(_ATTRIBUTES, result_types)
    ):
        _init_operation(
            self,
            operands=operands,
            result_types=result_types,
            properties=_given(properties) if properties else {},
            attributes=_given(attributes) if attributes else {},
        )
        return
    if (
        not successors
        and (layout := _layout(type(self))) is not None
        and len(regions) == layout.regions
        and all([isinstance(each, Region) for each in regions])
        and (flat_operands := _flatten(operands, layout.operands, _VALUES)) is not None
        and (flat_results := _flatten(result_types, layout.results, _ATTRIBUTES)) is not None
    ):
        containers = _given(attributes), _given(properties)
        for name, is_property, sizes in (
            (AttrSizedOperandSegments.attribute_name, layout.sizes[0], flat_operands[1]),
            (AttrSizedResultSegments.attribute_name, layout.sizes[1], flat_results[1]),
        ):
            if is_property is not None:
                containers[is_property][name] = DenseArrayBase.from_list(i32, sizes)
        _init_operation(
            self,
            operands=flat_operands[0],
            result_types=flat_results[0],
            properties=containers[True],
            attributes=containers[False],
            regions=regions,
        )
        return
    _init_irdl_operation(
        self,
        operands=operands,
        result_types=result_types,
        properties=properties,
        attributes=attributes,
        successors=successors,
        regions=regions,
    )


def _given(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    """The attributes that are not None."""
    return {name: each for name, each in attributes.items() if each is not None}


IRDLOperation.__init__ = _init_plain_operation


# Copies: an operation without regions and successors is copied with its operands, and a tree of operations in one walk.
# A value may be used before the operation that defines it: such operands are replaced at the end.

_clone = Operation.clone
_clone_without_regions = Operation.clone_without_regions


def _clone_plainly(
    self: Any,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Any:
    if self.regions or self._successors:
        return _clone_without_regions(
            self, value_mapper, block_mapper, clone_name_hints=clone_name_hints, clone_operands=clone_operands
        )
    mapper: dict[SSAValue, SSAValue] = {} if value_mapper is None else value_mapper
    own: Sequence[SSAValue] = self._operands if clone_operands else ()
    copy = object.__new__(type(self))
    _init_operation(
        copy,
        operands=[mapper[each] if each in mapper else each for each in own],
        result_types=[each._type for each in self.results],
        properties=self.properties,
        attributes=self.attributes,
        location=self.location,
    )
    for old, new in zip(self.results, copy.results, strict=True):
        mapper[old] = new
        if clone_name_hints and old._name is not None:
            _name_copy(new, old._name)
    return copy


def _name_copy(new: SSAValue, name: str) -> None:
    if "_" not in name:
        new._name = name
    else:  # each copy loses a number at the end
        new.name_hint = name


def _clone_tree(
    self: Any,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Any:
    if not self.regions:
        return self.clone_without_regions(
            value_mapper, block_mapper, clone_name_hints=clone_name_hints, clone_operands=clone_operands
        )
    if not clone_operands:
        return _clone(self, value_mapper, block_mapper, clone_name_hints=clone_name_hints, clone_operands=False)
    values, blocks = {} if value_mapper is None else value_mapper, {} if block_mapper is None else block_mapper
    outer: list[tuple[Operation, int, SSAValue]] = []

    def copy_of(op: Operation) -> Operation:
        copy = op.clone_without_regions(values, blocks, clone_name_hints=clone_name_hints)
        for n, each in enumerate(op._operands):
            if each not in values:
                outer.append((copy, n, each))
        if op.regions:
            for region, target in zip(op.regions, copy.regions, strict=True):
                copy_region(region, target)
        return copy

    def copy_region(region: Region, target: Region) -> None:
        for block in region.blocks:
            blocks[block] = new = Block(arg_types=[each._type for each in block._args])
            target.add_block(new)
        for block in region.blocks:
            new = blocks[block]
            for old, argument in zip(block._args, new._args, strict=True):
                values[old], argument.location = argument, old.location
                if clone_name_hints and old._name is not None:
                    _name_copy(argument, old._name)
            for op in block.ops:
                new.add_op(copy_of(op))

    copy = copy_of(self)
    for op, index, operand in outer:
        if operand in values:
            op.operands[index] = values[operand]
    return copy


Operation.clone_without_regions = _clone_plainly
Operation.clone = _clone_tree


# Verification: most kinds of operations have fixed numbers of operands, results, regions and successors.

_verify_numbers = operations.verify_variadic_size
_verify_types = operations.irdl_op_verify_arg_list


@kept_with_argument
def _fixed_counts(definition: OpDef) -> tuple[int | None, ...]:
    """The numbers of operands, results, regions and successors of a kind of operation, in order of the values of
    `VarIRConstruct`; None for a number that differs between operations."""
    constructs = (definition.operands, definition.results, definition.regions, definition.successors)
    counts = [None if any(isinstance(each, VariadicDef) for _, each in items) else len(items) for items in constructs]
    return None, *counts


def _verify_fixed_number(op: Any, op_def: OpDef, construct: Any) -> None:
    if construct is VarIRConstruct.OPERAND:
        values = op._operands
    elif construct is VarIRConstruct.RESULT:
        values = op.results
    else:
        values = op.regions if construct is VarIRConstruct.REGION else op._successors
    if _fixed_counts(op_def)[construct._value_] != len(values):
        _verify_numbers(op, op_def, construct)


def _verify_fixed_types(op: Any, op_def: OpDef, construct: Any, constraint_context: Any) -> None:
    is_operand = construct is VarIRConstruct.OPERAND
    values, kinds = (op._operands, op_def.operands) if is_operand else (op.results, op_def.results)
    if _fixed_counts(op_def)[construct._value_] != len(values):
        _verify_types(op, op_def, construct, constraint_context)
        return
    position = 0
    try:
        for value, (_, kind) in zip(values, kinds, strict=True):
            kind.constr.verify((value._type,), constraint_context)
            position += 1
    except VerifyException as error:  # a second verification succeeds: variables of constraints are these types now
        place = f"{get_construct_name(construct)} '{kinds[position][0]}' at position {position}"
        raise VerifyException(f"{place} does not verify:\n{error}") from error


operations.verify_variadic_size = _verify_fixed_number
operations.irdl_op_verify_arg_list = _verify_fixed_types
