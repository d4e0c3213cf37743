"""`tvm.build_config`, the context of a lowering until v0.6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import OptionError
from ..ir.module import IRModule, PrimFunc
from ..nodes.stmt import Stmt
from ..transform import Pass, PassContext

_OPTIMIZATIONS = (
    "auto_unroll_max_step", "auto_unroll_max_depth", "auto_unroll_max_extent", "unroll_explicit",
    "partition_const_loop", "detect_global_barrier", "offset_factor", "data_alignment", "restricted_func",
    "auto_unroll_min_depth", "double_buffer_split_loop", "instrument_bound_checkers", "disable_select_rewriting",
    "disable_assert", "dump_pass_ir",
)  # fmt: skip
"""The options of TVM that select optimizations, which Stepwell's passes decide by themselves."""


def build_config(
    add_lower_pass: Sequence[tuple[int, Callable[[Any], Any]]] = (), disable_vectorize: bool = False, **options: Any
) -> PassContext:
    """The context of a lowering. add_lower_pass: phases and passes; a function takes the statements of a function of
    the program and returns new ones.  options: those that select optimizations are accepted. OptionError for others.
    """
    for name in options:
        if name not in _OPTIMIZATIONS:
            raise OptionError(f"build_config: no option {name!r} (has: {', '.join(_OPTIMIZATIONS)})")
    passes = [(phase, each if isinstance(each, Pass) else _on_statements(each)) for phase, each in add_lower_pass]
    return PassContext(config={"tir.add_lower_pass": passes, "tir.disable_vectorize": disable_vectorize})


def _on_statements(change: Callable[[Stmt], Stmt]) -> Callable[[IRModule], IRModule]:
    def run(mod: IRModule) -> IRModule:
        functions: dict[str, PrimFunc] = {name: func.with_body(change(func.body)) for name, func in mod.items()}
        return IRModule(functions, mod.constants)

    return run
