"""docs/primitives.md: the meaning of each primitive, from its docstring, and its effect on a program, by execution."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from ...backends.validation.tensor_intrinsics import register_tensor_intrin
from ...core.errors import ScheduleError
from ...dialects import get_all_dialects
from ...dialects.schedule import ScheduleOp, TraceOp
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...schedule import Schedule
from ...schedule.session import EXCLUDED_PRIMITIVES, UNSUPPORTED_PRIMITIVES
from .docstrings import Argument, describe
from .examples import FAMILIES, Example, Family, Refusal
from .pages import run_code

_HEAD = """\
# Primitives

The primitives of `stepwell.Schedule`, with a section for each primitive: its meaning, its arguments, its conditions of
legality, and a program before and after. [schedules.md](schedules.md) is the introduction; [legality.md](legality.md)
describes the analysis of the conditions.

The names, the order and the defaults of the arguments are those of TVM. Blocks, loops and numbers are handles returned
by the schedule; a block may also be given by name. Every refusal raises a `ScheduleError` and leaves the program
unchanged. Programs are shown without the `T.reads` and `T.writes` of their blocks, which are kept up to date.

`python -m stepwell.tools.docs` generates this page: the text comes from the docstrings of the methods, and all programs
and outputs come from execution. A test compares.
"""


def primitives_page() -> str:
    """The text of docs/primitives.md."""
    return "\n".join([_HEAD, *_contents(), *_sections(), *_dialect(), *_unsupported_primitives()])


def _contents() -> Iterator[str]:
    for family in FAMILIES:
        links = ", ".join(f"[{e.method}](#{e.method})" for e in family.examples)
        yield f"- {family.title}: {links}"
    yield "- [The `schedule` dialect](#the-schedule-dialect), [unsupported primitives](#not-there-yet)\n"


def _example_programs() -> Iterator[tuple[Example, str]]:
    program = ""
    for example in (example for family in FAMILIES for example in family.examples):
        program = example.program or program
        yield example, program


ALL_EXAMPLES = {example.method: (example, program) for example, program in _example_programs()}
"""The examples by method, each with its program."""


def _sections() -> Iterator[str]:
    for family in FAMILIES:
        yield f"## {family.title}\n"
        for example in family.examples:
            yield from _section(*ALL_EXAMPLES[example.method])
        if family.refusal is not None:
            yield from _refusal(family, family.refusal)


def _section(example: Example, program: str) -> Iterator[str]:
    yield f"### {example.method}\n"
    yield from _description(example.method)
    mod = parse(program)
    if example.program:
        yield _code("py", body(mod, header=True, regions=example.regions))
    sch = Schedule(mod, seed=0)
    printed = run_code(example.steps, _scope(mod, sch))
    yield _code("python", example.steps)
    if printed:
        yield _code("text", printed)
    else:
        header = signature(mod) != signature(sch.mod)
        yield _code("py", body(sch.mod, header=header, regions=example.regions))


def _refusal(family: Family, refusal: Refusal) -> Iterator[str]:
    yield f"### Refused: {family.title[0].lower()}{family.title[1:]}\n"
    mod = parse(refusal.program)
    yield _code("py", body(mod, header=True))
    yield _code("python", refusal.steps)
    yield _code("text", f"ScheduleError: {refusal_error(mod, refusal.steps)}")


def refusal_error(mod: Module, steps: str) -> ScheduleError:
    """The error raised by the last of several steps. ValueError if the step succeeds."""
    *lead, last = steps.splitlines()
    sch = Schedule(mod, seed=0)
    scope = _scope(mod, sch)
    run_code("\n".join(lead), scope)
    try:
        run_code(last, scope)
    except ScheduleError as error:
        return error
    raise ValueError(f"not refused: {last}")


def _scope(mod: Module, sch: Schedule) -> dict[str, Any]:
    names = {"Schedule": Schedule, "ScheduleError": ScheduleError, "parse_tvmscript": parse_tvmscript}
    api = SimpleNamespace(**names, register_tensor_intrin=partial(register_tensor_intrin, override=True))
    return {"mod": mod, "sch": sch, "stepwell": api}


# Descriptions


def _description(name: str) -> Iterator[str]:
    member = inspect.getattr_static(Schedule, name)
    if isinstance(member, property):
        yield f"`sch.{name}`\n\n{' '.join((inspect.getdoc(member) or '').split())}\n"
        return
    description = describe(member)
    op = f" · `schedule.{name}`" if name in _ops() else ""
    yield f"`sch.{description.signature}`{op}\n\n{description.summary}\n"
    if description.arguments:
        yield "| argument | type | default | |\n|---|---|---|---|"
        yield from map(_row, description.arguments)
        yield ""
    for text in (description.results, description.conditions):
        if text:
            yield f"{text}\n"


def _row(argument: Argument) -> str:
    default = f"`{argument.default}`" if argument.default else ""
    cells = f"`{argument.name}`", argument.type, default, argument.meaning.replace("|", "\\|")
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


# Programs


def parse(program: str) -> Module:
    """The module of a function without its decorator."""
    return parse_tvmscript(f"@T.prim_func\n{program.strip()}\n")


def _lines(mod: Module) -> list[str]:
    lines = mod.script().splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))
    indent = len(lines[start]) - len(lines[start].lstrip())
    return [line[indent:] for line in lines[start:]]


def signature(mod: Module) -> str:
    """The first line of the only function of a module."""
    return _lines(mod)[0]


def body(mod: Module, *, header: bool = False, regions: bool = False) -> str:
    """The only function of a module as TVMScript: its body, or the whole function.

    regions: whether to show the `T.reads` and `T.writes` of blocks.
    """
    hidden = ("# with T.block(", *(() if regions else ("T.reads(", "T.writes(")))
    lines = [line for line in _lines(mod) if not line.lstrip().startswith(hidden)]
    return "\n".join(lines if header else (line[4:] for line in lines[1:]))


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```\n"


# The dialect


def _ops() -> dict[str, type[ScheduleOp]]:
    """The ops of traces, by the names of their methods."""
    ops = get_all_dialects()["schedule"]().operations
    return {op.name.partition(".")[2]: op for op in ops if op is not TraceOp and issubclass(op, ScheduleOp)}


def _dialect() -> Iterator[str]:
    yield "## The `schedule` dialect\n"
    yield (
        "Each op has the name of the method that records it, and its operands and properties have the names of the\n"
        "arguments; defaults are not printed. `schedule.trace` contains the ops, in order; handles have the types\n"
        "`!schedule.block`, `!schedule.loop`, and `i64` for numbers.\n"
    )
    yield "| op | as text |\n|---|---|"
    for name, op in sorted(_ops().items()):
        example = (inspect.getdoc(op) or "").partition("Example\n")[2].strip().splitlines()[0]
        yield f"| [`schedule.{name}`](#{name}) | `{example}` |"
    yield ""


def _unsupported_primitives() -> Iterator[str]:
    yield "## Not there yet\n"
    yield "Primitives of TVM that raise `UnsupportedError`:\n"
    yield "| primitive | reason |\n|---|---|"
    for name in sorted(UNSUPPORTED_PRIMITIVES):
        yield f"| `{name}` | {EXCLUDED_PRIMITIVES.get(name, 'not yet')} |"
    yield ""


def before_and_after(name: str) -> tuple[Module, Module]:
    """The program of the example of a method, before and after its steps."""
    example, program = ALL_EXAMPLES[name]
    mod = parse(program)
    sch = Schedule(mod, seed=0)
    run_code(example.steps, _scope(mod, sch))
    return mod, sch.mod
