"""Tensors, parameters and modules of layers."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, Literal, overload

from ......core.errors import ArgumentError, OptionError
from ......expressions.expr import SizeVar
from ......expressions.sizes import parse_size
from ....ir.module import IRModule
from ...block_builder import BlockBuilder
from ...calls import op as words
from ...expr import Expr, Var, const
from ...struct_info import TensorStructInfo


class Tensor:
    """A tensor of a program under construction, with its shape and its data type."""

    def __init__(self, expr: Any = None, *, _expr: Any = None):
        self.expr: Expr = expr if _expr is None else _expr

    @property
    def _expr(self) -> Expr:
        return self.expr

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """A tensor without a value, which states the type of a result."""
        return Tensor(Var(name, TensorStructInfo(shape, dtype)))

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A constant tensor."""
        return Tensor(const(data))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """A constant tensor without dimensions."""
        return Tensor(const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """A tensor without a value of a type."""
        return Tensor(Var(name, struct_info))

    @property
    def shape(self) -> list[Any]:
        """The sizes: integers, and expressions of dynamic sizes."""
        sizes = self.expr.struct_info.shape
        if sizes is None:
            raise ArgumentError(f"shape: a value of type {self.expr.struct_info}, expected a tensor of known shape")
        return [parse_size(each, _size_variable) if isinstance(each, str) else each for each in sizes]

    @property
    def ndim(self) -> int:
        return self.expr.struct_info.ndim

    @property
    def dtype(self) -> str:
        """The data type. ArgumentError for a value that is no tensor."""
        dtype = self.expr.struct_info.dtype
        if dtype is None:
            raise ArgumentError(f"dtype: a value of type {self.expr.struct_info}, expected a tensor")
        return dtype

    def __add__(self, other: Any) -> Tensor:
        return call_word("add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return call_word("subtract", self, other)

    def __mul__(self, other: Any) -> Tensor:
        return call_word("multiply", self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return call_word("divide", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return call_word("add", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return call_word("multiply", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return call_word("subtract", self._number(other), self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return call_word("divide", self._number(other), self)

    def __neg__(self) -> Tensor:
        return call_word("negative", self)

    def __matmul__(self, other: Any) -> Tensor:
        return call_word("matmul", self, other)

    def __lt__(self, other: Any) -> Tensor:
        return call_word("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return call_word("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return call_word("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return call_word("greater_equal", self, other)

    def _number(self, value: Any) -> Any:
        return Tensor(const(value, self.dtype)) if isinstance(value, int | float) else value

    def astype(self, dtype: str) -> Tensor:
        """The tensor in another data type."""
        return self if dtype == self.dtype else call_word("astype", self, dtype=dtype)

    def maximum(self, other: Any) -> Tensor:
        """The greater of two tensors, element by element."""
        return call_word("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        """The less of two tensors, element by element."""
        return call_word("minimum", self, other)

    def reshape(self, *shape: Any) -> Tensor:
        """The tensor in another shape."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape  # pyright: ignore[reportUnknownVariableType]
        return call_word("reshape", self, list(sizes))  # pyright: ignore[reportUnknownArgumentType]

    def permute_dims(self, *axes: Any) -> Tensor:
        """The tensor with its dimensions in another order, by default reversed."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes  # pyright: ignore[reportUnknownVariableType]
        return call_word("permute_dims", self, axes=list(order) or None)  # pyright: ignore[reportUnknownArgumentType]

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """The tensor with each element repeated along an axis."""
        return call_word("repeat", self, repeats=repeats, axis=axis)

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions in reverse order."""
        return self.permute_dims()


def _size_variable(name: str) -> SizeVar:
    return _SIZES.setdefault(name, SizeVar(name, "int64"))


_SIZES: dict[str, SizeVar] = {}
"""The variables of dynamic sizes by name, so that equal sizes are equal expressions."""


def as_expr(value: Any) -> Any:
    """The expression of a tensor, or of the tensors of a list; other values stay."""
    if isinstance(value, list | tuple):
        return [as_expr(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value.expr if isinstance(value, Tensor) else value


def wrap(expr: Expr, name: str = "") -> Tensor:
    """The tensor of an expression, which the function under construction binds to a variable."""
    builder = BlockBuilder.current()
    return Tensor(expr if builder is None else builder.emit(expr, name))


def call_word(word: str, *args: Any, name: str = "", **attributes: Any) -> Tensor:
    """The result of an operator by its word, `nn.relu`. Numbers beside a tensor have its data type."""
    dtype = next((each.dtype for each in args if isinstance(each, Tensor)), None)
    operands = [const(each, dtype) if isinstance(each, int | float) else as_expr(each) for each in args]
    call: Any = words
    for part in word.split("."):
        call = getattr(call, part)
    return wrap(call(*operands, **{key: as_expr(value) for key, value in attributes.items()}), name)


_default_dtype = "float32"


def get_default_dtype() -> str:
    """The data type of parameters that are created without one."""
    return _default_dtype


def set_default_dtype(dtype: str) -> None:
    """Sets the data type of parameters that are created without one, from now on."""
    global _default_dtype
    _default_dtype = dtype


class Parameter(Tensor):
    """A tensor that the caller of an exported function passes.

    data: its values, None if unknown.  attrs: facts that programs attach to it, by name.
    """

    def __init__(self, shape: Sequence[Any], dtype: str | None = None):
        super().__init__(Var("parameter", TensorStructInfo(shape, dtype or get_default_dtype())))
        self.data: Any = None
        self.attrs: dict[str, Any] = {}

    def named(self, name: str) -> Var:
        """The variable of the parameter, under a name."""
        var = self.expr
        assert isinstance(var, Var)
        var.name_hint = name
        return var

    def to(self, dtype: str | None = None) -> None:
        """Sets the data type. ArgumentError for a parameter with values."""
        if dtype is not None and dtype != self.dtype:
            if self.data is not None:
                raise ArgumentError(f"to: a parameter with values of type {self.dtype}, expected one without values")
            self.expr = Var("parameter", TensorStructInfo(self.expr.struct_info.shape, dtype))


class Object:
    """A value of a program that is no tensor, such as a cache."""

    def __init__(self, *, _expr: Expr, _name: str):
        builder = BlockBuilder.current()
        self.expr: Expr = _expr if builder is None or isinstance(_expr, Var) else builder.emit(_expr, _name)

    @property
    def _expr(self) -> Expr:
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

    def to(self, dtype: str | None = None) -> None:
        """Sets the data type of all parameters."""
        for parameter in self.parameters():
            parameter.to(dtype)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Sets the values of parameters by name. ArgumentError for other names than those of the parameters, if
        `strict`."""
        own = self.state_dict()
        if strict and own.keys() != state_dict.keys():
            raise ArgumentError(f"load_state_dict: names {list(state_dict)}, expected {list(own)}")
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value

    def state_dict(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return dict(self.named_parameters())

    @overload
    def export_tvm(
        self, spec: Any, debug: bool = False, allow_extern: Literal[False] = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]: ...
    @overload
    def export_tvm(
        self, spec: Any, debug: bool = False, *, allow_extern: Literal[True]
    ) -> tuple[IRModule, list[tuple[str, Parameter]], list[Any]]: ...
    def export_tvm(self, spec: Any, debug: bool = False, allow_extern: bool = False) -> Any:
        """The program of methods, and the parameters with their names.

        spec: for each method the types of its arguments, `{"forward": {"x": nn.spec.Tensor((1, 784), "float32")}}`, or
        a `nn.spec.ModuleSpec`. A function takes these arguments and then all parameters; with the entry
        `"$": {"param_mode": "packed"}` a tuple of them, with "none" no parameter. debug: functions also take the state
        of input and output, after their arguments, and return it after their result; the function `_initialize_effect`
        returns its first value. allow_extern: a third result, the modules of functions in other languages, of which
        there are none. ArgumentError for an unknown method, OptionError for the other options.
        """
        # lazy: the export calls the methods of modules
        from .exporting import export

        mod, parameters = export(self, spec, debug)
        return (mod, parameters, []) if allow_extern else (mod, parameters)

    def jit(
        self,
        spec: Any,
        device: Any = "cpu",
        pipeline: Any = "default",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """The compiled methods as functions on tensors of PyTorch, with the values of the parameters.

        spec, debug: as of `export_tvm`.  device: by name, or a device.  pipeline: as of `relax.build`. ArgumentError
        for a parameter without values, OptionError for another `out_format`.
        """
        # lazy: the export calls the methods of modules, and the machine is needed for compiled ones only
        from .... import relax
        from ....devices import device as named
        from .exporting import export
        from .spec import ModuleSpec
        from .torch import TorchModule, values_of

        if out_format != "torch":
            raise OptionError(f"jit: out_format {out_format!r}, expected 'torch'")
        place = named(device) if isinstance(device, str) else device
        types = ModuleSpec.from_raw(spec, self)
        mod, parameters = export(self, types, debug)
        values = values_of(parameters, place)
        target = "cuda" if "cuda" in str(place) else "llvm"
        machine = relax.VirtualMachine(relax.build(mod, target, pipeline=pipeline), place)
        return TorchModule(types, machine, values)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        self.modules = dict(modules or {})

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules.values())

    def __getitem__(self, key: str) -> Module:
        return self.modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.modules[key] = module

    def __contains__(self, key: str) -> bool:
        return key in self.modules

    def __len__(self) -> int:
        return len(self.modules)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self.modules.keys()

    def values(self) -> ValuesView[Module]:
        """The modules, in order."""
        return self.modules.values()

    def items(self) -> ItemsView[str, Module]:
        """The names with their modules, in order."""
        return self.modules.items()

    def get(self, key: str, default: Module | None = None) -> Module | None:
        """The module of a name, `default` for an unknown name."""
        return self.modules.get(key, default)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds modules by name."""
        self.modules.update(modules)

    def pop(self, key: str) -> Module:
        """Removes the module of a name, and returns it."""
        return self.modules.pop(key)

    def clear(self) -> None:
        """Removes all modules."""
        self.modules.clear()

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        for name, module in self.modules.items():
            yield from _parameters(f"{prefix}.{name}" if prefix else name, module)


class ParameterList(Module):
    """Parameters in order, with the names `0`, `1`, ..."""

    def __init__(self, params: Sequence[Parameter] = ()):
        self.params = list(params)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.params)

    def __getitem__(self, index: int) -> Parameter:
        return self.params[index]

    def __setitem__(self, index: int, param: Parameter) -> None:
        self.params[index] = param

    def __len__(self) -> int:
        return len(self.params)

    def append(self, param: Parameter) -> None:
        """Adds a parameter."""
        self.params.append(param)

    def extend(self, params: Sequence[Parameter]) -> None:
        """Adds parameters."""
        self.params.extend(params)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        for number, param in enumerate(self.params):
            yield from _parameters(f"{prefix}.{number}" if prefix else str(number), param)


class ParameterDict(Module):
    """Parameters by name."""

    def __init__(self, params: Mapping[str, Parameter] | None = None):
        self.params = dict(params or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __getitem__(self, key: str) -> Parameter:
        return self.params[key]

    def __setitem__(self, key: str, param: Parameter) -> None:
        self.params[key] = param

    def __contains__(self, key: str) -> bool:
        return key in self.params

    def __len__(self) -> int:
        return len(self.params)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self.params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters, in order."""
        return self.params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """The names with their parameters, in order."""
        return self.params.items()

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        for name, param in self.params.items():
            yield from _parameters(f"{prefix}.{name}" if prefix else name, param)


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

    def __setitem__(self, index: int, module: Module) -> None:
        self.modules[index] = module

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
