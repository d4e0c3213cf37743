"""docs/passes.md: a section for each pass, generated from its docstring and its options."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

from ...transforms import PASSES, get_all_passes
from .docstrings import Argument, PassDescription, describe_pass

_HEAD = """\
# Passes

The passes of Stepwell, grouped by the landing of their input: the folder of `transforms/` that contains them. Each
section states the options of a pass with their defaults, the smallest program before and after, the conditions that
must hold before the pass, and the constructs that are gone after it. Passes of xDSL (`cse`, `dce`, `canonicalize`, ...)
and of installed packages ([extending.md](extending.md)) run in the same pipelines:

    stepwell-opt FILE -p tir-resolve-blocks,tir-simplify{unit-loops=true}

`transforms/pipelines` orders the passes of the lowering to LLVM IR and to CUDA C++; [design.md](design.md) describes
the landings. `python -m stepwell.tools.docs` generates this page from the docstrings of the passes; a test compares.
"""

LANDINGS = {
    "relax": "relax: programs that call kernels",
    "relay": "relay: graphs of operators",
    "te": "te: tensor expressions",
    "tir": "tir: functions on buffers",
    "gpu": "gpu: launches and kernels in upstream dialects",
    "upstream": "upstream: scalars and vectors in upstream dialects",
}
"""The titles of the groups, by the folder of their passes."""


def passes_page() -> str:
    """The text of docs/passes.md."""
    groups = {landing: _passes_of(landing) for landing in LANDINGS}
    return "\n".join([_HEAD, *_contents(groups), *_sections(groups)])


def _passes_of(landing: str) -> list[PassDescription]:
    names = (name for name, module in PASSES.items() if module.partition(".")[0] == landing)
    return [describe_pass(get_all_passes()[name]()) for name in names]


def _contents(groups: dict[str, list[PassDescription]]) -> Iterator[str]:
    yield "| pass | landing | summary |\n|---|---|---|"
    for landing, passes in groups.items():
        yield from (f"| [`{each.name}`](#{each.name}) | {landing} | {each.summary} |" for each in passes)
    yield ""


def _sections(groups: dict[str, list[PassDescription]]) -> Iterator[str]:
    for landing, passes in groups.items():
        yield f"## {LANDINGS[landing]}\n"
        for each in passes:
            yield from _section(each)


def _section(description: PassDescription) -> Iterator[str]:
    yield f"### {description.name}\n"
    if description.options:
        yield f"`{description.spec}`\n"
    yield f"{description.summary}\n"
    yield from map(_paragraph, description.details)
    if description.options:
        yield "| option | type | default | |\n|---|---|---|---|"
        yield from map(_row, description.options)
        yield ""
    yield f"Before:\n\n{_code(description.before)}"
    yield f"After:\n\n{_code(description.after)}"
    yield from map(_paragraph, description.notes)
    yield f"Must hold before: {description.requirements}\n"
    yield f"Gone after: {description.removals}\n"


def _row(option: Argument) -> str:
    default = f"`{option.default}`" if option.default else "none"
    return f"| `{option.name}` | {option.type} | {default} | {option.meaning} |"


def _paragraph(text: str) -> str:
    return _code(dedent(text)) if text.startswith("    ") else f"{text}\n"


def _code(program: str) -> str:
    """A block of code: TVMScript, an error message, or else MLIR."""
    language = "py" if program.startswith("for ") else "text" if "Error: " in program else "mlir"
    return f"```{language}\n{program}\n```\n"
