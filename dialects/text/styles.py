"""The styles of TVMScript: the differences between the TVMScript of releases of TVM."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError


@dataclass(frozen=True)
class Style:
    """The spelling of TVMScript that a range of TVM releases parses.

    header: comment lines at the top.  block, block_attr, alloc_buffer: names in `T`.  key_prefix: the prefix of TIR's
    own attribute keys.  let: a template for the annotation of a let.  result: a template for a return statement with a
    value.  module: the name by which a function refers to its module; the name of the module if None.  has_s_tir:
    functions with blocks are marked `s_tir=True`.  has_allocate: `T.allocate` and `T.allocate_const` exist.
    message_tuples: an assertion has a tuple of the kind and the parts of its message.  spells_neutral: `x + 0` would
    be parsed as `x`, so the addition is printed as `T.Add(x, 0)`.  has_vector_slices: `A[0:4]` is a value.
    has_void_return: a `return` without a value exists.  has_large_literals: literals outside the range of int64 and
    float32 exist.  has_predicates: `vload` and `vstore` take a predicate.  has_vector_clz: `T.clz` takes vectors.
    always_scope: the type of a pointer includes the scope "global".  result_types, type_args: the parameters of the
    calls of `R` for the types of results, of calls in destination-passing style and of other calls.
    """

    name: str
    header: tuple[str, ...]
    block: str
    block_attr: str
    alloc_buffer: str
    key_prefix: str
    let: str
    result: str
    module: str | None
    has_s_tir: bool
    has_allocate: bool
    message_tuples: bool
    spells_neutral: bool
    has_vector_slices: bool
    has_void_return: bool
    has_large_literals: bool
    has_predicates: bool
    has_vector_clz: bool
    always_scope: bool
    result_types: str
    type_args: str

    def key(self, key: str) -> str:
        """The spelling of an attribute key: `tir.noalias`, or `tirx.noalias`."""
        return self.key_prefix + key.removeprefix("tir.") if key.startswith("tir.") else key


CLASSIC = Style(
    name="classic",
    header=("# from tvm.script import ir as I", "# from tvm.script import tir as T"),
    block="block",
    block_attr="block_attr",
    alloc_buffer="alloc_buffer",
    key_prefix="tir.",
    let="{}",
    result="T.ret({})",
    module="cls",
    has_s_tir=False,
    has_allocate=True,
    message_tuples=False,
    spells_neutral=False,
    has_vector_slices=True,
    has_void_return=True,
    has_large_literals=True,
    has_predicates=True,
    has_vector_clz=True,
    always_scope=False,
    result_types="out_sinfo",
    type_args="sinfo_args",
)
"""The style of TVM v0.12-0.23."""

TODAY = Style(
    name="0.27",
    header=(
        "# from tvm.script import ir as I",
        "# from tvm.script import tirx as T",
        "# from tvm.tirx.layout import Axis",
    ),
    block="sblock",
    block_attr="sblock_attr",
    alloc_buffer="sblock_alloc_buffer",
    key_prefix="tirx.",
    let="T.let[{}]",
    result="return {}",
    module=None,
    has_s_tir=True,
    has_allocate=False,
    message_tuples=True,
    spells_neutral=True,
    has_vector_slices=False,
    has_void_return=False,
    has_large_literals=False,
    has_predicates=False,
    has_vector_clz=False,
    always_scope=True,
    result_types="out_ty",
    type_args="ty_args",
)
"""The style of TVM v0.25-0.27."""

STYLES = {style.name: style for style in (CLASSIC, TODAY)}


def style_named(name: str) -> Style:
    """The style called `name`; `OptionError` for an unknown name."""
    if name not in STYLES:
        raise OptionError(f"unknown style {name!r}{did_you_mean(name, STYLES)} (known: {', '.join(STYLES)})")
    return STYLES[name]
