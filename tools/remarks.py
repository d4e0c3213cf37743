"""The options `--remarks[=text|json]` and `--statistics` of the tools: the decisions of passes on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..core.remarks import Remark, RemarkReceiver, report_remarks
from ..transforms.statistics import report_statistics

_FORMATS = ("text", "json")


def add_remarks_options(parser: Any) -> list[argparse.Action]:
    """Adds `--remarks` and `--statistics` to a parser, or to a group of its options; returns the options. The arguments
    of the parser must come from `complete_remarks_option`."""
    add = parser.add_argument
    return [
        add(
            "--remarks",
            choices=_FORMATS,
            help="show the decisions of passes on stderr, as lines of text (default) or JSON",
        ),
        add("--statistics", action="store_true", help="show how many decisions each pass made and missed"),
    ]


def complete_remarks_option(args: Sequence[str] | None) -> list[str]:
    """Arguments, by default those of the process, with `--remarks=text` for `--remarks`: the format is part of the
    word, so that a following file is not taken for it."""
    words = sys.argv[1:] if args is None else args
    return [f"--remarks={_FORMATS[0]}" if word == "--remarks" else word for word in words]


@contextmanager
def report_decisions(options: argparse.Namespace) -> Generator[None]:
    """Shows the remarks and the statistics of the body on stderr after its end, as the options require."""
    show_statistics = partial(print, file=sys.stderr) if options.statistics else None
    with report_remarks(_remark_printer(options.remarks)), report_statistics(show_statistics):
        yield


def _remark_printer(format: str | None) -> RemarkReceiver | None:
    """The function that prints a remark on stderr in a format; None for no format."""
    if format is None:
        return None

    def show(remark: Remark) -> None:
        print(remark.to_json() if format == "json" else remark, file=sys.stderr)

    return show
