"""Tensor intrinsics of products of matrices in the registers of a warp, by the names of TVM since v0.9:
`mma.ldmatrix_16x16_a`, `mma_ldmatrix_f16_a`, `mma_f16f16f32`, `mma_fill_16x16_f32`, `mma_store_16x16_f32_global_`.

Memory of a warp has a row for each lane. The place of an element there is that of the instructions, but for factors
that are transposed: for these, TVM's loads and products state the same other place.
"""

from __future__ import annotations

import re
from functools import cache

from .....frontends.tvmscript import parse_tvmscript
from .....module import Module

SIDE = 16
"""The rows of the left factor, and the columns of the right one."""
_LANES = 32
_DTYPES = {"f16": "float16", "i8": "int8", "f32": "float32", "i32": "int32"}
_PTX = {"float16": "fp16", "int8": "int8", "float32": "fp32", "int32": "int32"}
_SCOPE = r"(?P<scope>global|shared|shared_dyn)"
_LOAD = re.compile(r"mma_ldmatrix_(?P<dtype>f16|i8)_(?P<factor>a|b)(?P<trans>_trans)?(?P<dyn>_dyn)?")
_OLD_LOAD = re.compile(r"mma\.ldmatrix_(?P<shape>16x16|16x32|32x16)_(?P<factor>a|b)(?P<trans>_trans)?(?P<dyn>_dyn)?")
_MULTIPLY = re.compile(r"mma_(?P<dtype>f16|i8)(?P=dtype)(?P<sums>f16|f32|i32)(?P<a>_trans_a)?(?P<b>_trans_b|_trans)?")
_FILL = re.compile(r"mma_fill_16x16_(?P<dtype>f16|f32|i32)")
_STORE = re.compile(rf"mma_store_16x16_(?P<dtype>f16|f32|i32)_{_SCOPE}_(simple_)?")

Functions = tuple[Module, Module]
"""The description of an intrinsic, and its implementation."""

_PLACES = {
    (16, False): "4 * ({i} % 8) + ({j} % 8) // 2, 4 * ({j} // 8) + {i} // 8 * 2 + {j} % 2",
    (32, False): "4 * ({i} % 8) + ({j} % 16) // 4, 8 * ({j} // 16) + {i} // 8 * 4 + {j} % 4",
    (32, True): "({i} % 16) // 4 + 4 * ({j} % 8), 8 * ({j} // 8) + {i} // 16 * 4 + {i} % 4",
}
"""The lane and the index of an element, by the depth of the product and whether the depth is along the rows."""


def _place(depth: int, i: str, j: str, *, by_depth: bool = False) -> str:
    return _PLACES[depth, by_depth and depth == 32].format(i=i, j=j)


@cache
def register_intrinsic(name: str) -> Functions | None:
    """The functions of the intrinsic of a name; None if the name is of no operation on registers."""
    if found := _LOAD.fullmatch(name) or _OLD_LOAD.fullmatch(name):
        words = found.groupdict()
        depth = 32 if words.get("dtype") == "i8" or "32" in words.get("shape", "") else 16
        is_right, trans = words["factor"] == "b", words["trans"] is not None
        if "shape" in words and words["shape"] != (
            "32x16" if depth == 32 and is_right and not trans else f"16x{depth}"
        ):
            return None
        if depth == 32 and trans and not is_right:
            return None
        return load_functions(depth, is_right, trans, "shared.dyn" if words["dyn"] else "shared")
    if found := _MULTIPLY.fullmatch(name):
        depth, sums = 16 if found["dtype"] == "f16" else 32, _DTYPES[found["sums"]]
        if (depth == 32) != (sums == "int32") or (depth == 32 and found["a"]):
            return None
        return multiply_functions(depth, sums, found["a"] is not None, found["b"] is not None)
    if found := _FILL.fullmatch(name):
        return fill_functions(_DTYPES[found["dtype"]])
    if found := _STORE.fullmatch(name):
        return store_functions(_DTYPES[found["dtype"]], found["scope"].replace("_", "."))
    return None


def load_functions(depth: int, is_right: bool, is_transposed: bool, scope: str) -> Functions:
    """The copy of a factor to the registers of a warp. depth: of the product, 16 for float16 and 32 for int8.
    is_transposed: whether the columns of the factor, or of the right factor the rows, are contiguous.  scope: of the
    factor in memory."""
    dtype, size = ("float16" if depth == 16 else "int8"), SIDE * depth // _LANES
    is_tall = is_right != is_transposed
    rows, columns = (depth, SIDE) if is_tall else (SIDE, depth)
    wide = depth // 2
    if depth == 32 and is_tall:
        offset = "s0"
    elif is_transposed:
        offset = f"s0 * 8 * (tx // 16) + s0 * (tx % 8) + {wide} * (tx % 16 // 8)"
    else:
        offset = f"s0 * (tx % 16) + {wide} * (tx // 16)"
    place = _place(depth, "v0", "v1", by_depth=is_tall)
    warp = f'W = T.match_buffer(w, ({_LANES}, {size}), "{dtype}", align=64, offset_factor=16, scope="warp")'
    shared = f's, ({rows}, {columns}), "{dtype}", align=64, offset_factor=16, scope="{scope}"'
    accesses = f"T.reads(S[0:{rows}, 0:{columns}])\n        T.writes(W[0:{_LANES}, 0:{size}])"
    return _functions(
        f"""
def description(w: T.handle, s: T.handle):
    S = T.match_buffer({shared})
    {warp}
    with T.block("root"):
        {accesses}
        for i, j in T.grid({rows}, {columns}):
            with T.block("load"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.reads(S[v0, v1])
                T.writes(W[{place}])
                W[{place}] = S[v0, v1]
""",
        f"""
def implementation(w: T.handle, s: T.handle):
    s0 = T.int32()
    s1 = T.int32()
    S = T.match_buffer({shared}, strides=[s0, s1])
    {warp}
    with T.block("root"):
        {accesses}
        for tx in T.thread_binding({_LANES}, thread="threadIdx.x"):
            T.ptx_ldmatrix(
                {is_tall}, 4, ".b16", W.data, W.elem_offset + {size} * tx, S.access_ptr("r"), {offset}
            )
""",
    )


