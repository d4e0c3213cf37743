"""The words of TVMScript: the reader of each word, such as `T.axis.spatial(...)`, and the matching of its arguments.

A reader is registered with `@word("axis.spatial", "axis.S")`; it takes the context, the span of the call, and the
evaluated arguments, by position and name like any Python function. A reader registered with `@form(...)` takes the
syntax of the call instead, and evaluates arguments on demand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.diagnostics import Span, did_you_mean
from ...core.dtypes import SCALAR_DTYPES, parse_dtype
from ...core.errors import ParseError
from ...core.plugins import extension_names
from ...dialects.extensions import operation_names
from .values import Value, Word

if TYPE_CHECKING:
    from . import syntax
    from .context import ElaborationContext

Reader = Callable[..., Value]
ReaderT = TypeVar("ReaderT", bound=Reader)
Form = Callable[["ElaborationContext", "syntax.Call"], Value]

WORDS: dict[str, Reader] = {}
RELAX_WORDS: dict[str, Reader] = {}
"""The words of `R`, once their readers are imported: `relax_words()`."""
FORMS: dict[str, Form] = {}
CONSTANTS: dict[str, Value] = {}

_PREFIXES_OF_TVM = ("script.tirx.", "script.tir.", "script.ir.", "script.", "tirx.", "tir.", "ir.", "te.")


def word(*names: str, words: dict[str, Reader] = WORDS) -> Callable[[ReaderT], ReaderT]:
    """Registers the reader of calls of these names. words: the vocabulary, that of `T` or of `R`."""

    def register(reader: ReaderT) -> ReaderT:
        words.update(dict.fromkeys(names, reader))
        return reader

    return register


def relax_words() -> Mapping[str, Reader]:
    """The words of `R`. The first call imports their readers."""
    # lazy: the operators of graphs are needed for functions of relax only
    from .relax import RELAX_WORDS as words

    return words


def form(*names: str) -> Callable[[Form], Form]:
    """Registers the reader of the syntax of calls of these names."""

    def register(reader: Form) -> Form:
        FORMS.update(dict.fromkeys(names, reader))
        return reader

    return register


def path_of(word: Word) -> str:
    """The registered name of a word: `max` for both `tvm.tir.max` and `T.max`."""
    if word.namespace != "tvm" or word.path in WORDS:
        return word.path
    for prefix in _PREFIXES_OF_TVM:
        if word.path.startswith(prefix):
            return word.path.removeprefix(prefix)
    return word.path


def is_dtype(name: str) -> bool:
    try:
        parse_dtype(name)
    except ValueError:
        return name == "handle"
    return True


_UNSUPPORTED = frozenset(
    """
    prefetch vscale get_active_lane_mask reduce call_cpacked tvm_call_cpacked tvm_call_packed_lowered
    tvm_call_cpacked_lowered tvm_call_trace_packed_lowered device_entry cta_id thread_id lane_id
    warp_id warpgroup_id local_scalar shared_scalar TileLayout jit meta_class constexpr arg
    cluster_id scope_id kernel_id buffer_var block_realize dp4a vectorlow vectorhigh vectorcombine vectorsplit
    start_profile_intrinsic end_profile_intrinsic dma_copy dma_wait dma_start_group dma_end_group anylist_getitem
    anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked tvm_tuple preflattened
    dummy_global_info decl_function pyfunc get_global_var large_uint_imm create_barriers
    make_filled_simdgroup_matrix ignore_loop_partition
    """.split()
)
_UNSUPPORTED_PREFIXES = (
    "ptx_",
    "ptx.",
    "cuda.",
    "nki.",
    "simdgroup_",
    "tvm_bmma",
    "nvshmem",
    "hexagon",
)


def unknown_word(word: Word, span: Span) -> ParseError:
    """The diagnostic for a word without a reader: an unsupported word of TVM, or an unknown one."""
    path = path_of(word)
    if word.namespace == "R":
        return span.error(f"{word} is not supported{did_you_mean(word.path, relax_words())}")
    if word.namespace == "Tx" or path in _UNSUPPORTED or f"{path}.".startswith(_UNSUPPORTED_PREFIXES):
        return span.error(f"{word} is not supported")
    known = operation_names(path) or _all_names()
    hint = did_you_mean(str(word), (f"{word.namespace}.{name}" for name in (*known, *extension_names())))
    return span.error(f"unknown name {str(word)!r}{hint}")


def is_extension_word(path: str) -> bool:
    """Whether a path is the name of an extended dialect, or of an operation of one: `sat`, `sat.add`."""
    return path in extension_names() or path in operation_names(path)


def is_prefix(word: Word) -> bool:
    """Whether a longer word may start with this word: `T.axis`, `tvm.script`."""
    start = f"{path_of(word)}."
    if word.namespace == "R":
        return any(name.startswith(start) for name in relax_words())
    return word.namespace == "tvm" or any(name.startswith(start) for name in _all_names())


@cache
def _all_names() -> tuple[str, ...]:
    return (*WORDS, *FORMS, *CONSTANTS, "handle", *SCALAR_DTYPES)


# ---- arguments


@cache
def _signature(reader: Reader) -> inspect.Signature:
    signature = inspect.signature(reader)
    return signature.replace(parameters=list(signature.parameters.values())[2:])


def takes_dtype(reader: Reader) -> bool:
    """Whether a reader accepts the keyword `dtype`, which v0.8-0.11 print on every call of a builtin."""
    return any(p.name == "dtype" or p.kind is p.VAR_KEYWORD for p in _signature(reader).parameters.values())


def bind_arguments(
    reader: Reader, name: str, span: Span, args: Sequence[Value], keywords: Mapping[str, Value]
) -> inspect.BoundArguments:
    """Arguments matched to the parameters of a reader; a diagnostic names missing, excess or unknown arguments."""
    signature = _signature(reader)
    try:
        return signature.bind(*args, **keywords)
    except TypeError:
        raise span.error(_mismatch(signature, name, args, keywords)) from None


def _mismatch(signature: inspect.Signature, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> str:
    parameters = signature.parameters
    for keyword in keywords:
        if keyword not in parameters:
            return f"{name} has no parameter {keyword!r}{did_you_mean(keyword, parameters)}"
    plain = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    has_varargs = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    if len(args) > len(plain) and not has_varargs:
        return f"{name} takes at most {len(plain)} arguments, got {len(args)}"
    for parameter in plain[: len(args)]:
        if parameter.name in keywords:
            return f"{name}: {parameter.name!r} is given twice"
    missing = [p.name for p in plain[len(args) :] if p.default is p.empty and p.name not in keywords]
    return f"{name}: missing argument {missing[0]!r}" if missing else f"{name}: wrong arguments"


def call_reader(
    reader: Reader, name: str, context: Any, span: Span, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """Runs a reader; invalid arguments are diagnosed at the call."""
    bound = bind_arguments(reader, name, span, args, keywords)
    return reader(context, span, *bound.args, **bound.kwargs)
