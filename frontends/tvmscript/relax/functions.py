"""Elaboration of one function of `relax`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Region

from ....core.diagnostics import Span
from ....core.xdsl_compat import set_name_hint
from ....operators.relax import FuncOp, FuncRefOp, PrimValueOp, ReturnOp, ShapeOp, StringOp, TupleOp
from ....operators.relax.devices import PARAM_DEVICES, Devices
from ....operators.relay import ConstantOp
from .. import syntax
from ..annotations import evaluate_annotation
from ..context import span_location
from ..dispatch import run_statements
from ..values import LocalFunction, RelaxType, RelaxValue, Value, Word, type_variables
from ..vocabulary import is_dtype
from .context import RelaxContext

_PARAMETERS = ("private", "pure", "check_well_formed")


def check_decorator(arguments: dict[str, Value], span: Span) -> None:
    """Raises ParseError for an argument that `@R.function` does not have."""
    for name in arguments:
        if name not in _PARAMETERS:
            raise span.error(f"R.function has no parameter {name!r}")


class RelaxFunctionReader:
    """Elaborates one function into a `relax.func`. arguments: of the decorator."""

    def __init__(
        self, context: RelaxContext, node: syntax.FunctionDef, arguments: dict[str, Value], name: str | None = None
    ):
        """name: of a local function in the module."""
        self.context = context
        self.name = node.name if name is None else name
        self.is_local = name is not None
        context.node_name = self.name
        self.node = node
        self.arguments = arguments
        self.devices: dict[str, str] = {}
        self.result_device: RelaxType | None = None

    def read(self) -> FuncOp:
        context, node = self.context, self.node
        self._declare_sizes()
        types = [self._read_param(param) for param in node.params]
        result = None
        if node.returns is not None:
            self.result_device = context.full_type(evaluate_annotation(context, node.returns), node.returns.span)
            result = self.result_device.type
            context.module.declared[self.name] = FuncOp(self.name, types, result, impure=self._is_impure)
        if self.is_local:
            context.scope.names[node.name] = LocalFunction(self.name, ())
        run_statements(context, node.body)
        last = context.block.last_op
        if not isinstance(last, ReturnOp):
            raise node.name_span.error("a function of relax ends in a return")
        _erase_unused(context)
        return self._function(types, last.value.type if result is None else result)

    def check_devices(self) -> None:
        """Checks the devices that types state, in the complete module. Raises ParseError."""
        func = self.context.module.finished[self.node.name]
        assert isinstance(func, FuncOp)
        devices = Devices.of_function(func)
        stated = list(self.context.stated)
        last = func.body.block.last_op
        if self.result_device is not None and self.result_device.device is not None and isinstance(last, ReturnOp):
            stated.append((last.value, self.result_device.device, self.node.name_span))
        for value, device, span in stated:
            if (actual := devices.of(value)) != device:
                raise span.error(f"a value on {actual}, expected it on {device} (R.to_vdevice)")

    @property
    def _is_impure(self) -> bool:
        return not self.arguments.get("pure", True)

    def _declare_sizes(self) -> None:
        """Declares the sizes that the signature may use: `n = TypeVar("n")` in an enclosing scope, and `n = T.int64()`
        in the body."""
        for name in type_variables(self.context.scope):
            self.context.scope.names[name] = self.context.size_variable(name)
        for name in _sizes_in(self.node.body, self._is_vocabulary):
            self.context.scope.names[name] = self.context.size_variable(name)

    def _is_vocabulary(self, name: str) -> bool:
        scope = self.context.scope.find(name)
        return scope is not None and scope.names[name] == Word("T")

    def _read_param(self, param: syntax.Param) -> tuple[str, Attribute]:
        context = self.context
        if param.kind is not syntax.ParamKind.PLAIN or param.default is not None:
            raise param.span.error("a function takes plain parameters without defaults")
        if param.annotation is None:
            raise param.span.error(f"parameter {param.name!r} needs a type: R.Tensor((n, 4), 'float32'), ...")
        annotation = context.full_type(evaluate_annotation(context, param.annotation), param.annotation.span)
        type = annotation.type
        if annotation.device is not None:
            self.devices[param.name] = annotation.device
        argument = context.block.insert_arg(type, len(context.block.args))
        set_name_hint(argument, param.name)
        context.scope.names[param.name] = RelaxValue(argument)
        return param.name, type

    def _function(self, params: list[tuple[str, Attribute]], result: Attribute) -> FuncOp:
        context, node = self.context, self.node
        attrs = context.function_attrs or {}
        if attrs.get("global_symbol") == StringAttr(node.name):
            attrs = {key: value for key, value in attrs.items() if key != "global_symbol"}
        if self.devices:
            stated: dict[str, Attribute] = {name: StringAttr(device) for name, device in self.devices.items()}
            attrs = {**attrs, PARAM_DEVICES: DictionaryAttr(stated)}
        op = FuncOp(
            self.name,
            params,
            result,
            private=bool(self.arguments.get("private", False)),
            impure=self._is_impure,
            attrs=dict(attrs),
            body=Region(context.block),
        )
        op.location = span_location(node.name_span)
        return op


def _sizes_in(body: syntax.Body, is_vocabulary: Callable[[str], bool]) -> Iterator[str]:
    """The names bound to `T.int64()` in a body, alone or in tuples."""
    for statement in body:
        match statement:
            case syntax.Assign(targets=(syntax.Name(id=name),), value=value) if _is_size(value, is_vocabulary):
                yield name
            case syntax.Assign(targets=(syntax.Tuple(items=names),), value=syntax.Tuple(items=values)):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, syntax.Name) and _is_size(value, is_vocabulary):
                        yield target.id
            case _:
                pass


def _is_size(node: syntax.Expr, is_vocabulary: Callable[[str], bool]) -> bool:
    match node:
        case syntax.Call(func=syntax.Attribute(value=syntax.Name(id=space), attr=attr), args=(), keywords=()):
            return is_dtype(attr) and attr.startswith("int") and is_vocabulary(space)
        case _:
            return False


_WITHOUT_BINDING = (ConstantOp, FuncRefOp, PrimValueOp, ShapeOp, StringOp, TupleOp)


def _erase_unused(context: RelaxContext) -> None:
    """Erases number constants, shapes and numbers that have been arguments of words at parse time only."""
    for op in [op for op in context.block.walk(reverse=True) if isinstance(op, _WITHOUT_BINDING)]:
        is_bound = (isinstance(op, ConstantOp) and op.array_name is not None) or (
            isinstance(op, TupleOp) and bool(op.values) and op.output.name_hint is not None
        )
        if not is_bound and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
