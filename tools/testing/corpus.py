"""The programs of the corpus: texts printed by a real compiler, their inputs, and the outputs that it computed.

The corpus lies in `tests/data/corpus`, or beside the repository in `shared/corpus`; its README.md describes its origin.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype

_ROOT = Path(__file__).parents[2]
_PLACES = (_ROOT / "tests/data/corpus", _ROOT.parent / "shared/corpus")

TOLERANCES = {"float16": (2e-2, 2e-2), "float32": (1e-4, 1e-5), "float64": (1e-4, 1e-5)}
"""rtol and atol of the comparison with the recorded outputs, by data type; integers are exact."""


SPELLINGS = ("matmul", "reduce_argmax_0", "pool2d_max")
"""Programs of the corpus with accesses, reductions and predicates, for tests of spellings."""


@cache
def corpus() -> Path | None:
    """The folder of the corpus; None if it is absent."""
    return next((p for p in _PLACES if p.is_dir()), None)


def programs_of_eras() -> list[Path]:
    """The programs in the spellings of several versions of TVM: `tests/data/tvmscript`, and three of the corpus."""
    folder = _PLACES[0]
    shared = [p for name in SPELLINGS for p in folder.glob(f"tvmscript/{name}.*.py")]
    return sorted([*(_ROOT / "tests/data/tvmscript").glob("*.py"), *shared], key=lambda path: path.name)


@dataclass(frozen=True)
class Problem:
    """The specification of a program of the corpus: its parameters and its expected outputs. `parameters`: shape, dtype
    and recipe of each; the recipe of an output is None."""

    seed: int
    parameters: tuple[tuple[tuple[int, ...], str, str | None], ...]
    outputs: Path

    @classmethod
    def load(cls, stem: Path) -> Problem:
        """The problem of `STEM.json` and `STEM.npz`."""
        text = json.loads(stem.with_suffix(".json").read_text())
        parameters = tuple((tuple(p["shape"]), p["dtype"], p["recipe"]) for p in text["params"])
        return cls(text["seed"], parameters, stem.with_suffix(".npz"))

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        """An array for each parameter; outputs are zero."""
        rng = np.random.default_rng(self.seed)
        return [_make(rng, shape, recipe).astype(numpy_dtype(dtype)) for shape, dtype, recipe in self.parameters]

    def output_positions(self) -> list[int]:
        """The positions of the outputs among the parameters."""
        return [i for i, (_, _, recipe) in enumerate(self.parameters) if recipe is None]

    def check(self, arguments: list[np.ndarray[Any, Any]]) -> None:
        """Raises AssertionError unless the outputs among `arguments` are equal to the recorded outputs."""
        for number, position in enumerate(self.output_positions()):
            self.check_output(number, arguments[position])

    def check_output(self, number: int, got: np.ndarray[Any, Any]) -> None:
        """Raises AssertionError unless `got` is equal to the recorded output `number`."""
        expected = np.load(self.outputs)[f"out{number}"]
        if got.dtype.name in TOLERANCES:
            rtol, atol = TOLERANCES[got.dtype.name]
            np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol, atol)
        else:
            np.testing.assert_array_equal(got, expected)


def _make(rng: np.random.Generator, shape: tuple[int, ...], recipe: str | None) -> np.ndarray[Any, Any]:
    match recipe.split(":") if recipe is not None else None:
        case None:
            return np.zeros(shape)
        case ["normal"]:
            return rng.standard_normal(shape)
        case ["positive"]:
            return np.abs(rng.standard_normal(shape)) + 0.1
        case ["int", low, high]:
            return rng.integers(int(low), int(high), shape)
        case _:
            raise ValueError(f"unknown recipe {recipe!r}")


@dataclass(frozen=True)
class CorpusProgram:
    """A program text of the corpus and its problem. `right`: whether it computes the recorded outputs."""

    name: str
    text: str
    problem: Problem
    right: bool = True


def script_programs(syntax: str = "classic") -> list[CorpusProgram]:
    """The TVMScript cases in the syntax `classic` or `tvm`."""
    folder = corpus()
    if folder is None:
        return []
    stems = sorted(p.with_suffix("") for p in (folder / "tvmscript").glob("*.json"))
    return [
        CorpusProgram(stem.name, stem.with_name(f"{stem.name}.{syntax}.py").read_text(), Problem.load(stem))
        for stem in stems
    ]


def programs_of_schedules(side: str) -> list[CorpusProgram]:
    """The distinct programs before (`in`) or after (`out`) the schedules, named by the first line that holds them."""
    folder = corpus()
    if folder is None:
        return []
    programs: dict[str, CorpusProgram] = {}
    for number, line in enumerate((folder / "schedules/schedules.jsonl").read_text().splitlines()):
        case = json.loads(line)
        if case[side] not in programs:
            problem = Problem.load(folder / "schedules" / case["program"])
            right = side == "in" or case["tvm_ok"] is True
            programs[case[side]] = CorpusProgram(f"{case['program']}-{number}", case[side], problem, right)
    return list(programs.values())
