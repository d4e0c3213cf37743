"""Operators of users: `relay.op.register`. Programs have them; a function of tensor expressions that
`relay.op.register_compute` registers computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ....backends.relax.host_functions import on_host
from ....backends.runtime.packed import register_func
from ....core.errors import OptionError
from ....operators import OPERATORS
from ....operators.definition import Pattern
from ...relay.host import HOST_OPERATORS, HostOperator
from ...relay.types import TensorType, TupleType
from ..driver.build_module import build
from ..te import create_prim_func, placeholder

Array = np.ndarray[Any, Any]
Relation = Callable[[Sequence[Any], Any], Any]
"""The type of the result of an operator, from the types of its operands and its attributes."""


class OpPattern:
    """The kinds of fusion of operators."""

    ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE_FUSABLE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8


class UserOperator(HostOperator):
    """An operator of a user. The methods that describe it are those of TVM's `Op`."""

    @property
    def num_inputs(self) -> int:
        """The number of operands, -1 before it is set."""
        return self.facts.get("num_inputs", -1)

    @property
    def support_level(self) -> int:
        """A number of the user, 10 before it is set."""
        return self.facts.get("support_level", 10)

    def set_num_inputs(self, n: int) -> None:
        """Sets the number of operands."""
        self.facts["num_inputs"] = n

    def set_support_level(self, level: int) -> None:
        """Sets the level, which nothing depends on."""
        self.facts["support_level"] = level

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Describes an operand. name, type, description: texts for readers."""
        self.facts.setdefault("arguments", []).append((name, type, description))

    def set_attrs_type_key(self, key: str) -> None:
        """States the kind of the attributes. OptionError for another kind than `DictAttrs`."""
        if key != "DictAttrs":
            raise OptionError(f"operator {self.name}: attributes of kind {key!r}, expected 'DictAttrs'")

    def add_type_rel(self, rel_name: str, type_rel_func: Relation | None = None) -> None:
        """States the type of the result. rel_name: of the relation; without a function `Identity` or `Broadcast`.

        OptionError for another name without a function.
        """
        if type_rel_func is None and rel_name not in _RELATIONS:
            known = " or ".join(map(repr, _RELATIONS))
            raise OptionError(f"operator {self.name}: relation {rel_name!r} without a function, expected {known}")
        self.facts["relation"] = type_rel_func or _RELATIONS[rel_name]

    def result_type(self, types: Sequence[Any], given: Mapping[str, Any]) -> Any:
        """The type of the result. OptionError for another number of operands, and without a relation."""
        if self.num_inputs not in (-1, len(types)):
            raise OptionError(f"operator {self.name}: {len(types)} operands, expected {self.num_inputs}")
        relation: Relation | None = self.facts.get("relation")
        if relation is None:
            raise OptionError(f"operator {self.name}: no relation of types, expected one of add_type_rel")
        result = relation(types, given)
        if not isinstance(result, TensorType | TupleType):
            raise OptionError(f"operator {self.name}: a result of type {result}, expected a tensor or a tuple")
        return result


def _identity(types: Sequence[Any], _: Any) -> Any:
    return types[0]


def _broadcast(types: Sequence[Any], _: Any) -> Any:
    shapes = [each.concrete_shape for each in types]
    try:
        return TensorType(np.broadcast_shapes(*shapes), types[0].dtype)
    except ValueError:
        raise OptionError(f"relation Broadcast of {', '.join(map(str, types))}, expected equal sizes, or 1") from None


_RELATIONS: dict[str, Relation] = {"Identity": _identity, "Broadcast": _broadcast}


def register(op_name: str, describe: str = "") -> None:
    """Registers an operator of a user. describe: a text for readers.

    OptionError for a name that an operator has already.
    """
    if op_name in OPERATORS or op_name in HOST_OPERATORS:
        raise OptionError(f"operator {op_name} is registered already")

    def refuse(*_: Any, **__: Any) -> Any:
        raise OptionError(f"operator {op_name}: no tensor expression, expected one of relay.op.register_compute")

    HOST_OPERATORS[op_name] = UserOperator(op_name, Pattern.OPAQUE, refuse, refuse, (), False, ())
    HOST_OPERATORS[op_name].set_attr("description", describe)
    register_func(HOST_OPERATORS[op_name].function, refuse, override=True)


def _of_user(op_name: str) -> UserOperator:
    found = HOST_OPERATORS.get(op_name)
    if not isinstance(found, UserOperator):
        raise OptionError(f"operator {op_name!r}, expected one of relay.op.register")
    return found


def register_pattern(op_name: str, pattern: int, level: int = 10) -> None:
    """States the kind of fusion of an operator of a user, without effect: it is a step of its own. level: ignored."""
    _of_user(op_name).set_attr("TOpPattern", pattern)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """States whether an operator of a user has effects, a fact for readers. level: ignored."""
    _of_user(op_name).set_attr("TOpIsStateful", stateful)


def register_compute(op_name: str, compute: Any = None, level: int = 10) -> Any:
    """Registers the function that computes an operator of a user: from its attributes, its operands as tensors, and the
    type of its result, to its results as tensors. Without a function a decorator. level: ignored.

    OptionError for another operator.
    """
    op = _of_user(op_name)

    def add(function: Any) -> Any:
        @lru_cache(maxsize=256)
        def compiled(types: tuple[TensorType, ...]) -> tuple[Any, list[Any]]:
            inputs = [placeholder(each.concrete_shape, each.dtype, f"x{n}") for n, each in enumerate(types)]
            made = function(SimpleNamespace(), inputs, op.result_type(types, {}))
            outputs = list(made) if isinstance(made, list | tuple) else [made]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return build(create_prim_func([*inputs, *outputs])), outputs

        def call(_: str, *arrays: Array) -> Any:
            types = tuple(TensorType(each.shape, each.dtype.name) for each in arrays)
            library, outputs = compiled(types)
            results = [np.empty([int(size) for size in each.shape], each.dtype) for each in outputs]
            library(*map(np.ascontiguousarray, arrays), *results)
            return tuple(results) if isinstance(op.result_type(types, {}), TupleType) else results[0]

        op.set_attr("FTVMCompute", function)
        register_func(op.function, on_host(call), override=True)
        return function

    return add if compute is None else add(compute)


__all__ = ["OpPattern", "register", "register_compute", "register_pattern", "register_stateful"]
