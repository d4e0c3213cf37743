"""The option `--remarks[=text|json]` of the tools: prints the decisions of passes on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Protocol

from ..core.remarks import Remark, RemarkReceiver

_FORMATS = ("text", "json")


class _Options(Protocol):
    """A parser of arguments, or a group of it."""

    def add_argument(self, *names: str, choices: Sequence[str], help: str) -> argparse.Action: ...


def add_remarks_option(parser: _Options) -> argparse.Action:
    """Adds `--remarks` to a parser. Its arguments must come from `complete_remarks_option`."""
    return parser.add_argument(
        "--remarks", choices=_FORMATS, help="show the decisions of passes on stderr, as lines of text (default) or JSON"
    )


def complete_remarks_option(args: Sequence[str] | None) -> list[str]:
    """Arguments, by default those of the process, with `--remarks=text` for `--remarks`: the format is part of the
    word, so that a following file is not taken for it."""
    words = sys.argv[1:] if args is None else args
    return [f"--remarks={_FORMATS[0]}" if word == "--remarks" else word for word in words]


def remark_printer(format: str | None) -> RemarkReceiver | None:
    """The function that prints a remark on stderr in a format; None for no format."""
    if format is None:
        return None

    def show(remark: Remark) -> None:
        print(remark.to_json() if format == "json" else remark, file=sys.stderr)

    return show
