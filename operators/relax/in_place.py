"""Calls that overwrite operands, and the values whose memory they overwrite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import SymbolTable, SymbolUserOpInterface

from ...dialects.tir.base import TirOp, require, string_array
from ..relay import ConstantOp
from ..relay import FuncOp as GraphFuncOp
from ..relay.effects import OVERWRITTEN
from .calls import CallPackedOp, CallPurePackedOp, result_types, verify_outputs
from .control import DataflowOp, IfOp, OutputOp
from .functions import CallOp, FuncOp, FuncRefOp, YieldOp
from .kernels import check_call, signature_of
from .types import is_tensor, verify_type
from .values import MatchCastOp, TupleGetOp, TupleOp

_VIEWS = (MatchCastOp, TupleOp, TupleGetOp)
"""Operations whose results are, or contain, operands, or fields of them; they read no elements."""
_CALLS = (CallOp, CallPackedOp, CallPurePackedOp)
"""Operations that may return an operand, whose type is then that of the result."""


class _InPlaceCall(TirOp):
    """Base class of calls that overwrite operands. inplace: for each result the position of the operand whose memory it
    is, or -1 for new memory."""

    args = var_operand_def(Attribute)
    inplace = prop_def(ArrayAttr[IntegerAttr])
    output = result_def(Attribute)

    @property
    def positions(self) -> list[int]:
        """The position of the operand that each result overwrites, -1 for a new tensor."""
        return [each.value.data for each in self.inplace.data]

    def verify_(self) -> None:
        types = result_types(self.output.type)
        require(len(types) == len(self.positions), f"(C1) {len(self.positions)} positions for {len(types)} results")
        overwritten = [n for n in self.positions if n != -1]
        require(bool(overwritten), "(C1) no operand is overwritten")
        for n in overwritten:
            require(0 <= n < len(self.args), f"(C1) position {n}, expected -1 or one of {len(self.args)} operands")
            require(overwritten.count(n) == 1, f"(C1) two results overwrite operand {n}")
        for n, type in zip(self.positions, types, strict=True):
            if n != -1:
                got = self.args[n].type
                fits = is_tensor(got) and got == type
                require(fits, f"(C2) result of type {type} overwrites an operand of type {got}")
        if self.parent is not None:
            for n in overwritten:
                self._verify_overwritten(n)

    def _verify_overwritten(self, n: int) -> None:
        reader = later_reader(self, n)
        require(reader is None, f"(C3) operand {n} is overwritten, and read later by {reader and reader.name}")
        require(not is_constant(self.args[n]), f"(C3) operand {n} is overwritten, and is a constant")
        func = _function_of_parameter(self.args[n])
        name = "" if func is None else func.sym_name.data
        is_called = func is not None and _is_called(func)
        require(not is_called, f"(C3) operand {n} is overwritten, and is a parameter of {name}, which is called")


class _KernelFits(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, CallTirInplaceOp)
        name = op.callee.string_value()
        callee = SymbolTable.lookup_symbol(op, op.callee)
        require(callee is not None, f"(C4) no function {name!r} in the module")
        assert callee is not None
        require(not isinstance(callee, GraphFuncOp), f"(C4) {name!r} is a graph, which overwrites no operand")
        signature = signature_of(callee)
        if signature is not None:
            types = [arg.type for arg in op.args]
            check_call(signature, types, op.new_types, len(op.size_texts), "(C4)")


@irdl_op_definition
class CallTirInplaceOp(_InPlaceCall):
    """Computes tensors by a kernel that overwrites some of its arguments; the caller allocates the other results.

    The kernel receives the arguments, the new results, and the numbers `sizes`, in this order. A parameter that is
    overwritten is an array of the caller.

    Constraints
        (C1) `inplace` has a position for each result: of an operand that no other result overwrites, or -1; one is not.
        (C2) a result that overwrites an operand has its type; a new one is of known shape and data type.
        (C3) no operation reads an overwritten operand, or a value that may share its memory, at the same time or later;
        none is a constant, or a parameter of a function that the module calls.
        (C4) the kernel is in the module and accepts the arguments, the new results and the sizes.

    Example
        %1 = relax.call_tir_inplace @increment(%x) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>

    Source: `R.call_tir_inplace(cls.increment, (x,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))`
    """

    name = "relax.call_tir_inplace"

    callee = prop_def(FlatSymbolRefAttrConstr)
    sizes = opt_prop_def(ArrayAttr[StringAttr])

    traits = traits_def(_KernelFits())
    assembly_format = (
        "$callee `(` $args `)` `inplace` $inplace (`sizes` $sizes^)? attr-dict-with-keyword `:` "
        "functional-type($args, $output)"
    )

    def __init__(
        self,
        callee: str,
        args: Sequence[SSAValue],
        positions: Sequence[int],
        type: Attribute,
        sizes: Sequence[str] = (),
    ):
        super().__init__(
            operands=[args],
            properties={
                "callee": SymbolRefAttr(callee),
                "inplace": _numbers(positions),
                "sizes": string_array(sizes) if sizes else None,
            },
            result_types=[type],
        )

    @property
    def new_types(self) -> list[Attribute]:
        """The types of the results that overwrite no operand."""
        return [type for type, n in zip(result_types(self.output.type), self.positions, strict=False) if n == -1]

    @property
    def size_texts(self) -> list[str]:
        """The numbers that follow the tensors, as sizes."""
        return [] if self.sizes is None else [size.data for size in self.sizes.data]

    def verify_(self) -> None:
        for arg in self.args:
            require(is_tensor(arg.type), f"(C4) argument of type {arg.type}, expected a tensor")
        super().verify_()
        for type in self.new_types:
            verify_outputs(type, "(C2)")


@irdl_op_definition
class CallInplacePackedOp(_InPlaceCall):
    """Calls a packed function that overwrites some of its arguments, and returns these and new values.

    Constraints
        (C1), (C2), (C3) as of relax.call_tir_inplace, for results of any type of values.

    Example
        %1 = relax.call_inplace_packed "env.increment"(%x) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>

    Source: `R.call_inplace_packed("env.increment", x, inplace_indices=[0], sinfo_args=R.Tensor((8,), "float32"))`
    """

    name = "relax.call_inplace_packed"

    func_name = prop_def(StringAttr)

    assembly_format = (
        "$func_name `(` $args `)` `inplace` $inplace attr-dict-with-keyword `:` functional-type($args, $output)"
    )

    def __init__(self, func_name: str, args: Sequence[SSAValue], positions: Sequence[int], type: Attribute):
        super().__init__(
            operands=[args],
            properties={"func_name": StringAttr(func_name), "inplace": _numbers(positions)},
            result_types=[type],
        )

    def verify_(self) -> None:
        super().verify_()
        verify_type(self.output.type, "(C2)")


def _numbers(positions: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(n, i64) for n in positions])


InPlaceCall: TypeAlias = CallTirInplaceOp | CallInplacePackedOp


def is_overwritten(value: SSAValue) -> bool:
    """Whether a call in place overwrites the memory of a value."""
    return any(
        isinstance(use.operation, _InPlaceCall) and use.index in use.operation.positions
        for each in _sharing(value)
        for use in each.uses
    )


OVERWRITTEN.append(is_overwritten)


def is_constant(value: SSAValue) -> bool:
    """Whether a value may be the array of a constant."""
    return any(isinstance(each.owner, ConstantOp) for each in _sharing(value))


def _function_of_parameter(value: SSAValue) -> FuncOp | None:
    """The function of which a value may be a parameter; None for other values."""
    blocks = [each.owner for each in _sharing(value) if isinstance(each.owner, Block)]
    functions = [block.parent_op() for block in blocks]
    return next((func for func in functions if isinstance(func, FuncOp)), None)


def _is_called(func: FuncOp) -> bool:
    """Whether a function is called, or used as a value, in its module."""
    module, name = func.parent_op(), func.sym_name.data
    return module is not None and any(
        isinstance(op, CallOp | FuncRefOp) and op.callee.string_value() == name for op in module.walk()
    )


def later_reader(op: Operation, position: int) -> Operation | None:
    """The operation that reads the memory of an operand by another use, at the time of `op` or later; None if there is
    no such operation."""
    for value in _sharing(op.operands[position]):
        for use in value.uses:
            user = use.operation
            if user is op:
                if use.index != position:
                    return op
            elif not isinstance(user, (OutputOp, YieldOp, *_VIEWS)) and _is_later(user, op):
                return user
    return None


_Part: TypeAlias = tuple[SSAValue, tuple[int, ...]]
"""A value, or a field of it: the position in a tuple, the position in that field, ...; no positions for the whole."""


def _sharing(value: SSAValue) -> list[SSAValue]:
    """The values whose memory, or that of a field, may be that of a value, and the value itself; calls in place are not
    followed."""
    found: dict[_Part, None] = {}
    pending: list[_Part] = [(value, ())]
    while pending:
        part = pending.pop()
        if part not in found:
            found[part] = None
            pending.extend(_neighbors(*part))
    return list(dict.fromkeys(value for value, _ in found))


def _neighbors(value: SSAValue, path: tuple[int, ...]) -> Iterator[_Part]:
    match value.owner:
        case DataflowOp(body=body) if isinstance(value, OpResult) and isinstance(body.block.last_op, OutputOp):
            yield body.block.last_op.values[value.index], path
        case IfOp(regions=branches):
            yield from ((last.value, path) for each in branches if isinstance(last := each.block.last_op, YieldOp))
        case TupleGetOp(value=whole, index=index):
            yield whole, (index.value.data, *path)
        case TupleOp(values=values):
            yield from [(values[path[0]], path[1:])] if path else [(each, ()) for each in values]
        case MatchCastOp(value=operand):
            yield operand, path
        case owner if isinstance(owner, _CALLS):
            yield from ((operand, ()) for operand in owner.operands if _may_return(owner, operand))
        case _:
            pass
    for use in value.uses:
        match use.operation:
            case OutputOp() as output:
                around = output.parent_op()
                assert isinstance(around, DataflowOp)
                yield around.outputs[use.index], path
            case YieldOp() as last:
                branch = last.parent_op()
                assert isinstance(branch, IfOp)
                yield branch.output, path
            case TupleGetOp(output=field, index=index):
                if not path or path[0] == index.value.data:
                    yield field, path[1:]
            case TupleOp(output=whole):
                yield whole, (use.index, *path)
            case MatchCastOp(output=output):
                yield output, path
            case user if isinstance(user, _CALLS) and _may_return(user, value):
                yield from ((result, ()) for result in user.results)
            case _:
                pass


def _may_return(op: Operation, operand: SSAValue) -> bool:
    """Whether a result of an operation may be an operand."""
    types = [result.type for result in op.results]
    return operand.type in types or not all(map(is_tensor, types))


def _is_later(user: Operation, op: Operation) -> bool:
    """Whether an operation, or the operation around it in a block around `op`, follows `op` in the block."""
    blocks: dict[Block, Operation] = {}
    around: Operation | None = op
    while around is not None and around.parent is not None:
        blocks[around.parent] = around
        around = around.parent_op()
    each: Operation | None = user
    while each is not None and each.parent is not None:
        if each.parent in blocks:
            ours = blocks[each.parent]
            return each is not ours and ours.is_before_in_block(each)
        each = each.parent_op()
    return False
