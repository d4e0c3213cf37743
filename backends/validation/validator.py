"""The observer that compares the results of programs before and after each pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...core.dtypes import dtype_of_numpy
from ...core.errors import FaultyPassError, UnsupportedError
from ...module import Module
from ...transforms.observers import PassObserver
from .comparison import differences
from .execution import Call, Program, Results, Undefined

_MOST_ELEMENTS = 16
"""The elements of an input that an error shows."""


@dataclass
class PassValidator(PassObserver):
    """Runs the program before and after each pass on small random inputs, and compares the results.

    Programs on graphs, tensors and loops run in the oracle, all others as native code in a process of their own. A call
    whose behaviour is undefined before a pass is not compared; a program that cannot be run is compared with the last
    one that could. Raises `FaultyPassError` for a pass that changes a result.

    validated: the names of the passes that were checked.  unchecked: the names of the others, with the reasons.
    """

    validated: list[str] = field(default_factory=list[str])
    unchecked: dict[str, str] = field(default_factory=dict[str, str])
    _op: ModuleOp | None = field(default=None, repr=False)
    _expected: dict[Call, Results] = field(default_factory=dict[Call, Results], repr=False)
    _text: str = ""
    """The text of the program that has the expected results."""
    _reason: str = ""
    """The reason why there are no expected results."""

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        del module_pass
        if module.op is not self._op:
            self._expect(module)
            self._op = module.op

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        del seconds
        self._compare(str(module_pass), module)

    def check(self, name: str, before: Module, after: Module) -> None:
        """Compares the programs before and after a rewrite. FaultyPassError for different results."""
        self._expect(before)
        self._compare(name, after)
        self._op = after.op

    def __str__(self) -> str:
        """The passes that were validated, and those that were not."""
        lines = [f"validated: {len(self.validated)} passes"]
        return "\n".join([*lines, *(f"not validated: {name}: {reason}" for name, reason in self.unchecked.items())])

    def _expect(self, module: Module) -> None:
        """Runs the program on all inputs, whose results the next pass must keep."""
        self._expected, self._reason, self._text = {}, "", str(module)
        try:
            program = Program.of(module)
        except UnsupportedError as error:
            self._reason = str(error)
            return
        for call in program.calls():
            try:
                (ending,) = program.run([(call, program.arguments(call, {}))])
            except UnsupportedError as error:
                self._reason = str(error)
                continue
            if isinstance(ending, Results):
                self._expected[call] = ending
            else:
                self._reason = ending.message
        if not self._expected and not self._reason:
            self._reason = "it has no public function"

    def _compare(self, name: str, module: Module) -> None:
        text = str(module)
        if text == self._text:
            self.validated.append(name)
            return
        if not self._expected:
            reason = self._reason
            self._expect(module)
            self.unchecked[name] = f"the program before the pass cannot be run: {reason}"
            return
        try:
            program = Program.of(module)
            calls = [(call, program.arguments(call, before.arguments)) for call, before in self._expected.items()]
            endings = program.run(calls)
        except UnsupportedError as error:
            self._require_functions(name, module)
            self.unchecked[name] = f"the program cannot be run: {error}"
            return
        for (call, before), ending in zip(self._expected.items(), endings, strict=True):
            _require_equal(name, call, before, ending)
        self._text = text
        self.validated.append(name)

    def _require_functions(self, name: str, module: Module) -> None:
        for call in self._expected:
            if call.entry not in module.function_ops:
                raise FaultyPassError(f"pass {name} removes the public function {call.entry}")


def _require_equal(name: str, call: Call, before: Results, ending: Results | Undefined) -> None:
    """Raises FaultyPassError if a call ends in another way than before the pass."""
    inputs = f"\n    inputs (seed {call.seed}): {describe(before.arguments)}"
    if isinstance(ending, Undefined):
        raise FaultyPassError(f"pass {name} makes {call.entry} undefined: {ending.message}{inputs}")
    before_by_name = {each: value for each, value in before.values.items() if each in ending.values}
    for difference in differences(before_by_name, ending.values):
        raise FaultyPassError(f"pass {name} changes the results of {call.entry}: {difference}{inputs}")


def describe(arguments: Mapping[str, Any]) -> str:
    """Arguments as text: types, shapes, and the values of small arrays."""
    return ", ".join(f"{name}: {_describe(value)}" for name, value in arguments.items()) or "none"


def _describe(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)
    text = f"{dtype_of_numpy(value.dtype)}[{', '.join(map(str, value.shape))}]"
    return f"{text} {value.tolist()}" if value.size <= _MOST_ELEMENTS else text
