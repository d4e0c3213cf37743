"""Importers of operators that return or assert sizes."""

from __future__ import annotations

import math
from typing import Any

from ..call import Call
from ..registry import aten


@aten("sym_size.int")
def size(call: Call) -> Any:
    return call.tensor().extents[call.axis()]


@aten("sym_numel.default")
def element_count(call: Call) -> Any:
    return math.prod(call.tensor().extents)
