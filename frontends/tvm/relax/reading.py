"""Functions of a module as nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ....core.errors import UnsupportedError
from ....operators import relax
from ....operators.relax.calls import result_types
from ....operators.relax.devices import param_devices
from ....operators.relax.spelling import COMPOSITES, spell, spelling_of_word
from ....operators.relax.types import number_of
from ....operators.relax.words import MEMBER, TUPLES
from ....operators.relay import ConstantOp, OperatorOp, shape_of
from ....operators.relay.constants import constant_array
from ...relay.expr import SymbolVar
from ..ir.vdevice import VDevice
from .bindings import Binding, BindingBlock, DataflowBlock, If, MatchCast, SeqExpr, VarBinding
from .calls import INPLACE
from .expr import (
    Attrs,
    Call,
    Constant,
    DataflowVar,
    Expr,
    ExternFunc,
    Op,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from .struct_info import Sizes, struct_info_of


class Reader:
    """Reads the functions of a module. constants: the arrays of the module by name."""

    def __init__(self, constants: Mapping[str, Any]):
        self.constants = constants
        self.values: dict[SSAValue, Expr] = {}

    def params(self, func: relax.FuncOp) -> list[Var]:
        """The parameters of a function."""
        stated = param_devices(func)
        variables = [Var(name, struct_info_of(value.type, stated.get(name))) for name, value in func.params]
        self.values.update(zip(func.body.block.args, variables, strict=True))
        return variables

    def sequence(self, block: Block) -> SeqExpr:
        """The bindings of the operations of a block, and the value of its terminator."""
        blocks: list[BindingBlock] = []
        *ops, last = block.ops
        for op in ops:
            if isinstance(op, relax.DataflowOp):
                blocks.append(self._dataflow(op))
                continue
            bindings = self._bindings(op, Var)
            if not blocks or isinstance(blocks[-1], DataflowBlock):
                blocks.append(BindingBlock([]))
            blocks[-1].bindings += bindings
        return SeqExpr([each for each in blocks if each.bindings], self.values[last.operands[0]])

    def _dataflow(self, op: relax.DataflowOp) -> DataflowBlock:
        *ops, last = op.body.block.ops
        assert isinstance(last, relax.OutputOp)
        returned = set(last.values)
        bindings = [
            each for op in ops for each in self._bindings(op, Var if _is_returned(op, returned) else DataflowVar)
        ]
        bound = {each.var for each in bindings}
        outputs: list[Var] = []
        for output, value in zip(op.outputs, last.values, strict=True):
            expr = self.values[value]
            if not isinstance(expr, Var) or expr not in bound:
                var = Var(output.name_hint or "gv", struct_info_of(output.type))
                bindings.append(VarBinding(var, expr))
                expr = var
            self.values[output] = expr
            outputs.append(expr)
        return DataflowBlock(bindings, list(dict.fromkeys(outputs)))

    def _bindings(self, op: Operation, kind: type[Var]) -> list[Binding]:
        """The bindings of an operation: none for one whose value is written where it is used."""
        if type(op) in _INLINE:
            self.values[op.results[0]] = _INLINE[type(op)](self, op)
            return []
        if isinstance(op, relax.TupleOp) and self._is_inline(op):
            return []
        if isinstance(op, relax.MatchCastOp):
            var = self._variable(op.output, kind)
            return [MatchCast(var, self.values[op.value], struct_info_of(op.output.type))]
        expr = self._expr(op)
        if not _has_tuple(op):
            return [VarBinding(self._variable(op.results[0], kind), expr)]
        var = kind(op.results[0].name_hint or "lv", expr.struct_info)
        self.values.update((result, TupleGetItem(var, n)) for n, result in enumerate(op.results))
        self.values.update((whole, var) for whole in _wholes(op))
        return [VarBinding(var, expr)]

    def _is_inline(self, op: relax.TupleOp) -> bool:
        """Whether a tuple has no binding: the tuple of an operator's results, or the value of a terminator."""
        if op.output in self.values:
            return True
        if [type(use.operation) for use in op.output.uses] != [relax.ReturnOp]:
            return False
        self.values[op.output] = Tuple([self.values[value] for value in op.values])
        return True

    def _variable(self, value: SSAValue, kind: type[Var]) -> Var:
        var = kind(value.name_hint or ("lv" if kind is DataflowVar else "gv"), struct_info_of(value.type))
        self.values[value] = var
        return var

    def _expr(self, op: Operation) -> Expr:
        """The expression of an operation."""
        if isinstance(op, OperatorOp):
            return self._operator(op)
        if type(op) not in _READERS:
            raise UnsupportedError(f"{op.name} in a function of relax: it has no expression")
        return _READERS[type(op)](self, op)

    def _operator(self, op: OperatorOp) -> Call:
        word, operands, attributes, is_tuple = spell(op)
        args: list[Expr] = [self.values[each] for each in operands]
        if is_tuple:
            args = [Tuple(args)]
        if word == "reshape":
            args, attributes = [*args, ShapeExpr(attributes["shape"])], {}
        return Call(Op.get(f"relax.{word}"), args, Attrs(attributes, _defaults(op, word)))

    def all(self, values: Iterable[SSAValue]) -> list[Expr]:
        """The expressions of values."""
        return [self.values[each] for each in values]


def _wholes(op: Operation) -> list[SSAValue]:
    """The tuples of all results of an operator with several."""
    users = dict.fromkeys(use.operation for result in op.results for use in result.uses)
    return [user.output for user in users if isinstance(user, relax.TupleOp) and user.operator is op]


