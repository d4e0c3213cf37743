"""Kernels as OpenCL C: the emitted CUDA C++, with the words that OpenCL spells otherwise.

The emitted text has a small vocabulary, so the translation is a table of words. A word of CUDA without a row
(half floats, atomics, shuffles, dynamic shared memory) raises UnsupportedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ...core.errors import UnsupportedError
from ...core.target import Target
from ...module import Module
from .build import emit_kernels
from .emitter import EmittedCuda, EmittedKernel
from .emitter.math import FUNCTIONS

_MEMORY = r"__global|__local|__constant"
_OWN = rf"{_MEMORY}|__kernel|__attribute__"
"""Words of OpenCL C that the translation writes before it looks up words."""
_WORDS = {
    "__shared__": "__local",
    "__restrict__": "restrict",
    "__forceinline__": "inline",
    "__syncthreads": "barrier",
    "__float_as_int": "as_int",
    "__float_as_uint": "as_uint",
    "__int_as_float": "as_float",
    "__uint_as_float": "as_float",
    "__double_as_longlong": "as_long",
    "__longlong_as_double": "as_double",
    "__clz": "clz",
    "__clzll": "clz",
    "__popc": "popcount",
    "__popcll": "popcount",
    "__mul64hi": "mul_hi",
    "__umul64hi": "mul_hi",
    "longlong2": "long2",
    **{f"{name}f": name for name in FUNCTIONS.values()},
}
"""Words of CUDA, each with the one of OpenCL C."""
_INDICES = {"threadIdx": "get_local_id", "blockIdx": "get_group_id", "blockDim": "get_local_size",
            "gridDim": "get_num_groups"}  # fmt: skip
_RESERVED = frozenset(
    "kernel global local constant private generic read_only write_only read_write uniform pipe half quad complex "
    "imaginary uchar ushort uint ulong sampler_t event_t queue_t".split()
)
"""Keywords of OpenCL C that are names in CUDA C++."""
_TOKENS = re.compile(r"//[^\n]*|[A-Za-z_]\w*|0x[\da-f]+\w*|\d[\w.]*(?:(?<=e)[+-]\d+\w*)?|\s+|.", re.DOTALL)


def opencl_source(module: Module) -> str:
    """The OpenCL C of a module at any landing. UnsupportedError for operations that cannot be translated."""
    emitted = emit_kernels(module, Target("cuda"))
    return "\n".join(_translate(each) for each in emitted)


def _translate(emitted: EmittedCuda) -> str:
    text = emitted.source
    for kernel in emitted.kernels:
        text = _with_head(text, kernel)
    text = re.sub(r"static __device__ const ", "__constant ", text).replace("static __device__ ", "static ")
    text = re.sub(r"struct __align__\((\d+)\) (\w+) \{(.*?)\n\};", _typedef, text, flags=re.DOTALL)
    text = re.sub(r"__align__\((\d+)\)", r"__attribute__((aligned(\1)))", text)
    text = text.replace("long long", "long").replace("__syncthreads()", f"__syncthreads({_FENCES})")
    text = re.sub(r"\bmake_(\w+)\(", r"(\1)(", text)
    text = re.sub(r"\b(\w+Idx|\w+Dim)\.([xyz])", _index, text)
    text = re.sub(r"reinterpret_cast<([^<>]*)>\(&(\w+)", _cast(_places(text)), text)
    words = "".join(_word(token, text) for token in _TOKENS.findall(text))
    return "\n".join([*_pragmas(words), words])


_FENCES = "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"


def _with_head(text: str, kernel: EmittedKernel) -> str:
    """The text with the head of a kernel in OpenCL C: the size of its groups, and pointers to global memory."""
    pattern = re.compile(rf'extern "C" __global__ void(?: __launch_bounds__\(\d+\))? {kernel.symbol}\((.*)\) \{{')
    size = "" if kernel.block_size is None else f" __attribute__((reqd_work_group_size{kernel.block_size}))"
    params = ", ".join(
        f"{'__global ' if each.role == 'pointer' else ''}{each.ctype} {each.name}" for each in kernel.parameters
    )
    return pattern.sub(lambda _: f"__kernel{size} void {kernel.symbol}({params}) {{", text)


def _typedef(match: re.Match[str]) -> str:
    size, name, members = match.groups()
    return f"typedef struct __attribute__((aligned({size}))) {{{members}\n}} {name};"


def _index(match: re.Match[str]) -> str:
    function = _INDICES.get(match[1])
    return match[0] if function is None else f"(int){function}({'xyz'.index(match[2])})"


def _places(text: str) -> dict[str, str]:
    """The memory of each array and pointer by name; arrays of a thread have none."""
    heads = re.finditer(rf"({_MEMORY}|__shared__)[^,;(){{]*?(?:\(\(aligned\(\d+\)\)\) [\w ]+)?\b(\w+)(?=[,)\[])", text)
    return {match[2]: match[1].replace("__shared__", "__local") for match in heads}


def _cast(places: dict[str, str]) -> Callable[[re.Match[str]], str]:
    """The replacement of a cast of the address of a variable: a pointer to the memory of the variable."""

    def cast(match: re.Match[str]) -> str:
        place = places.get(match[2])
        return f"({place + ' ' if place else ''}{match[1]})(&{match[2]}"

    return cast


def _word(token: str, text: str) -> str:
    if re.fullmatch(r"\d+LL", token):
        return token.removesuffix("L")
    if token in _RESERVED:
        return next(name for n in range(len(text)) if (name := f"{token}_{n}") not in text)
    new = _WORDS.get(token, token)
    is_unknown = token.startswith("__") and token not in _WORDS and not re.fullmatch(_OWN, token)
    if is_unknown or token in ("extern", "include", "const_cast", "reinterpret_cast", "nullptr"):
        raise UnsupportedError(f"opencl: no OpenCL C for {token} of CUDA C++")
    return new


def _pragmas(text: str) -> Iterable[str]:
    """The settings before the text: no contraction of products and sums, and doubles if the text has any."""
    yield "#pragma OPENCL FP_CONTRACT OFF"
    if re.search(r"\bdouble\b", text):
        yield "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
