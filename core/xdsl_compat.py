"""Everything that works around xDSL 0.74.0, with the upstream issue each piece waits for."""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

_SUFFIXES = re.compile(r"(_\d+)+$")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_$.-]")


def hint(value: SSAValue, name: str) -> None:
    """Set the name hint of `value` so that printed text parses again.

    xDSL strips one trailing `_<digits>` from a hint and numbers collisions itself, so hints `i` and `i_1_0` print as
    two values called `%i_1` (https://github.com/xdslproject/xdsl/issues/571): strip every such suffix.
    """
    name = _SUFFIXES.sub("", _ILLEGAL.sub("_", name))
    value.name_hint = name if name and not name[0].isdigit() else None
