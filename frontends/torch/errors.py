"""Places of errors in the source of a model."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import Any

from .library import torch

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<code>[^\n]*)')
_LIBRARIES = tuple({str(Path(torch.__file__).parent), *(sysconfig.get_path(name) for name in ("stdlib", "purelib"))})


def source_place(node: Any) -> str:
    """The line of the source that a node of a graph comes from, `model.py:12, in forward: y = torch.frac(x)`: the
    innermost line outside of installed packages, else the innermost line; empty if the node has no trace."""
    frames = [match.groupdict() for match in _FRAME.finditer(node.meta.get("stack_trace") or "")]
    own = [frame for frame in frames if not frame["file"].startswith(_LIBRARIES)]
    if not frames:
        return ""
    frame = (own or frames)[-1]
    return f"{frame['file']}:{frame['line']}, in {frame['function']}: {frame['code'].strip()}"


def node_place(node: Any) -> str:
    """The name of a node in messages: `aten.frac.default at model.py:12, in forward: y = torch.frac(x)`."""
    place = source_place(node)
    return f"{node.target} at {place}" if place else f"{node.target} (node '{node.name}')"
