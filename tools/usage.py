"""The types of options, and usage errors of the commands: unknown arguments and commands, with the nearest name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from ..core.diagnostics import did_you_mean, nearest


def check_command(
    parser: argparse.ArgumentParser, words: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]
) -> None:
    """Exits with the usage, of the nearest command if there is one, unless the first word is a command, or an option
    that precedes commands."""
    if not words:
        parser.error(f"expected a command (there are {', '.join(commands)})")
    first = words[0]
    if not first.startswith("-") and first not in commands:
        usage = commands.get(nearest(first, commands) or "", parser)
        usage.error(f"unknown command {first!r}{did_you_mean(first, commands)} (there are {', '.join(commands)})")
    if first.startswith("-") and not any(name.startswith(first.partition("=")[0]) for name in _options(parser)):
        refuse_arguments(parser, [first])


def refuse_arguments(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    """Exits with the usage of a command if there are arguments that it does not take."""
    if unknown:
        name = next((word for word in unknown if word.startswith("-")), unknown[0]).partition("=")[0]
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{did_you_mean(name, _options(parser))}")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]  # pyright: ignore[reportPrivateUsage]


# The types of options


def named_size(text: str) -> tuple[str, int]:
    """The name and the number of `NAME=N`."""
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected NAME=N, got {text!r}")
    return name, int(number)


def positive_number(text: str) -> int:
    """A number of 1 at least."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


def positive_numbers(text: str) -> list[int]:
    """Positive numbers, separated by commas."""
    return [positive_number(part) for part in text.split(",")]
