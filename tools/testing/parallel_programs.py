"""Random programs whose parallel loops access memory that is private to an iteration, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...frontends.tvmscript import parse_tvmscript
from ...module import Module

_ITERATIONS = 6
_ELEMENTS = 48
"""The number of elements of the private memory; each iteration reads and writes as many."""
_ALLOCATIONS = {
    "buffer": ('S = T.alloc_buffer((48,), "int32")',),
    "shared": ('S = T.alloc_buffer((48,), "int32", scope="shared")',),
    "view": ('P = T.alloc_buffer((48,), "int32")', 'S = T.Buffer((48,), "int32", data=P.data)'),
    "pointer": ('p = T.allocate([48], "int32", "global")', 'S = T.Buffer((48,), "int32", data=p)'),
}
_UPDATES = (
    "S[A[i, j]] = S[A[i, j]] + i * 3 + j",
    "S[A[i, j]] = T.max(S[A[i, j]], A[i, 47 - j])",
    'T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(S[A[i, j]]), i + 1))',
    'T.evaluate(T.call_extern("int32", "atomicMax", T.address_of(S[A[i, j]]), j * 2))',
)


@st.composite
def parallel_programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[Module, dict[str, Any]]:
    """A program, and its arguments. Each iteration of a parallel loop writes elements of some memory, updates them and
    reads them, at indices that depend on data. The memory is allocated inside or outside of the loop,
    inside if it has views.
    """
    kind = draw(st.sampled_from(sorted(_ALLOCATIONS)))
    loops = ["for k in range(2):"] * draw(st.booleans()) + [f"for i in T.parallel({_ITERATIONS}):"]
    place = draw(st.integers(0, len(loops))) if len(_ALLOCATIONS[kind]) == 1 else len(loops)
    statements = ["S[A[i, j]] = i + j", *draw(st.lists(st.sampled_from(_UPDATES), max_size=3)), "B[i, j] = S[A[i, j]]"]
    lines, indent = list[str](), "    "
    for n, line in enumerate([*loops, ""]):
        lines += [indent + text for text in _ALLOCATIONS[kind]] if n == place else []
        lines += [indent + line] if line else []
        indent += "    " * bool(line)
    for statement in statements:
        lines += [f"{indent}for j in range({_ELEMENTS}):", f"{indent}    {statement}"]
    shape = f"({_ITERATIONS}, {_ELEMENTS})"
    header = f'@T.prim_func\ndef main(A: T.Buffer({shape}, "int32"), B: T.Buffer({shape}, "int32")):\n'
    values = np.random.default_rng(draw(st.integers(0, 9))).integers(0, _ELEMENTS, (_ITERATIONS, _ELEMENTS))
    arguments = {"A": values.astype("int32"), "B": np.zeros((_ITERATIONS, _ELEMENTS), "int32")}
    return parse_tvmscript(header + "\n".join(lines)), arguments