def multiply_functions(depth: int, sums: str, left_transposed: bool, right_transposed: bool) -> Functions:
    """The sum of a product and earlier sums. depth: as of `load_functions`.  sums: their data type.  left_transposed,
    right_transposed: whether the places of the factors are those of their transposed matrices."""
    dtype, size = ("float16" if depth == 16 else "int8"), SIDE * depth // _LANES
    total = SIDE * SIDE // _LANES
    cast = (lambda text: text) if sums == dtype else (lambda text: f'T.cast({text}, "{sums}")')
    a = f"A[{_place(depth, *('vk', 'vi') if left_transposed else ('vi', 'vk'))}]"
    right = ("vj", "vk") if right_transposed else ("vk", "vj")
    b = f"B[{_place(depth, *right, by_depth=not right_transposed)}]"
    c = f"C[{_place(16, 'vi', 'vj')}]"
    layout = 'align=64, offset_factor=16, scope="warp"'
    buffers = f"""A = T.match_buffer(a, ({_LANES}, {size}), "{dtype}", {layout})
    B = T.match_buffer(b, ({_LANES}, {size}), "{dtype}", {layout})
    C = T.match_buffer(c, ({_LANES}, {total}), "{sums}", {layout})
    with T.block("root"):
        T.reads(C[0:{_LANES}, 0:{total}], A[0:{_LANES}, 0:{size}], B[0:{_LANES}, 0:{size}])
        T.writes(C[0:{_LANES}, 0:{total}])"""
    call = f"""T.ptx_mma(
                "m16n8k{depth}", "row", "col", "{_PTX[dtype]}", "{_PTX[dtype]}", "{_PTX[sums]}",
                A.data, A.elem_offset + tx * {size},
                B.data, B.elem_offset + tx * {size} + {{half}} * {size // 2},
                C.data, C.elem_offset + tx * {total} + {{half}} * {total // 2}, False
            )"""
    return _functions(
        f"""
def description(a: T.handle, b: T.handle, c: T.handle):
    {buffers}
        for i, j, k in T.grid({SIDE}, {SIDE}, {depth}):
            with T.block("multiply"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads({c}, {a}, {b})
                T.writes({c})
                {c} = {c} + {cast(a)} * {cast(b)}
""",
        f"""
def implementation(a: T.handle, b: T.handle, c: T.handle):
    {buffers}
        for tx in T.thread_binding({_LANES}, thread="threadIdx.x"):
            {call.format(half=0)}
            {call.format(half=1)}
""",
    )


def fill_functions(dtype: str) -> Functions:
    """The sums of zero."""
    total = SIDE * SIDE // _LANES
    place = _place(16, "v0", "v1")
    accesses = f"T.reads()\n        T.writes(C[0:{_LANES}, 0:{total}])"
    return _functions(
        f"""
def description(c: T.handle):
    C = T.match_buffer(c, ({_LANES}, {total}), "{dtype}", scope="warp")
    with T.block("root"):
        {accesses}
        for i, j in T.grid({SIDE}, {SIDE}):
            with T.block("fill"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.reads()
                T.writes(C[{place}])
                C[{place}] = T.cast(0, "{dtype}")
""",
        f"""
def implementation(c: T.handle):
    C = T.match_buffer(c, ({_LANES}, {total}), "{dtype}", scope="warp", offset_factor=1)
    with T.block("root"):
        {accesses}
        for tx in T.thread_binding({_LANES}, thread="threadIdx.x"):
            T.mma_fill({total}, C.data, C.elem_offset)
""",
    )


def store_functions(dtype: str, scope: str) -> Functions:
    """The copy of sums to memory. scope: of the memory."""
    total = SIDE * SIDE // _LANES
    place = _place(16, "v0", "v1")
    warp = f'W = T.match_buffer(w, ({_LANES}, {total}), "{dtype}", scope="warp"'
    memory = f'C = T.match_buffer(c, ({SIDE}, {SIDE}), "{dtype}", scope="{scope}"'
    accesses = f"T.reads(W[0:{_LANES}, 0:{total}])\n        T.writes(C[0:{SIDE}, 0:{SIDE}])"
    return _functions(
        f"""
def description(w: T.handle, c: T.handle):
    {warp})
    {memory})
    with T.block("root"):
        {accesses}
        for i, j in T.grid({SIDE}, {SIDE}):
            with T.block("store"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.reads(W[{place}])
                T.writes(C[v0, v1])
                C[v0, v1] = W[{place}]
""",
        f"""
def implementation(w: T.handle, c: T.handle):
    s0 = T.int32()
    s1 = T.int32()
    {warp}, offset_factor=1)
    {memory}, offset_factor=1, strides=[s0, s1])
    with T.block("root"):
        {accesses}
        for tx in T.thread_binding({_LANES}, thread="threadIdx.x"):
            T.mma_store({SIDE}, {SIDE}, C.access_ptr("w"), W.data, W.elem_offset, s0)
""",
    )


def _functions(description: str, implementation: str) -> Functions:
    first, second = (parse_tvmscript(f"@T.prim_func{text}") for text in (description, implementation))
    return first, second