def _is_returned(op: Operation, returned: set[SSAValue]) -> bool:
    """Whether the value of an operation's variable, its result or the tuple of all results, is among values."""
    return not returned.isdisjoint(_wholes(op) if _has_tuple(op) else op.results)


def _has_tuple(op: Operation) -> bool:
    """Whether the variable of an operation denotes the tuple of its results."""
    return len(op.results) > 1 or (isinstance(op, OperatorOp) and spell(op)[0] in TUPLES)


def _defaults(op: OperatorOp, word: str) -> dict[str, Any]:
    """The values of all attributes of an operator by the parameters of its word."""
    if word in ("matmul", "reshape"):
        return {"out_dtype": ""} if word == "matmul" else {}
    if word in COMPOSITES:
        parameters = inspect.signature(COMPOSITES[word]).parameters.values()
        return {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}
    return {name: op.attribute_value(attribute) for name, attribute in spelling_of_word(word).attributes.items()}


def _call_tir(reader: Reader, op: relax.CallTirOp | relax.CallTirInplaceOp) -> Expr:
    numbers = [ShapeExpr(op.size_texts)] if op.size_texts else []
    args = [SymbolVar(op.callee.string_value()), Tuple(reader.all(op.args)), *numbers]
    infos = [struct_info_of(each) for each in result_types(op.output.type)]
    return Call(Op.get(op.name), args, _positions(op), infos)


def _positions(op: Operation) -> dict[str, list[int]]:
    """The attributes of a call."""
    return {INPLACE: op.positions} if isinstance(op, relax.CallTirInplaceOp | relax.CallInplacePackedOp) else {}


def _dps_packed(reader: Reader, op: relax.CallDpsPackedOp) -> Expr:
    args = [ExternFunc(op.func_name.data), Tuple(reader.all(op.args))]
    return Call(Op.get("relax.call_dps_packed"), args, sinfo_args=[struct_info_of(op.output.type)])


def _packed(reader: Reader, op: relax.CallPackedOp) -> Expr:
    return Call(ExternFunc(op.func_name.data), reader.all(op.args), sinfo_args=[struct_info_of(op.output.type)])


def _pure_packed(reader: Reader, op: relax.CallPurePackedOp | relax.CallInplacePackedOp) -> Expr:
    args = [ExternFunc(op.func_name.data), *reader.all(op.args)]
    return Call(Op.get(op.name), args, _positions(op), [struct_info_of(op.output.type)])


def _call(reader: Reader, op: relax.CallOp) -> Expr:
    name = SymbolVar(op.callee.string_value())
    return Call(name, reader.all(op.args), sinfo_args=[struct_info_of(op.output.type)])


def _placement(reader: Reader, op: relax.ToVdeviceOp | relax.HintOnDeviceOp) -> Expr:
    return Call(Op.get(op.name), [reader.values[op.value]], {"dst_vdevice": VDevice.of_name(op.device.data)})


def _apply(reader: Reader, op: relax.ApplyOp) -> Expr:
    grouped: dict[str, list[Expr]] = {}
    for parameter, value in zip((each.data for each in op.parameters.data), op.args, strict=True):
        grouped.setdefault(parameter, []).append(reader.values[value])
    args = [Tuple(each) if name.endswith(MEMBER) else each[0] for name, each in grouped.items()]
    return Call(Op.get(f"relax.{op.word.data}"), args, Attrs(op.attribute_values))


def _alloc_tensor(_: Reader, op: relax.AllocTensorOp) -> Expr:
    type = struct_info_of(op.output.type)
    return Call(Op.get("relax.builtin.alloc_tensor"), [ShapeExpr(shape_of(op.output))], sinfo_args=[type])


def _branch(reader: Reader, op: relax.IfOp) -> Expr:
    branches = [reader.sequence(region.block) for region in (op.then, op.orelse)]
    return If(reader.values[op.condition], *branches)


def _constant(reader: Reader, op: ConstantOp) -> Expr:
    array = constant_array(op, reader.constants)
    name = "const" if op.array_name is None else op.array_name.data
    if array is None:
        raise UnsupportedError(f"constant {name}: the module has no array of this name")
    return Constant(array, name)


_READERS: Mapping[type[Operation], Callable[[Reader, Any], Expr]] = {
    relax.AllocTensorOp: _alloc_tensor,
    relax.ApplyOp: _apply,
    relax.CallDpsPackedOp: _dps_packed,
    relax.CallInplacePackedOp: _pure_packed,
    relax.CallOp: _call,
    relax.CallPackedOp: _packed,
    relax.CallPurePackedOp: _pure_packed,
    relax.CallTirInplaceOp: _call_tir,
    relax.CallTirOp: _call_tir,
    relax.HintOnDeviceOp: _placement,
    relax.IfOp: _branch,
    relax.ShapeOfOp: lambda reader, op: Call(Op.get("relax.shape_of"), [reader.values[op.value]]),
    relax.ToVdeviceOp: _placement,
    relax.TupleGetOp: lambda reader, op: TupleGetItem(reader.values[op.value], op.index.value.data),
    relax.TupleOp: lambda reader, op: Tuple(reader.all(op.values)),
}
"""The expressions of operations, whose values get a name."""

_INLINE: Mapping[type[Operation], Callable[[Reader, Any], Expr]] = {
    ConstantOp: _constant,
    relax.PrimValueOp: lambda _, op: PrimValue(number_of(op.output.type)),
    relax.ShapeOp: lambda _, op: ShapeExpr(struct_info_of(op.output.type).shape or Sizes()),
    relax.StringOp: lambda _, op: StringImm(op.text.data),
}
"""The expressions of operations whose values are written where they are used."""
