"""A process of `stepwell fuzz`: searches one family for some seconds, and writes the batch to a file as JSON."""

from __future__ import annotations

import json
import platform
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .families import FAMILIES
from .search import search

MOST_MEMORY = 8 * 2**30
"""The maximum address space of the process, in bytes: a case that needs more fails, and harms no other process."""


def main(request: str) -> None:
    """Executes a request: the arguments of `search` and the path `result`, as JSON."""
    sys.setrecursionlimit(20_000)
    if platform.system() == "Linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    options: dict[str, Any] = json.loads(request)
    current = Path(options["current"])
    batch = search(
        FAMILIES[options["family"]],
        options["seed"],
        options["seconds"],
        known=options["known"],
        current=current,
        is_isolated=options["is_isolated"],
    )
    Path(options["result"]).write_text(json.dumps(asdict(batch)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
