"""Optimizers as functions of programs: `tvm.relax.training.optimizer`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .....core.dtypes import is_float_dtype, numpy_dtype
from .....core.errors import ArgumentError
from ...absent import report_absent
from ...nd import HostArray, NDArray
from ..block_builder import BlockBuilder
from ..calls import op
from ..expr import Constant, Expr, Tuple, TupleGetItem, Var
from ..function import Function
from ..struct_info import TensorStructInfo, TupleStructInfo

__getattr__ = report_absent("tvm.relax.training.optimizer")


class Optimizer:
    """An optimizer. name: that of its function.  param_list: the parameters, which `init` sets.  state: the arrays that
    the function takes as its last argument and returns anew.  dtype: of the parameters."""

    def __init__(self, name: str):
        self.name = name
        self.param_list: list[Var] = []
        self.state: list[NDArray] = []
        self.dtype = ""

    def init(self, params: Var | Sequence[Var]) -> Optimizer:
        """Sets the parameters and the first state. Returns the optimizer. ArgumentError for parameters that are not
        tensors of one data type of floats and of known shape, and for a parameter given twice."""
        self.param_list = [params] if isinstance(params, Var) else list(params)
        types = [each.struct_info for each in self.param_list]
        dtypes = {each.dtype for each in types if isinstance(each, TensorStructInfo)}
        if len(dtypes) != 1 or len(set(self.param_list)) < len(types) or not all(map(_is_floats, types)):
            names = ", ".join(f"{each.name_hint}: {each.struct_info}" for each in self.param_list)
            raise ArgumentError(f"{self.name}: parameters {names}, expected distinct tensors of one type of floats")
        (self.dtype,) = dtypes
        self.state = [HostArray(each) for each in self._first_state()]
        return self

    def get_function(self) -> Function:
        """The function of the tuples of parameters, gradients and states, which returns those of the new parameters
        and states. ArgumentError before `init`."""
        if not self.param_list:
            raise ArgumentError(f"{self.name}: no parameters, expected init before get_function")
        params = TupleStructInfo([each.struct_info for each in self.param_list])
        states = TupleStructInfo([TensorStructInfo(each.shape, str(each.dtype)) for each in self.state])
        arguments = [Var("params", params), Var("gradients", params), Var("optim_states", states)]
        builder = BlockBuilder()
        with builder.function(self.name, arguments):
            with builder.dataflow():
                fields = [
                    [builder.emit(TupleGetItem(each, n)) for n in range(count)]
                    for each, count in zip(arguments, (len(types_) for types_ in map(_fields, arguments)), strict=True)
                ]
                new, after = self._step(builder, *fields)
                outputs = [builder.emit_output(Tuple(each)) for each in (new, after)]
            builder.emit_func_output(Tuple(outputs))
        return builder.get()[self.name]

    def _first_state(self) -> list[np.ndarray]:
        """The first state: the number of steps, and the arrays of a kind of optimizer."""
        return [np.zeros((), "int64")]

    def _zeros(self) -> list[np.ndarray]:
        """Zeros in the shapes of the parameters."""
        return [np.zeros(_shape(each), numpy_dtype(self.dtype)) for each in self.param_list]

    def _number(self, value: float) -> Expr:
        return Constant(np.asarray(value, numpy_dtype(self.dtype)))

    def _step(
        self, builder: BlockBuilder, params: Sequence[Expr], gradients: Sequence[Expr], states: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        """Emits a step. Returns the new parameters and states."""
        raise NotImplementedError

    def _counted(self, builder: BlockBuilder, states: Sequence[Expr]) -> Expr:
        """The number of steps after this one."""
        return builder.emit(op.add(states[0], Constant(np.asarray(1, "int64"))))

    def _decayed(self, builder: BlockBuilder, param: Expr, gradient: Expr, decay: float) -> Expr:
        """A gradient with that of the decay of weights."""
        return builder.emit(self._number(decay) * param + gradient) if decay else gradient


def _fields(var: Var) -> Sequence[object]:
    assert isinstance(var.struct_info, TupleStructInfo)
    return var.struct_info.fields


def _shape(var: Var) -> list[int]:
    assert isinstance(var.struct_info, TensorStructInfo)
    return [int(size) for size in var.struct_info.shape or ()]


def _is_floats(info: object) -> bool:
    return isinstance(info, TensorStructInfo) and info.shape is not None and is_float_dtype(numpy_dtype(info.dtype))


class SGD(Optimizer):
    """Stochastic gradient descent: each parameter minus the learning rate times its gradient."""

    def __init__(self, lr: float, weight_decay: float = 0):
        """lr: the learning rate.  weight_decay: times a parameter, is added to its gradient."""
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def _step(
        self, builder: BlockBuilder, params: Sequence[Expr], gradients: Sequence[Expr], states: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        new: list[Expr] = []
        for param, given in zip(params, gradients, strict=True):
            gradient = self._decayed(builder, param, given, self.weight_decay)
            new.append(builder.emit(param - self._number(self.lr) * gradient))
        return new, [self._counted(builder, states)]


class MomentumSGD(Optimizer):
    """Stochastic gradient descent by velocities, which are sums of decaying gradients."""

    def __init__(
        self, lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ):
        """lr: the learning rate.  momentum: the factor of a velocity from step to step.  dampening: 1 minus the factor
        of a gradient in the velocity.  weight_decay: times a parameter, is added to its gradient.  nesterov: whether a
        step follows the gradient plus the momentum times the velocity."""
        super().__init__("MomentumSGD")
        self.lr, self.momentum, self.dampening = float(lr), float(momentum), float(dampening)
        self.weight_decay, self.nesterov = float(weight_decay), nesterov

    def _first_state(self) -> list[np.ndarray]:
        return [*super()._first_state(), *self._zeros()]

    def _step(
        self, builder: BlockBuilder, params: Sequence[Expr], gradients: Sequence[Expr], states: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        new: list[Expr] = []
        velocities: list[Expr] = []
        momentum = self._number(self.momentum)
        for param, given, velocity in zip(params, gradients, states[1:], strict=True):
            gradient = self._decayed(builder, param, given, self.weight_decay)
            damped = self._number(1 - self.dampening) * gradient if self.dampening else gradient
            velocities.append(builder.emit(momentum * velocity + damped))
            direction = gradient + momentum * velocities[-1] if self.nesterov else velocities[-1]
            new.append(builder.emit(param - self._number(self.lr) * direction))
        return new, [self._counted(builder, states), *velocities]


class Adam(Optimizer):
    """Adam: steps by the means of gradients over the roots of the means of their squares."""

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, weight_decay: float = 0
    ):
        """lr: the learning rate.  betas: the factors of the two means from step to step.  eps: is added to the root.
        weight_decay: times a parameter, is added to its gradient."""
        super().__init__("Adam")
        self.lr, self.beta1, self.beta2 = float(lr), float(betas[0]), float(betas[1])
        self.eps, self.weight_decay = float(eps), float(weight_decay)

    def _first_state(self) -> list[np.ndarray]:
        ones = [np.ones((), numpy_dtype(self.dtype)) for _ in range(2)]
        return [*super()._first_state(), *ones, *self._zeros(), *self._zeros()]

    def _step(
        self, builder: BlockBuilder, params: Sequence[Expr], gradients: Sequence[Expr], states: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        count, one = len(params), self._number(1)
        betas = [self._number(each) for each in (self.beta1, self.beta2)]
        powers = [builder.emit(state * beta) for state, beta in zip(states[1:3], betas, strict=True)]
        means, squares = states[3 : 3 + count], states[3 + count :]
        new: list[Expr] = []
        moments: list[list[Expr]] = [[], []]
        for param, given, mean, square in zip(params, gradients, means, squares, strict=True):
            gradient = self._decayed(builder, param, given, self.weight_decay)
            inputs = ((mean, gradient), (square, gradient * gradient))
            unbiased: list[Expr] = []
            for moment, beta, power, (old, added) in zip(moments, betas, powers, inputs, strict=True):
                moment.append(builder.emit(beta * old + (one - beta) * added))
                unbiased.append(builder.emit(moment[-1] / (one - power)))
            root = op.sqrt(unbiased[1]) + self._number(self.eps)
            new.append(builder.emit(param - self._number(self.lr) * unbiased[0] / root))
        return new, [self._counted(builder, states), *powers, *moments[0], *moments[1]]


__all__ = ["SGD", "Adam", "MomentumSGD", "Optimizer"]
