"""The tables of the parser, which `python -m stepwell.tools.grammar` computes from grammar.lark, in tables.json.

lark takes 0.2 s to compute them. States and tokens are numbered in an order that depends on the grammar alone.
"""

from __future__ import annotations

import json
import pickle
from importlib.resources import files
from io import BytesIO
from typing import Any, cast

import lark

from ...core.cache import digest

FILE = "tables.json"
Saved = dict[str, Any]
"""A parser as saved by lark: plain data. Its table has the tokens by number, and for each state and token a pair
(0, the next state) or (1, the rule to reduce)."""
_SHIFT, _REDUCE = 0, 1


def load_tables(grammar: str) -> Saved | None:
    """The saved parser of a grammar; None if the file is of another grammar or another version of lark."""
    file = json.loads(files(cast(str, __package__)).joinpath(FILE).read_text(encoding="utf-8"))
    if file["key"] != _key(grammar):
        return None
    file["data"]["parser"]["parser"] = {
        "tokens": dict(enumerate(file["tokens"])),
        "states": {n: _actions(*row) for n, row in enumerate(file["states"])},
        "start_states": file["start"],
        "end_states": file["end"],
    }
    return {"data": file["data"], "memo": dict(enumerate(file["memo"]))}


def tables_text(grammar: str, parser: lark.Lark, options: tuple[str, ...]) -> str:
    """The content of the file for the parser of a grammar. options: those of the parser that are not saved."""
    buffer = BytesIO()
    parser.save(buffer, exclude_options=options)
    saved: Saved = pickle.loads(buffer.getvalue())
    table = saved["data"]["parser"].pop("parser")
    tokens = sorted(table["tokens"].values())
    numbers = {token: tokens.index(name) for token, name in table["tokens"].items()}
    rows = {
        state: sorted((numbers[token], *action) for token, action in actions.items())
        for state, actions in table["states"].items()
    }
    order = _reachable(rows, table["start_states"].values())
    states = {state: n for n, state in enumerate(order)}
    head = {
        "key": _key(grammar),
        "start": {name: states[state] for name, state in table["start_states"].items()},
        "end": {name: states[state] for name, state in table["end_states"].items()},
        "tokens": tokens,
        "data": saved["data"],
    }
    lists = {"memo": list(saved["memo"].values()), "states": [_row(rows[state], states) for state in order]}
    fields = [f'"{name}": {_compact(value)}' for name, value in head.items()]
    for name, items in lists.items():
        lines = ",\n".join(map(_compact, items))
        fields.append(f'"{name}": [\n{lines}\n]')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _key(grammar: str) -> str:
    return digest("tables", grammar, lark.__version__)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _reachable(rows: dict[int, list[Any]], starts: Any) -> list[int]:
    """The states in breadth-first order."""
    order = list(dict.fromkeys(starts))
    seen = set(order)
    for state in order:
        for _, kind, following in rows[state]:
            if kind == _SHIFT and following not in seen:
                seen.add(following)
                order.append(following)
    return order


def _row(actions: list[Any], states: dict[int, int]) -> list[list[int]]:
    """The actions of a state: tokens and next states in turn; then for each rule to reduce, the rule and its tokens."""
    shifts = [number for token, kind, following in actions if kind == _SHIFT for number in (token, states[following])]
    reductions: dict[int, list[int]] = {}
    for token, kind, rule in actions:
        if kind == _REDUCE:
            reductions.setdefault(rule["@"], []).append(token)
    return [shifts, *([rule, *tokens] for rule, tokens in reductions.items())]


def _actions(shifts: list[int], *reductions: list[int]) -> dict[int, tuple[int, Any]]:
    actions: dict[int, tuple[int, Any]] = {
        token: (_SHIFT, following) for token, following in zip(shifts[::2], shifts[1::2], strict=True)
    }
    for rule, *tokens in reductions:
        actions |= dict.fromkeys(tokens, (_REDUCE, {"@": rule}))
    return actions
