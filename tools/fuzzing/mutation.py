"""Mutated and random TVMScript: the parser accepts each input as a program or rejects it with a diagnostic."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from ...core.diagnostics import SourceFile
from ...core.errors import ParseError
from ...frontends.tvmscript import parse_tvmscript, syntax
from ...frontends.tvmscript.reader import read_module

_TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|\"[^\"\n]*\"|\*\*|//|<<|>>|[<>=!]=|->|\n[ \t]*|[ \t]+|.", re.DOTALL)
_NUMBERS = "0 1 -1 2 3 7 8 16 128 0x7fffffff 2147483648 -9223372036854775809 1e400 0.5 1e-5 1_0".split()
_WORDS = """
    T I cls i j n A B vi True False None if else for in while with as assert return lambda not and or is def class pass
    T.grid T.block T.sblock T.axis.remap T.axis.spatial T.axis.reduce T.reads T.writes T.where T.init T.Buffer T.handle
    T.match_buffer T.alloc_buffer T.allocate T.decl_buffer T.float32 T.int32 T.int64 T.bool T.max T.min T.exp T.Cast
    T.Select T.if_then_else T.Ramp T.Broadcast T.evaluate T.call_extern T.call_packed T.attr T.launch_thread T.func_attr
    T.serial T.parallel T.vectorized T.thread_binding T.Let T.let T.load T.store T.address_of T.prim_func T.ret range
    "float32" "int8x4" "SSR" "threadIdx.x" "handle" "global" \\ $ é ' \"\"\" f"{i}" @ : , ; . ... = += == < ( ) [ ] { }
    + - * / // % ** << >> & | ^ ~ -> :=
""".split()


def check_text(text: str) -> None:
    """Raises an error unless a `ParseError` rejects an input, or the program verifies, prints, and parses back to the
    same text."""
    try:
        module = parse_tvmscript(text, "fuzz.py")
    except ParseError:
        return
    module.verify()
    str(module)
    printed = module.script()
    again = parse_tvmscript(printed, "printed.py").script()
    assert printed == again, f"printed\n{printed}\nthen\n{again}"


def mutate(rng: random.Random, programs: Sequence[str]) -> str:
    """A mutation of one of some programs, or sometimes random words."""
    if not programs or rng.random() < 0.1:
        return _random_text(rng)
    text = rng.choice(programs)
    mutations = [_replace_expression, _rename] if rng.random() < 0.6 else _MUTATIONS
    for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3, 6])):
        text = rng.choice(mutations)(rng, text, programs)
    return text


# ---- Mutations


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _random_text(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x3000)])) for _ in range(rng.randrange(200)))
    words = (rng.choice([*_WORDS, *_NUMBERS, "\n", "\n    ", "\n        "]) for _ in range(rng.randrange(1, 60)))
    body = " ".join(words)
    return (
        body if rng.random() < 0.5 else f"@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), n: T.int32):\n    {body}\n"
    )


def _replace_token(rng: random.Random, text: str, programs: Sequence[str]) -> str:
    tokens = _tokens(text)
    position = rng.randrange(len(tokens)) if tokens else 0
    old = tokens[position] if tokens else ""
    alike = [token for token in set(_tokens(rng.choice(programs))) if token[:1].isalpha() == old[:1].isalpha()]
    pool = _NUMBERS if old[:1].isdigit() else sorted(alike) if rng.random() < 0.6 else _WORDS
    tokens[position : position + 1] = [rng.choice(pool or _WORDS)]
    return "".join(tokens)


def _replace_expression(rng: random.Random, text: str, programs: Sequence[str]) -> str:
    """Replaces an expression by another expression; the result is usually grammatical."""
    other = rng.choice([text, text, rng.choice(programs)])
    targets, sources = _expressions(text), _expressions(other)
    if not targets or not sources:
        return _replace_token(rng, text, programs)
    start, end, kind = rng.choice(targets)
    alike = [(a, b, k) for a, b, k in sources if k == kind] if rng.random() < 0.7 else sources
    first, last, _ = rng.choice(alike or sources)
    return text[:start] + other[first:last] + text[end:]


def _expressions(text: str) -> list[tuple[int, int, type]]:
    """The start, end and kind of each single-line expression."""
    if "\r" in text:  # a line end to the reader, but not to the pattern below
        return []
    try:
        tree = read_module(SourceFile("fuzz.py", text))
    except ParseError:
        return []
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    expressions: list[tuple[int, int, type]] = []
    pending: list[syntax.Node] = [tree]
    while pending:
        node = pending.pop()
        pending.extend(node.children())
        if isinstance(node, syntax.Expr) and node.span.line == node.span.end_line:
            begin = starts[node.span.line - 1]
            start, end = begin + node.span.column - 1, begin + node.span.end_column - 1
            expressions.append((start, end, type(node)))
    return expressions


def _delete_token(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    tokens = _tokens(text)
    if tokens:
        del tokens[rng.randrange(len(tokens))]
    return "".join(tokens)


def _insert_token(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    tokens = _tokens(text)
    tokens.insert(rng.randrange(len(tokens) + 1), rng.choice([*_WORDS, *_NUMBERS]))
    return "".join(tokens)


def _swap_tokens(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    tokens = _tokens(text)
    if len(tokens) > 1:
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _change_lines(rng: random.Random, text: str, programs: Sequence[str]) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            lines[i] = rng.choice(["", " ", "    ", "\t"]) + lines[i].lstrip()
        case _:
            other = rng.choice(programs).split("\n")
            lines[i : i + rng.randrange(3)] = other[rng.randrange(len(other)) :][: rng.randrange(1, 4)]
    return "\n".join(lines)


def _change_characters(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    position = rng.randrange(len(text) + 1)
    return (
        text[:position]
        + rng.choice(["", "\0", "é", "\t", "\r", '"', "(", "9", "x"])
        + text[position + rng.randrange(3) :]
    )


def _rename(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    names = sorted({token for token in _tokens(text) if token.isidentifier()})
    if len(names) < 2:
        return text
    old, new = rng.choice(names), rng.choice(names)
    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def _cut(rng: random.Random, text: str, _programs: Sequence[str]) -> str:
    return text[: rng.randrange(len(text) + 1)]


_MUTATIONS: list[Callable[[random.Random, str, Sequence[str]], str]] = [
    _replace_expression,
    _replace_token,
    _replace_token,
    _replace_token,
    _delete_token,
    _insert_token,
    _swap_tokens,
    _change_lines,
    _change_lines,
    _change_characters,
    _rename,
    _cut,
]
