"""The parts of the docstring of a primitive: its summary, its arguments, its conditions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields
from textwrap import dedent
from typing import Any

from xdsl.passes import ModulePass

TYPES = {
    "Annotation | Attribute | ExprRV": "bool, number, string, list, dictionary; number of the trace",
    "Any": "number",
    "BlockLike": "block, or its name",
    "BlockLike | LoopRV": "block or loop",
    "BlockLike | None": "block, or its name",
    "BufferLike": "number or name",
    "IndexMap": "function of indices",
    "LoopRV": "loop",
    "LoopRV | BlockLike | list[BlockLike]": "loop, or one or more blocks",
    "RV": "handle",
    "Sequence[BlockLike] | None": "list of blocks",
    "Sequence[Factor]": "list of int, number of the trace, None",
    "Sequence[float]": "list of float",
    "Sequence[int]": "list of int",
    "Sequence[int] | None": "list of int",
    "SidedBuffer": "`(side, number)` or name",
    "Trace | TraceOp | str": "trace, or its text",
    "bool": "bool",
    "int": "int",
    "int | None": "int",
    "int | str": "number or name",
    "list[int]": "list of int",
    "str": "string",
    "str | None": "string",
}
"""The annotations of arguments, in words. A block, a loop and a number of the trace are handles returned by a schedule.
"""


@dataclass(frozen=True)
class Argument:
    """An argument of a primitive. name: with a leading * if variadic.  default: as Python text; "" for none."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Description:
    """The description of a primitive. summary: its meaning.  results: its other effects, and its result.  conditions:
    the conditions of legality, and the refusals."""

    signature: str
    summary: str
    arguments: list[Argument]
    results: str
    conditions: str


def describe(method: Callable[..., Any]) -> Description:
    """The description in the signature and the docstring of a method, without the indented program. KeyError for a type
    without words."""
    paragraphs = [p for p in inspect.getdoc(method).split("\n\n") if not p.startswith("    ")]  # pyright: ignore[reportOptionalMemberAccess]
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    meanings, rest = _arguments(paragraphs[1:], [p.name for p in parameters])
    results, conditions = _conditions(_join_lines("\n".join(rest)))
    return Description(
        f"{method.__name__}({', '.join(_signature(parameters))})",
        _join_lines(paragraphs[0]),
        [_argument(p, meanings.get(p.name, "")) for p in parameters],
        results,
        conditions,
    )


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _signature(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            starred = True
            yield f"*{p.name}"
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield p.name if p.default is p.empty else f"{p.name}={p.default!r}"


def _argument(parameter: inspect.Parameter, meaning: str) -> Argument:
    name = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
    default = "" if parameter.default is parameter.empty else repr(parameter.default)
    return Argument(name, TYPES[str(parameter.annotation)], default, meaning)


def _arguments(paragraphs: list[str], names: list[str]) -> tuple[dict[str, str], list[str]]:
    """The meaning of each argument, from `name: text.  name, name: text.`, and the text about no argument.

    The last text of a paragraph ends where a line ends with a full stop and the next line begins with a capital.
    """
    alternatives = "|".join(names) or "(?!)"
    start = re.compile(rf"(?:^|  |\n)((?:{alternatives})(?:, (?:{alternatives}))*):\s")
    meanings: dict[str, str] = {}
    rest: list[str] = []
    for paragraph in paragraphs:
        _, *parts = start.split(paragraph)
        before = start.split(paragraph)[0]
        if before:
            rest.append(before)
        for listed, text in zip(parts[::2], parts[1::2], strict=True):
            text, *more = re.split(r"(?<=\.)\n(?=[A-Z])", text, maxsplit=1)
            rest += more
            for name in listed.split(", "):
                meanings[name] = re.sub(r"(?<!\.)\.$", "", _join_lines(text))
    return meanings, rest


def _conditions(text: str) -> tuple[str, str]:
    """The text before the first sentence about legality, and the rest of the text."""
    match = re.search(r"(?:^|(?<=\. ))(?:Legal|Always legal|ScheduleError|Conditions are|Floats are)\b", text)
    cut = len(text) if match is None else match.start()
    return text[:cut].strip(), text[cut:]


@dataclass(frozen=True)
class PassDescription:
    """The description of a pass. spec: its name with its options, as in a pipeline.  details: paragraphs before the
    programs.  notes: paragraphs after the programs.  requirements, removals: the texts after `Must hold before:` and
    `Gone after:`."""

    name: str
    spec: str
    summary: str
    details: list[str]
    options: list[Argument]
    before: str
    after: str
    notes: list[str]
    requirements: str
    removals: str


def describe_pass(cls: type[ModulePass]) -> PassDescription:
    """The description in the fields and the docstring of a pass. KeyError for a missing part, or an option whose type
    has no words."""
    summary, *paragraphs = (inspect.getdoc(cls) or "").split("\n\n")
    parts = {title: text for text in paragraphs for title in _PASS_PARTS if text.startswith(title)}
    start, end = (paragraphs.index(parts[title]) for title in ("Before\n", "After\n"))
    names = [_option_name(field) for field in fields(cls)]
    meanings, details = _arguments(_without(paragraphs[:start], parts), names)
    more, notes = _arguments(_without(paragraphs[end:], parts), names)
    options = [_option(field, (meanings | more).get(_option_name(field), "")) for field in fields(cls)]
    before, after, requirements, removals = (parts[title].removeprefix(title) for title in _PASS_PARTS)
    spec = " ".join(f"{option.name}={option.default or _UNSET[option.type]}" for option in options)
    return PassDescription(
        cls.name,
        f"{cls.name}{{{spec}}}" if spec else cls.name,
        " ".join(summary.split()),
        details,
        options,
        dedent(before),
        dedent(after),
        notes,
        requirements,
        removals,
    )


_PASS_PARTS = ("Before\n", "After\n", "Must hold before: ", "Gone after: ")

_OPTION_TYPES = {
    "bool": "bool",
    "int": "integer",
    "int | None": "integer",
    "str": "string",
    "tuple[str, ...]": "list of strings",
}

_UNSET = {"integer": "N", "list of strings": "A,B"}
"""The placeholders of options without a default, by the words of their types."""


def _without(paragraphs: list[str], parts: dict[str, str]) -> list[str]:
    return [paragraph for paragraph in paragraphs if paragraph not in parts.values()]


def _option_name(option: Field[Any]) -> str:
    return option.name.replace("_", "-")


def _option(option: Field[Any], meaning: str) -> Argument:
    default = "" if option.default in (None, ()) else str(option.default)
    if isinstance(option.default, bool):
        default = default.lower()
    return Argument(_option_name(option), _OPTION_TYPES[str(option.type)], default, meaning)
