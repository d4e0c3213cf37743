"""Classes of all nodes of a kind, which TVM derives from one base class: `isinstance(node, tvm.ir.BaseExpr)`."""

from __future__ import annotations

from typing import Any, get_args

from ....expressions.axes import IterVar
from ....expressions.expr import PrimExpr
from ....expressions.tensor import Operation, Tensor
from ...relay.adt import Constructor, Pattern
from ...relay.expr import CallAttributes, Expr, Function
from ...relay.types import FuncType, TensorType, TupleType, TypeRelation, UserType
from ..family import Family
from ..nodes.expr import BufferRegion, PointerType, PrimType, RegionBuffer
from ..nodes.stmt import Stmt
from .attributes import Attributes
from .module import FunctionModule, IRModule
from .operators import Op
from .range import Range
from .span import Span
from .vdevice import VDevice


def _programs() -> tuple[Any, ...]:
    """The classes of the expressions and of the types of programs."""
    # lazy: programs import this package
    from ..relax.expr import Expr as ProgramExpr
    from ..relax.struct_info import StructInfo

    return ProgramExpr, StructInfo


_TYPES = (FuncType, PointerType, PrimType, TensorType, TupleType, *get_args(UserType))


def _graph_expressions() -> tuple[Any, ...]:
    return Expr, FunctionModule, Op, _programs()[0]


def _functions() -> tuple[Any, ...]:
    # lazy: programs import this package
    from ..relax.expr import ExternFunc

    return Function, FunctionModule, ExternFunc


def _nodes() -> tuple[Any, ...]:
    return (
        *_TYPES, *_graph_expressions(), *_programs(), Attributes, BufferRegion, CallAttributes, Constructor, IRModule,
        IterVar, Operation, Pattern, PrimExpr, Range, RegionBuffer, Span, Stmt, Tensor, VDevice,
    )  # fmt: skip


class Node(metaclass=Family, members=_nodes):
    """Expressions, statements, functions, modules, types, attributes, buffers, axes, and tensors with their
    operations."""


class Type(Node, members=lambda: _TYPES):
    """The types of graphs, numbers and addresses."""


class TypeConstraint(Type, members=lambda: (TypeRelation,)):
    """The relations of types."""


class Attrs(Node, members=lambda: (Attributes, CallAttributes)):
    """The attributes of functions and of calls."""


class GlobalInfo(Node, members=lambda: (VDevice,)):
    """Facts about a module: its devices."""


class BaseExpr(Node, members=lambda: (PrimExpr, *_graph_expressions())):
    """Expressions of numbers, graphs and programs; functions are expressions."""


class RelayExpr(BaseExpr, members=_graph_expressions):
    """Expressions of graphs and programs; functions are expressions."""


class BaseFunc(RelayExpr, members=_functions):
    """Functions on buffers, and those of graphs and programs."""


def _with_script() -> tuple[Any, ...]:
    # lazy: programs import this package
    from ..relax.expr import Scriptable as ProgramNode

    return FunctionModule, IRModule, ProgramNode


class Scriptable(metaclass=Family, members=_with_script):
    """Modules, functions, and the nodes of programs, which have a text (`script`)."""


class SourceName(str):
    """The name of a text, as of a `Span`."""

    @property
    def name(self) -> str:
        """The name as a text."""
        return str(self)


__all__ = [
    "Attrs", "BaseExpr", "BaseFunc", "GlobalInfo", "Node", "RelayExpr", "Scriptable", "SourceName", "Type",
    "TypeConstraint",
]  # fmt: skip
