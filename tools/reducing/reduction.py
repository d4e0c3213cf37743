"""The reduction of a program and of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...core.errors import StepwellError
from ...module import Module
from .predicates import Predicate
from .rewrites import (
    Rewrite,
    attribute_removals,
    delete,
    operand_replacements,
    operations,
    parameter_removals,
    replace_number,
    smaller_numbers,
    unwraps,
)
from .search import minimal_subset

_MOST_ROUNDS = 10


@dataclass
class Reduction:
    """A failing program and pipeline, made smaller in place. passes: the texts of the passes, in order.  report: is
    called with a line of progress after each round."""

    module: Module
    passes: list[str]
    predicate: Predicate
    report: Callable[[str], None] = lambda _: None

    def run(self) -> None:
        """Reduces the program and the pipeline until no rewrite keeps the failure."""
        for n in range(_MOST_ROUNDS):
            before = (str(self.module), self.passes)
            self._reduce_passes()
            self._reduce_operations()
            self._try_all(operand_replacements)
            self._try_all(unwraps)
            self._reduce_numbers()
            self._try_all(attribute_removals)
            self._try_all(parameter_removals)
            self.report(f"round {n + 1}: {line_count(self.module)} lines, {len(self.passes)} passes")
            if before == (str(self.module), self.passes):
                return

    def fails(self, module: Module, passes: Iterable[str] | None = None) -> bool:
        """Whether a valid program fails under the passes, by default the current ones."""
        try:
            module.verify()
            return self.predicate(module, ",".join(self.passes if passes is None else passes))
        except (StepwellError, ValueError, TypeError, KeyError, AttributeError, AssertionError):
            return False  # an invalid rewrite, whose program cannot be printed

    def _reduce_passes(self) -> None:
        self.passes = minimal_subset(self.passes, lambda rest: bool(rest) and self.fails(self.module, rest))

    def _reduce_operations(self) -> None:
        original = self.module

        def without(kept: list[int]) -> Module | None:
            copy, removed = original.clone(), set(range(count)) - set(kept)
            return copy if delete(copy, sorted(removed)) or not removed else None

        def fails(kept: list[int]) -> bool:
            copy = without(kept)
            return copy is not None and self.fails(copy)

        count = len(operations(original))
        kept = minimal_subset(range(count), fails)
        self.module = without(kept) or original

    def _try_all(self, rewrites: Callable[[Module], Iterable[Rewrite]]) -> None:
        """Applies each rewrite that keeps the failure; those of the smaller program follow."""
        position = 0
        while True:
            remaining = list(rewrites(self.module))[position:]
            accepted = next((n for n, each in enumerate(remaining) if self._apply(each)), None)
            if accepted is None:
                return
            position += accepted

    def _apply(self, rewrite: Rewrite) -> bool:
        copy = self.module.clone()
        if rewrite(copy) and self.fails(copy):
            self.module = copy
            return True
        return False

    def _reduce_numbers(self) -> None:
        for number, other in list(smaller_numbers(self.module)):
            try:
                candidate = replace_number(self.module, number, other)
            except StepwellError:
                continue
            if str(candidate) != str(self.module) and self.fails(candidate):
                self.module = candidate


def line_count(module: Module) -> int:
    """The lines of a program as MLIR."""
    return len(str(module).splitlines())
