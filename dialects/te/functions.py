"""Functions on tensors, and the order of their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, SymbolNameConstraint, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface

from ..tir.base import (
    CallableByBody,
    TirOp,
    annotations_attr,
    require,
)
from ..tir.directives import Dictionary, TypedValues, YieldingBody
from ..tir.functions import SymbolOp


class TeFuncCallable(CallableByBody):
    """Callable interface of `te.func`: the arguments are the operands of `te.params`, and a call has no results."""

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return tuple(param.type for param in op.params)

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return ()


@irdl_op_definition
class FuncOp(TirOp):
    """A function on tensors: sizes, placeholders and computed tensors, followed by the list of parameters.

    func_attrs: attributes of the `tir.func` that the function is lowered to.

    Constraints
        (C1) the body ends in te.params.

    Example
        te.func @main attrs {tir.noalias = true} {
          %A = te.placeholder "A" [8] : tensor<8xf32>
          ...
          te.params %A : tensor<8xf32>, %B : tensor<8xf32>
        }

    Source: the tensors passed to `te.create_prim_func`
    """

    name = "te.func"

    sym_name = prop_def(SymbolNameConstraint())
    func_attrs = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), TeFuncCallable())
    custom_directives = (Dictionary, YieldingBody)
    assembly_format = (
        "$sym_name (`attrs` custom<Dictionary>($func_attrs)^)? attr-dict-with-keyword custom<YieldingBody>($body)"
    )

    def __init__(
        self,
        name: str,
        *,
        attrs: DictionaryAttr | Mapping[str, Attribute] | None = None,
        body: Region | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "func_attrs": annotations_attr(attrs if isinstance(attrs, DictionaryAttr) else dict(attrs or {})),
            },
            regions=[body or Region(Block())],
        )

    @property
    def params(self) -> list[SSAValue]:
        """The parameters in order: tensors, whose memory the caller provides, and numbers."""
        last = self.body.block.last_op
        assert isinstance(last, ParamsOp)
        return list(last.params)

    def verify_(self) -> None:
        require(isinstance(self.body.block.last_op, ParamsOp), "(C1) the body does not end in te.params")


@irdl_op_definition
class ParamsOp(TirOp):
    """Lists the parameters of a function in order: tensors, whose memory the caller provides, and numbers.

    Constraints
        (C1) parameters are distinct.
        (C2) a parameter is a tensor or the result of a tir.symbol.

    Example
        te.params %n : i32, %A : tensor<?xf32>, %B : tensor<?xf32>

    Source: the argument of `te.create_prim_func`
    """

    name = "te.params"

    params = var_operand_def()

    traits = traits_def(IsTerminator())
    custom_directives = (TypedValues,)
    assembly_format = "custom<TypedValues>($params, type($params)) attr-dict-with-keyword"

    def __init__(self, params: Sequence[SSAValue]):
        super().__init__(operands=[params])

    def verify_(self) -> None:
        require(len(set(self.params)) == len(self.params), "(C1) a parameter is given twice")
        for param in self.params:
            is_legal = isinstance(param.type, TensorType) or isinstance(param.owner, SymbolOp)
            require(is_legal, f"(C2) a parameter of type {param.type} that is no tir.symbol")
