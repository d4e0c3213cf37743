"""Training of models: `tvm.relax.training.trainer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .....core.dtypes import numpy_dtype
from .....core.errors import ArgumentError
from ...absent import report_absent
from ...ir.module import IRModule
from ...nd import Device, array
from ..expr import Var
from .setup_trainer import ADJOINT, BACKBONE, OPTIMIZER

__getattr__ = report_absent("tvm.relax.training.trainer")


class _Arrays:
    """Arrays by position and by the names of parameters. what: what they are, for errors."""

    def __init__(self, what: str, variables: Sequence[Var], device: Device):
        self.what = what
        self.variables = list(variables)
        self.device = device
        self.values: list[Any] = [None] * len(variables)

    def fill(self, numbers: Callable[[tuple[int, ...]], Any]) -> None:
        """Sets all arrays. numbers: the numbers of a shape."""
        for n, var in enumerate(self.variables):
            info: Any = var.struct_info
            shape = tuple(int(size) for size in info.shape)
            self.values[n] = array(np.asarray(numbers(shape), numpy_dtype(info.dtype)), self.device)

    def load(self, given: Sequence[Any] | Mapping[str, Any]) -> None:
        """Sets all arrays of a list, or those of a dictionary. ArgumentError for another number and unknown names."""
        names = [each.name_hint for each in self.variables]
        if not isinstance(given, Mapping):
            given = dict(zip(names, given, strict=True)) if len(given) == len(names) else {"too many or few": None}
        if unknown := [name for name in given if name not in names]:
            raise ArgumentError(f"{self.what} {', '.join(unknown)}, expected {', '.join(names) or 'none'}")
        for name, value in given.items():
            self.values[names.index(name)] = array(value, self.device)

    def named(self) -> dict[str, Any]:
        """The arrays by name."""
        return {var.name_hint: value for var, value in zip(self.variables, self.values, strict=True)}

    @property
    def known(self) -> list[Any]:
        """The arrays. ArgumentError if one is not set."""
        if missing := [name for name, value in self.named().items() if value is None]:
            raise ArgumentError(f"{self.what} {', '.join(missing)} without values, expected load or init before")
        return self.values


class Trainer:
    """Trains a program of `SetupTrainer`, step by step."""

    def __init__(self, train_mod: IRModule, vm: Any, device: Device, zero_init_param_state: bool = True):
        """train_mod: the program.  vm: the machine of its compiled functions.  zero_init_param_state: whether weights
        and states begin as zeros."""
        self.mod, self.vm, self.device = train_mod.without_attr("optim_state"), vm, device
        attrs = train_mod.attrs
        self._inputs = int(attrs["input_num"])
        weights, states = int(attrs["param_num"]), int(attrs["state_num"])
        self._optim_state = [array(each, device) for each in attrs["optim_state"]]
        params = train_mod[ADJOINT].params[self._inputs :]
        self._params = _Arrays("parameters", params[:weights], device)
        self._states = _Arrays("states", params[weights : weights + states], device)
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    def xaiver_uniform_init_params(self) -> None:
        """Sets the weights to random numbers, whose bound is the root of 6 over the sum of the sizes (Glorot, 2010)."""
        self._params.fill(lambda shape: np.sqrt(6.0 / np.sum(shape)) * np.random.uniform(-1.0, 1.0, shape))

    def zero_init_params(self) -> None:
        """Sets the weights to zeros."""
        self._params.fill(np.zeros)

    def zero_init_states(self) -> None:
        """Sets the states to zeros."""
        self._states.fill(np.zeros)

    def load_params(self, params: Sequence[Any] | Mapping[str, Any]) -> None:
        """Sets all weights of a list, or those of a dictionary by name."""
        self._params.load(params)

    def load_states(self, states: Sequence[Any] | Mapping[str, Any]) -> None:
        """Sets all states of a list, or those of a dictionary by name."""
        self._states.load(states)

    def export_params(self) -> dict[str, Any]:
        """The weights by name."""
        return self._params.named()

    def export_states(self) -> dict[str, Any]:
        """The states by name."""
        return self._states.named()

    def predict(self, *input_instances: Any) -> Any:
        """The result of the model, without the new states."""
        given = [*self._arrays(input_instances), *self._params.known, *self._states.known]
        results = self.vm[BACKBONE](*given)
        if not self._states.values:
            return results
        results = results[: -len(self._states.values)]
        return results[0] if len(results) == 1 else results

    def update(self, input_instances: Any, targets: Any) -> Any:
        """A step of the optimizer. Returns the loss before it."""
        inputs, wanted = ([each] if not isinstance(each, list) else each for each in (input_instances, targets))
        given = [*self._params.known, *self._states.known, *(array(each, self.device) for each in wanted)]
        results, gradients = self.vm[ADJOINT](*self._arrays(inputs), *given)
        if self._states.values:
            results, *self._states.values = results
        new, self._optim_state = self.vm[OPTIMIZER](self._params.known, gradients, self._optim_state)
        self._params.values = list(new)
        return results

    def _arrays(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != self._inputs:
            raise ArgumentError(f"{len(inputs)} inputs, expected {self._inputs}")
        return [array(each, self.device) for each in inputs]


__all__ = ["Trainer"]
