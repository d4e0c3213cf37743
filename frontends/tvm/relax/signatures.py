"""Parameters and results of the private functions of a module: unused ones, and tuples as several values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ....core.identifiers import fresh_name
from ....core.walking import find_ops
from ....core.xdsl_compat import set_name_hint
from ....dialects.tir.base import string_array
from ....operators.relax import (
    CallOp,
    CallTirInplaceOp,
    CallTirOp,
    FuncOp,
    FuncRefOp,
    PrimValueOp,
    ReturnOp,
    ShapeOp,
    TupleGetOp,
    TupleOp,
)
from ....operators.relax.functions import sizes_of_call
from ....operators.relax.types import names_bound_by, names_in, prim, substitute, tuple_type
from ....transforms.relax.functions import insert_before, relax_functions, replace_call
from ....transforms.relay.graphs import erase, replace


def _private_functions(module: ModuleOp) -> Iterator[tuple[FuncOp, list[CallOp]]]:
    """The private functions that are called and used in no other way, with their calls."""
    used = {op.callee.string_value() for op in find_ops(module, FuncRefOp)}
    for func in relax_functions(module):
        name = func.sym_name.data
        if func.private is not None and name not in used:
            yield func, [op for op in find_ops(module, CallOp) if op.callee.string_value() == name]


def _used_names(func: FuncOp) -> list[str]:
    """The names of sizes in the result and in the body of a function, except in its parameters."""
    types = [func.result_type, *(result.type for op in func.walk() if op is not func for result in op.results)]
    texts = [each for op in func.walk() if isinstance(op, CallTirOp | CallTirInplaceOp) for each in op.size_texts]
    names = [*(name for type in types for name in names_in(type)), *(n for each in texts for n in names_in(prim(each)))]
    return list(dict.fromkeys(names))


# Parameters


def remove_unused_parameters(module: ModuleOp) -> None:
    """Removes the parameters of private functions that the functions do not use, in place. Names of sizes that the
    functions use, and that only removed parameters determine, become numbers among the parameters."""
    while any([_remove_parameters(func, calls) for func, calls in _private_functions(module)]):
        pass


def _remove_parameters(func: FuncOp, calls: Sequence[CallOp]) -> bool:
    names = _used_names(func)
    arguments = list(func.body.block.args)
    kept = [arg for arg in arguments if arg.uses]
    known = {name for arg in kept for name in names_bound_by(arg.type)}
    wanted = [name for name in names if name not in known]
    determined = {name for arg in arguments for name in names_bound_by(arg.type)}
    missing = [name for name in wanted if name in determined]
    states = [prim(name) for name in missing]
    if len(kept) == len(arguments) or [arg.type for arg in arguments if not arg.uses] == states:
        return False
    types = [arg.type for arg in arguments]
    for call in calls:
        sizes = sizes_of_call([arg.type for arg in call.args], types)
        numbers = [PrimValueOp(prim(sizes[name])) for name in missing]
        for each in numbers:
            insert_before(call, each)
        operands = [value for value, arg in zip(call.args, arguments, strict=True) if arg.uses]
        dropped = [value for value, arg in zip(call.args, arguments, strict=True) if not arg.uses]
        call.operands = [*operands, *(each.output for each in numbers)]
        for value in dropped:
            _erase_unused(value)
    taken = {name for name, arg in func.params if arg.uses}
    params = [name for name, arg in func.params if arg.uses]
    for arg in [arg for arg in arguments if not arg.uses]:
        func.body.block.erase_arg(arg)
    for name, type in zip(missing, states, strict=True):
        params.append(fresh_name(f"param_{name}", taken))
        set_name_hint(func.body.block.insert_arg(type, len(func.body.block.args)), params[-1])
    func.param_names = string_array(params)
    return True


def _erase_unused(value: SSAValue) -> None:
    """Erases the tuples, fields, shapes and numbers of a value that nothing uses."""
    owner = value.owner
    if isinstance(owner, PrimValueOp | ShapeOp | TupleGetOp | TupleOp) and not value.uses:
        operands = list(owner.operands)
        erase(owner)
        for operand in operands:
            _erase_unused(operand)


def expand_tuple_arguments(module: ModuleOp) -> None:
    """Replaces the parameters of private functions that are tuples by their fields, in place."""
    while any([_expand_tuples(func, calls) for func, calls in _private_functions(module)]):
        pass


def _expand_tuples(func: FuncOp, calls: Sequence[CallOp]) -> bool:
    position = next((n for n, arg in enumerate(func.body.block.args) if isinstance(arg.type, TupleType)), None)
    if position is None:
        return False
    argument = func.body.block.args[position]
    assert isinstance(argument.type, TupleType)
    types = list(argument.type.types.data)
    for call in calls:
        whole = call.args[position]
        fields = _fields_before(call, whole, len(types))
        call.operands = [*call.args[:position], *fields, *call.args[position + 1 :]]
        _erase_unused(whole)
    names = [name for name, _ in func.params]
    taken = set(names)
    new = [fresh_name(f"{names[position]}_{n}", taken) for n in range(len(types))]
    values = [_insert_parameter(func, position + 1 + n, type, new[n]) for n, type in enumerate(types)]
    _replace_fields(argument, values, func)
    func.body.block.erase_arg(argument)
    func.param_names = string_array([*names[:position], *new, *names[position + 1 :]])
    return True


def _insert_parameter(func: FuncOp, index: int, type: Attribute, name: str) -> BlockArgument:
    argument = func.body.block.insert_arg(type, index)
    set_name_hint(argument, name)
    return argument


def _fields_before(call: CallOp, value: SSAValue, count: int) -> list[SSAValue]:
    """The fields of a tuple, as operands of a call."""
    if isinstance(value.owner, TupleOp):
        return list(value.owner.values)
    gets = [TupleGetOp(value, n) for n in range(count)]
    for get in gets:
        insert_before(call, get)
    return [get.output for get in gets]


def _erase_dead(func: FuncOp) -> None:
    """Erases the operations of a function whose results nothing uses, in place."""
    for op in reversed(list(func.body.block.ops)):
        if op.results and is_trivially_dead(op):
            erase(op)


def _replace_fields(argument: SSAValue, values: Sequence[SSAValue], func: FuncOp) -> None:
    """Replaces the fields of a tuple by values, and the tuple by a new one where it is used whole."""
    for use in list(argument.uses):
        if isinstance(use.operation, TupleGetOp):
            replace(use.operation, [values[use.operation.index.value.data]])
    if argument.uses:
        whole = TupleOp(values)
        Rewriter.insert_op(whole, InsertPoint.at_start(func.body.block))
        argument.replace_all_uses_with(whole.output)


# Results


def remove_unused_outputs(module: ModuleOp) -> None:
    """Removes the fields of the results of private functions that no call uses, in place. A function with one field
    left returns the value itself."""
    for func, calls in _private_functions(module):
        last = func.body.block.last_op
        if not isinstance(last, ReturnOp) or not isinstance(last.value.owner, TupleOp) or not calls:
            continue
        users = [use.operation for call in calls for use in call.output.uses]
        count = len(last.value.owner.values)
        used = sorted({user.index.value.data for user in users if isinstance(user, TupleGetOp)})
        if all(isinstance(user, TupleGetOp) for user in users) and 0 < len(used) < count:
            _keep_fields(func, last, calls, used)


def _keep_fields(func: FuncOp, last: ReturnOp, calls: Sequence[CallOp], used: Sequence[int]) -> None:
    whole = last.value.owner
    assert isinstance(whole, TupleOp)
    values = [whole.values[n] for n in used]
    is_one = len(values) == 1
    stated = func.result_type
    types = [stated.types.data[n] for n in used] if isinstance(stated, TupleType) else [each.type for each in values]
    func.result_type = types[0] if is_one else tuple_type(types)
    if is_one:
        last.operands = [values[0]]
    else:
        new = TupleOp(values)
        insert_before(last, new)
        last.operands = [new.output]
    _erase_unused(whole.output)
    _erase_dead(func)
    parameters = list(func.body.block.arg_types)
    for call in calls:
        sizes = sizes_of_call([arg.type for arg in call.args], parameters)
        new_call = CallOp(func.sym_name.data, list(call.args), substitute(func.result_type, sizes))
        gets = [use.operation for use in call.output.uses]
        insert_before(call, new_call)
        if call.output.name_hint is not None:
            set_name_hint(new_call.output, call.output.name_hint)
        for get in gets:
            assert isinstance(get, TupleGetOp)
            if is_one:
                replace(get, [new_call.output])
            else:
                replace_call(get, TupleGetOp(new_call.output, used.index(get.index.value.data)))
        erase(call)
