"""`stepwell cache`: the entries of the cache, and their removal."""

from __future__ import annotations

import argparse
from itertools import groupby

from ..core.cache import LIMIT, VARIABLE, CacheEntry, user_cache


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell cache` to a parser."""
    parser.description = f"shows the cache of compiled programs; {VARIABLE} names its folder, or is off"
    parser.add_argument("--clear", action="store_true", help="remove all entries")
    parser.set_defaults(command=cache_command)


def cache_command(options: argparse.Namespace) -> int:
    """Runs the `cache` command; returns the exit code."""
    cache = user_cache()
    if cache is None:
        print("no cache")
        return 0
    print(f"{cache.folder}, at most {_size(LIMIT)}")
    if options.clear:
        print(f"removed {_size(cache.clear())}")
        return 0

    def kind_of(entry: CacheEntry) -> str:
        return entry.kind

    for kind, entries in groupby(sorted(cache.entries(), key=kind_of), kind_of):
        sizes = [entry.size for entry in entries]
        print(f"{kind:10}{len(sizes):8} entries{_size(sum(sizes)):>12}")
    return 0


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"
