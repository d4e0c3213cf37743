"""Modules of layers, and their export as programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ......core.errors import ArgumentError, OptionError
from ......operators import relax
from ......transforms.pipelines import run_pipeline
from ......transforms.relay.to_relax import ConvertRelayToRelaxPass
from .....relay import Expr, Function, TensorType, Var, op, var
from .....relay import Tuple as ExprTuple
from .....relay.analysis import free_vars
from .....relay.graph import module_of
from .....relay.reading import type_of
from ....ir.module import IRModule


class Tensor:
    """A tensor of a program under construction, with its shape and its data type."""

    def __init__(self, expr: Expr):
        self.expr = expr

    @property
    def _type(self) -> TensorType:
        if isinstance(self.expr, Var):
            known = self.expr.type_annotation
            assert isinstance(known, TensorType)
            return known
        (graph,) = module_of({"main": Function(free_vars(self.expr), self.expr)}).functions.values()
        result = graph.regions[0].block.last_op
        assert result is not None
        return type_of(result.operands[0])

    @property
    def shape(self) -> list[Any]:
        return list(self._type.shape)

    @property
    def ndim(self) -> int:
        return len(self._type.shape)

    @property
    def dtype(self) -> str:
        return self._type.dtype

    def __add__(self, other: Any) -> Tensor:
        return Tensor(op.add(self.expr, as_expr(other)))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(op.subtract(self.expr, as_expr(other)))

    def __mul__(self, other: Any) -> Tensor:
        return Tensor(op.multiply(self.expr, as_expr(other)))

    def __truediv__(self, other: Any) -> Tensor:
        return Tensor(op.divide(self.expr, as_expr(other)))

    def __radd__(self, other: Any) -> Tensor:
        return self + other

    def __rmul__(self, other: Any) -> Tensor:
        return self * other

    def astype(self, dtype: str) -> Tensor:
        """The tensor in another data type."""
        return Tensor(op.cast(self.expr, dtype))

    def reshape(self, *shape: Any) -> Tensor:
        """The tensor in another shape."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape  # pyright: ignore[reportUnknownVariableType]
        return Tensor(op.reshape(self.expr, list(sizes)))  # pyright: ignore[reportUnknownArgumentType]

    def permute_dims(self, *axes: Any) -> Tensor:
        """The tensor with its dimensions in another order, by default reversed."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes  # pyright: ignore[reportUnknownVariableType]
        return Tensor(op.transpose(self.expr, list(order) or None))  # pyright: ignore[reportUnknownArgumentType]


def as_expr(value: Any) -> Any:
    """The expression of a tensor; numbers stay."""
    return value.expr if isinstance(value, Tensor) else value


class Parameter(Tensor):
    """A tensor that the caller of an exported function passes. data: its values, None if unknown."""

    def __init__(self, shape: Sequence[Any], dtype: str | None = None):
        super().__init__(var("parameter", shape=tuple(shape), dtype=dtype or "float32"))
        self.data: Any = None

    def named(self, name: str) -> Var:
        """The variable of the parameter, under a name."""
        assert isinstance(self.expr, Var)
        self.expr.name_hint = name
        return self.expr


class Module:
    """A layer or a model: attributes are parameters and other modules, `forward` computes."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the layer."""
        raise NotImplementedError

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names, `fc1.weight`."""
        for name, value in self.__dict__.items():
            yield from _parameters(f"{prefix}.{name}" if prefix else name, value)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return dict(self.named_parameters())

    def export_tvm(
        self, spec: Mapping[str, Mapping[str, Any]], debug: bool = False, allow_extern: bool = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]:
        """The program of methods, and the parameters with their names.

        spec: for each method the types of its arguments, `{"forward": {"x": nn.spec.Tensor((1, 784), "float32")}}`. A
        function takes these arguments and then all parameters. debug, allow_extern: False. ArgumentError for an unknown
        method, OptionError for the other options.
        """
        if debug or allow_extern:
            raise OptionError("export_tvm: debug and allow_extern are not supported, expected False")
        parameters = list(self.named_parameters())
        variables = [parameter.named(name) for name, parameter in parameters]
        graphs: dict[str, Function] = {}
        results: dict[str, bool] = {}
        for name, types in spec.items():
            if not callable(getattr(self, name, None)):
                raise ArgumentError(f"export_tvm: {type(self).__name__} has no method {name!r}")
            inputs = {key: var(key, shape=each.shape, dtype=each.dtype) for key, each in types.items()}
            value = getattr(self, name)(**{key: Tensor(each) for key, each in inputs.items()})
            results[name] = isinstance(value, list | tuple)
            body = ExprTuple([each.expr for each in value]) if results[name] else value.expr
            graphs[name] = Function([*inputs.values(), *variables], body)
        graph = IRModule.from_graphs(graphs)
        program = run_pipeline(graph, [ConvertRelayToRelaxPass()])
        assert all(isinstance(each, relax.FuncOp) for each in program.functions.values())
        return IRModule(program.op, {**graph.constants, **program.constants}), parameters


def _parameters(name: str, value: Any) -> Iterator[tuple[str, Parameter]]:
    if isinstance(value, Parameter):
        yield name, value
    elif isinstance(value, Module):
        yield from value.named_parameters(name)


class ModuleList(Module):
    """Modules in order, with the names `0`, `1`, ..."""

    def __init__(self, modules: Sequence[Module]):
        self.modules = list(modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Module:
        return self.modules[index]

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Adds a module."""
        self.modules.append(module)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        for number, module in enumerate(self.modules):
            yield from module.named_parameters(f"{prefix}.{number}" if prefix else str(number))

    def forward(self, x: Any) -> Any:
        """The result of the last module on that of the one before it, and so on."""
        for module in self.modules:
            x = module(x)
        return x
