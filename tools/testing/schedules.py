"""The schedules of the corpus: traces recorded by a real compiler, their results, and attempts that it refused."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...backends.build import build
from ...backends.oracle import compile_oracle
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.tir import ForOp, FuncOp
from ...frontends.tvmscript import parse_tvmscript
from ...frontends.tvmscript.decorators import T
from ...module import Module
from .corpus import Problem, corpus

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ScheduleCase:
    """A trace applied by a real compiler.

    name: the program and the line number.  kinds: the primitives of the trace.  before, after: TVMScript.  trace:
    Python lines on `sch`.  moved: whether the trace changed the layout of an output.
    """

    name: str
    kinds: tuple[str, ...]
    before: str
    trace: tuple[str, ...]
    after: str
    problem: Problem
    changes_output_layout: bool


@dataclass(frozen=True)
class RefusedCase:
    """An attempt refused by a real compiler: `attempt`, Python text on `sch`, after a `trace` that it applied.

    kind: the refused primitive.  error: the error message.
    """

    name: str
    kind: str
    before: str
    trace: tuple[str, ...]
    attempt: str
    error: str
    problem: Problem


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@cache
def schedule_cases(folder: Path | None = None) -> tuple[ScheduleCase, ...]:
    """The traces of a folder, by default of the corpus; empty without a corpus."""
    folder = folder or _schedules()
    if folder is None:
        return ()
    return tuple(
        ScheduleCase(
            f"{case['program']}-{number}",
            tuple(case["kinds"]),
            case["in"],
            tuple(case["trace"]),
            case["out"],
            Problem.load(folder / case["program"]),
            case["tvm_ok"] == "output buffer changed its layout",
        )
        for number, case in enumerate(_lines(folder, "schedules.jsonl"))
    )


@cache
def refused_cases(folder: Path | None = None) -> tuple[RefusedCase, ...]:
    """The refused attempts of a folder, by default of the corpus; empty without a corpus."""
    folder = folder or _schedules()
    if folder is None:
        return ()
    texts = {case["program"]: case["in"] for case in _lines(folder, "schedules.jsonl")}
    return tuple(
        RefusedCase(
            f"{case['program']}-{number}",
            case["kind"],
            texts[case["program"]],
            tuple(case["trace"]),
            case["attempt"],
            case["error"],
            Problem.load(folder / case["program"]),
        )
        for number, case in enumerate(_lines(folder, "refused.jsonl"))
    )


def _schedules() -> Path | None:
    folder = corpus()
    return None if folder is None else folder / "schedules"


@cache
def parse_shared(text: str) -> Module:
    """The module of a text. It is shared and must not be modified."""
    return parse_tvmscript(text)


# Applying


def apply_trace(schedule: Any, trace: Iterable[str]) -> None:
    """Runs Python lines with `schedule` bound to `sch`; `T` is TVMScript's namespace, for pad values."""
    exec("\n".join(trace), {"sch": schedule, "T": T})


def attempt(schedule: Any, text: str) -> str | None:
    """Runs Python lines on `schedule`; returns None on success, otherwise the reason for the refusal.

    Raises AssertionError if a refused primitive changed the program.
    """
    before = str(schedule.mod)
    try:
        apply_trace(schedule, [text])
    except ScheduleError as error:
        if str(schedule.mod) != before:
            raise AssertionError(f"refused, and changed the program: {error}") from error
        return str(error)
    return None


# Checking


def check_numbers(module: Module, problem: Problem, trace: Sequence[str] = ()) -> None:
    """Raises AssertionError unless the single function of `module` computes the recorded outputs.

    trace: lines whose `transform_layout` may have changed the layouts of parameters; an output may then have any layout
    given by an index map of the trace. Runs the function with the oracle, which also detects undefined behaviour, and
    as native code unless it has loops bound to threads or unrolled, which take long to compile.
    """
    (func,) = module.functions.values()
    assert isinstance(func, FuncOp)
    arguments, maps = problem.arguments(), list(index_maps(trace))
    shapes = [_shape(value, argument) for (_, value), argument in zip(func.params, arguments, strict=True)]
    placed = [_placements(argument, shape, maps) for argument, shape in zip(arguments, shapes, strict=True)]
    outputs = [func.params[i][0] for i in problem.output_positions()]
    oracle = compile_oracle(module, uninitialized=outputs)
    for library in [oracle, *([] if _is_oracles(func) else [build(module)])]:
        laid_out = [p[0].put(a, s) for p, a, s in zip(placed, problem.arguments(), shapes, strict=True)]
        library(*laid_out)
        _check_outputs(problem, laid_out, placed)


def _is_oracles(func: FuncOp) -> bool:
    """Whether only the oracle runs a function."""
    kinds = {op.kind.data for op in find_ops(func, ForOp)}
    return not kinds.isdisjoint(("thread_binding", "unrolled"))


def _shape(parameter: SSAValue, argument: Array) -> tuple[int, ...]:
    """The shape of a parameter; for a handle, the shape of the argument."""
    return tuple(parameter.type.get_shape()) if isinstance(parameter.type, MemRefType) else argument.shape


def _check_outputs(problem: Problem, arguments: list[Array], placed: list[list[_Placement]]) -> None:
    """Raises AssertionError unless each output is correct in one of its placements."""
    for number, position in enumerate(problem.output_positions()):
        *others, last = placed[position]
        for placement in others:
            try:
                problem.check_output(number, placement.take(arguments[position]))
                break
            except AssertionError:
                continue
        else:
            problem.check_output(number, last.take(arguments[position]))


@dataclass(frozen=True)
class _Placement:
    """The positions of the elements of an array in another array: an index array for each dimension; None for the
    identity."""

    indices: tuple[Array, ...] | None = None

    def put(self, array: Array, shape: tuple[int, ...]) -> Array:
        if self.indices is None:
            return array
        result = np.zeros(shape, array.dtype)
        result[self.indices] = array
        return result

    def take(self, array: Array) -> Array:
        return array if self.indices is None else array[self.indices]


def _placements(array: Array, shape: tuple[int, ...], maps: Sequence[Callable[..., Any]]) -> list[_Placement]:
    """The possible placements of an array in `shape`, the identity first. Raises AssertionError if no map produces
    `shape`."""
    placements = [_Placement()] if array.shape == shape else []
    for function in maps:
        if function.__code__.co_argcount == array.ndim:
            indices = tuple(np.asarray(i) for i in function(*np.indices(array.shape)))
            if len(indices) == len(shape) and all(i.max() < n for i, n in zip(indices, shape, strict=True)):
                placements.append(_Placement(indices))
    assert placements, f"a parameter of shape {array.shape} became one of shape {shape}, which no index map says"
    return placements


def index_maps(lines: Iterable[str]) -> Iterator[Callable[..., Any]]:
    """The `lambda` functions in Python lines."""
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Lambda):
            yield eval(compile(ast.Expression(node), "<index map>", "eval"), {})
