"""Tensor intrinsics of matrix operations of a warp, on fragments and in registers: `tvm.tir.tensor_intrin.cuda`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from .....core.errors import OptionError
from .....module import Module
from .....schedule.matrix_intrinsics import (
    MATRIX_DTYPES,
    fill_intrinsic,
    load_intrinsic,
    multiply_intrinsic,
    store_intrinsic,
)
from ...ir.module import PrimFunc
from .registers import fill_functions, load_functions, multiply_functions, store_functions

_WORDS = {dtype: word for word, dtype in MATRIX_DTYPES.items()}


def get_wmma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the copy of a matrix in memory to a fragment."""
    return _functions(load_intrinsic((m_dim, n_dim, k_dim), dtype, shared_scope, is_b, is_col_major))


def get_wmma_fill_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of sums of zero."""
    return _functions(fill_intrinsic((m_dim, n_dim, k_dim), dtype))


def get_wmma_store_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the copy of sums to memory."""
    return _functions(store_intrinsic((m_dim, n_dim, k_dim), dtype, scope))


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the sum of a product of two matrices and earlier sums."""
    return _functions(multiply_intrinsic((m_dim, n_dim, k_dim), in_dtype, out_dtype, b_transposed))


def _functions(functions: tuple[Module, Module]) -> tuple[PrimFunc, PrimFunc]:
    description, implementation = (PrimFunc(ModuleOp([f.clone()])) for m in functions for f in m.function_ops.values())
    return description, implementation


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """The names of the intrinsics of a product of matrices: `init`, `load_a`, `load_b`, `compute`, `store`.

    load_scope: of the factors, `shared` or `shared.dyn`.  store_scope: of the result, also `global`.  in_dtype,
    out_dtype: the data types of factors and sums.  trans_b: whether the columns of the right factor are contiguous.
    """
    load, store = load_scope.replace(".", "_"), store_scope.replace(".", "_")
    factor, sums, trans = _WORDS[in_dtype], _WORDS[out_dtype], "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_{_SQUARE}_{sums}",
        "load_a": f"wmma_load_{_SQUARE}_{factor}_a_{load}",
        "load_b": f"wmma_load_{_SQUARE}_{factor}_b{trans}_{load}",
        "compute": f"wmma_sync_{_SQUARE}_{factor}{factor}{sums}{trans}",
        "store": f"wmma_store_{_SQUARE}_{sums}_{store}",
    }


def get_ldmatrix_intrin(
    k_dim: int, dtype: str, matrix_name: str | bool, transposed: bool, shared_scope: str = "shared"
) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the copy of a factor to the registers of a warp.

    k_dim: the depth of the product, 16 for float16 and 32 for int8.  matrix_name: "A" or "B"; until v0.15 whether it is
    the right factor.  transposed: whether the columns of the left factor, or the rows of the right one, are contiguous.
    """
    _check_depth(k_dim, dtype)
    return _functions(load_functions(k_dim, matrix_name in ("B", True), transposed, shared_scope))


def get_mma_intrin(
    k_dim: int, out_dtype: str, a_transposed: bool, b_transposed: bool | None = None
) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the sum of a product of matrices in registers and earlier sums.

    k_dim: as of `get_ldmatrix_intrin`.  a_transposed, b_transposed: whether the places of the factors are those of the
    transposed matrices; until v0.15 the right factor alone has such an argument.
    """
    left, right = (False, a_transposed) if b_transposed is None else (a_transposed, b_transposed)
    _check_depth(k_dim, "int8" if out_dtype == "int32" else "float16")
    return _functions(multiply_functions(k_dim, out_dtype, left, right))


def get_mma_fill_intrin(dtype: str, local_size: int = 8) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of sums of zero in registers. local_size: of each lane, 8."""
    _check_size(local_size)
    return _functions(fill_functions(dtype))


def get_mma_store_intrin(
    dtype: str, local_size: int = 8, scope: str = "global", use_mma_store_intrinic: bool = True
) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation of the copy of sums in registers to memory. local_size: of each lane, 8.
    use_mma_store_intrinic: ignored, both forms are stores of elements."""
    _check_size(local_size)
    return _functions(store_functions(dtype, scope))


def _check_depth(depth: int, dtype: str) -> None:
    if {"float16": 16, "int8": 32}.get(dtype) != depth:
        raise OptionError(f"a product of depth {depth} of {dtype}, expected 16 of float16 or 32 of int8")


def _check_size(local_size: int) -> None:
    if local_size != 8:
        raise OptionError(f"sums of 16x16 with {local_size} elements in each lane, expected 8")


def get_mma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_a: bool, trans_b: bool,
    not_use_mma_store_intrinic: bool = True, store_to_smem_dtype: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """The names of the intrinsics of a product in registers: `init`, `load_a`, `load_b`, `compute`, `store`.

    load_scope: of the factors, `shared` or `shared.dyn`.  store_scope: of the result, also `global`.  in_dtype,
    out_dtype: the data types of factors and sums.  trans_a, trans_b: as of `get_ldmatrix_intrin`.
    store_to_smem_dtype: the data type of the result, that of the sums. OptionError for another one.
    """
    if store_to_smem_dtype not in (None, out_dtype):
        raise OptionError(f"sums of {out_dtype} stored as {store_to_smem_dtype}, expected {out_dtype}")
    names = {"float16": "f16", "float32": "f32", "int8": "i8", "int32": "i32"}
    factor, sums = names[in_dtype], names[out_dtype]
    dyn, a, b = ("_dyn" if load_scope == "shared.dyn" else ""), ("_trans" * trans_a), ("_trans" * trans_b)
    simple = "simple_" if not_use_mma_store_intrinic else ""
    return {
        "init": f"mma_fill_16x16_{sums}",
        "load_a": f"mma_ldmatrix_{factor}_a{a}{dyn}",
        "load_b": f"mma_ldmatrix_{factor}_b{b}{dyn}",
        "compute": f"mma_{factor}{factor}{sums}{a and '_trans_a'}{b and '_trans_b'}",
        "store": f"mma_store_16x16_{sums}_{store_scope.replace('.', '_')}_{simple}",
    }


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and the index of element (i, j) of sums, or of a factor of float16."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + (j % 2)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and the index of element (i, j) of a factor of int8."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and the index of element (i, j) of a right factor of int8 whose columns are not contiguous."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> tuple[Any, Any]:
    """The element of sums, or of a factor of float16, with an index in a lane."""
    return 8 * (local_id % 4 // 2) + thread_id // 4, 8 * (local_id // 4) + (thread_id % 4) * 2 + local_id % 2


def index_map_shared_16x16_to_ldmatrix_32x8_layout(ind: Sequence[Any]) -> list[Any]:
    """`shared_16x16_to_ldmatrix_32x8_layout` of a list of two indices."""
    return list(shared_16x16_to_ldmatrix_32x8_layout(ind[0], ind[1]))


LDMATRIX_16x16_A_INTRIN = "mma.ldmatrix_16x16_a"
LDMATRIX_16x16_B_INTRIN = "mma.ldmatrix_16x16_b"
LDMATRIX_16x16_A_DYN_INTRIN = "mma.ldmatrix_16x16_a_dyn"
LDMATRIX_16x16_B_DYN_INTRIN = "mma.ldmatrix_16x16_b_dyn"
LDMATRIX_16x16_B_TRANS_INTRIN = "mma.ldmatrix_16x16_b_trans"
LDMATRIX_16x32_A_INTRIN = "mma.ldmatrix_16x32_a"
LDMATRIX_32x16_B_INTRIN = "mma.ldmatrix_32x16_b"
LDMATRIX_16x32_B_TRANS_INTRIN = "mma.ldmatrix_16x32_b_trans"
LDMATRIX_f16_A_INTRIN = "mma_ldmatrix_f16_a"
LDMATRIX_f16_B_INTRIN = "mma_ldmatrix_f16_b"
LDMATRIX_f16_A_TRANS_INTRIN = "mma_ldmatrix_f16_a_trans"
LDMATRIX_f16_B_TRANS_INTRIN = "mma_ldmatrix_f16_b_trans"
LDMATRIX_f16_A_DYN_INTRIN = "mma_ldmatrix_f16_a_dyn"
LDMATRIX_f16_B_DYN_INTRIN = "mma_ldmatrix_f16_b_dyn"
LDMATRIX_f16_A_TRANS_DYN_INTRIN = "mma_ldmatrix_f16_a_trans_dyn"
LDMATRIX_f16_B_TRANS_DYN_INTRIN = "mma_ldmatrix_f16_b_trans_dyn"
LDMATRIX_i8_A_INTRIN = "mma_ldmatrix_i8_a"
LDMATRIX_i8_B_INTRIN = "mma_ldmatrix_i8_b"
LDMATRIX_i8_B_TRANS_INTRIN = "mma_ldmatrix_i8_b_trans"
MMA_f16f16f32_INTRIN = "mma_f16f16f32"
MMA_f16f16f32_TRANS_INTRIN = "mma_f16f16f32_trans"
MMA_f16f16f32_TRANS_A_INTRIN = "mma_f16f16f32_trans_a"
MMA_f16f16f32_TRANS_B_INTRIN = "mma_f16f16f32_trans_b"
MMA_f16f16f32_TRANS_A_TRANS_B_INTRIN = "mma_f16f16f32_trans_a_trans_b"
MMA_f16f16f16_INTRIN = "mma_f16f16f16"
MMA_f16f16f16_TRANS_INTRIN = "mma_f16f16f16_trans"
MMA_f16f16f16_TRANS_A_INTRIN = "mma_f16f16f16_trans_a"
MMA_f16f16f16_TRANS_B_INTRIN = "mma_f16f16f16_trans_b"
MMA_f16f16f16_TRANS_A_TRANS_B_INTRIN = "mma_f16f16f16_trans_a_trans_b"
MMA_i8i8i32_INTRIN = "mma_i8i8i32"
MMA_i8i8i32_TRANS_INTRIN = "mma_i8i8i32_trans"
MMA_i8i8i32_TRANS_B_INTRIN = "mma_i8i8i32_trans_b"
MMA_fill_16x16_f32_INTRIN = "mma_fill_16x16_f32"
MMA_fill_16x16_f16_INTRIN = "mma_fill_16x16_f16"
MMA_fill_16x16_i32_INTRIN = "mma_fill_16x16_i32"
MMA_store_16x16_f32_global_INTRIN = "mma_store_16x16_f32_global_"
MMA_store_16x16_f16_global_INTRIN = "mma_store_16x16_f16_global_"
MMA_store_16x16_i32_global_INTRIN = "mma_store_16x16_i32_global_"
"""The names of intrinsics on registers, which a schedule finds without a registration."""

_SQUARE = "16x16x16"

WMMA_SYNC_16x16x16_f16f16f32_INTRIN = "wmma_sync_16x16x16_f16f16f32"
WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN = "wmma_sync_16x16x16_f16f16f32_trans"
WMMA_SYNC_16x16x16_f16f16f16_INTRIN = "wmma_sync_16x16x16_f16f16f16"
WMMA_SYNC_16x16x16_f16f16f16_TRANS_INTRIN = "wmma_sync_16x16x16_f16f16f16_trans"
WMMA_SYNC_16x16x16_s8s8s32_INTRIN = "wmma_sync_16x16x16_s8s8s32"
WMMA_SYNC_16x16x16_s8s8s32_TRANS_INTRIN = "wmma_sync_16x16x16_s8s8s32_trans"
WMMA_LOAD_16x16x16_F16_A_INTRIN = "wmma_load_16x16x16_f16_a_shared"
WMMA_LOAD_16x16x16_F16_A_DYN_INTRIN = "wmma_load_16x16x16_f16_a_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_INTRIN = "wmma_load_16x16x16_f16_b_shared"
WMMA_LOAD_16x16x16_F16_B_DYN_INTRIN = "wmma_load_16x16x16_f16_b_shared_dyn"
WMMA_LOAD_16x16x16_F16_A_TRANS_INTRIN = "wmma_load_16x16x16_f16_a_trans_shared"
WMMA_LOAD_16x16x16_F16_A_TRANS_DYN_INTRIN = "wmma_load_16x16x16_f16_a_trans_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN = "wmma_load_16x16x16_f16_b_trans_shared"
WMMA_LOAD_16x16x16_F16_B_TRANS_DYN_INTRIN = "wmma_load_16x16x16_f16_b_trans_shared_dyn"
WMMA_LOAD_16x16x16_S8_A_INTRIN = "wmma_load_16x16x16_s8_a_shared"
WMMA_LOAD_16x16x16_S8_A_DYN_INTRIN = "wmma_load_16x16x16_s8_a_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_INTRIN = "wmma_load_16x16x16_s8_b_shared"
WMMA_LOAD_16x16x16_S8_B_DYN_INTRIN = "wmma_load_16x16x16_s8_b_shared_dyn"
WMMA_LOAD_16x16x16_S8_A_TRANS_INTRIN = "wmma_load_16x16x16_s8_a_trans_shared"
WMMA_LOAD_16x16x16_S8_A_TRANS_DYN_INTRIN = "wmma_load_16x16x16_s8_a_trans_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_TRANS_INTRIN = "wmma_load_16x16x16_s8_b_trans_shared"
WMMA_LOAD_16x16x16_S8_B_TRANS_DYN_INTRIN = "wmma_load_16x16x16_s8_b_trans_shared_dyn"
WMMA_FILL_16x16x16_F32_INTRIN = "wmma_fill_16x16x16_f32"
WMMA_FILL_16x16x16_F16_INTRIN = "wmma_fill_16x16x16_f16"
WMMA_FILL_16x16x16_S32_INTRIN = "wmma_fill_16x16x16_s32"
WMMA_STORE_16x16x16_F32_SHARED_INTRIN = "wmma_store_16x16x16_f32_shared"
WMMA_STORE_16x16x16_F32_SHARED_DYN_INTRIN = "wmma_store_16x16x16_f32_shared_dyn"
WMMA_STORE_16x16x16_F16_SHARED_INTRIN = "wmma_store_16x16x16_f16_shared"
WMMA_STORE_16x16x16_F16_SHARED_DYN_INTRIN = "wmma_store_16x16x16_f16_shared_dyn"
WMMA_STORE_16x16x16_S32_SHARED_INTRIN = "wmma_store_16x16x16_s32_shared"
WMMA_STORE_16x16x16_S32_SHARED_DYN_INTRIN = "wmma_store_16x16x16_s32_shared_dyn"
WMMA_STORE_16x16x16_F32_GLOBAL_INTRIN = "wmma_store_16x16x16_f32_global"
WMMA_STORE_16x16x16_F16_GLOBAL_INTRIN = "wmma_store_16x16x16_f16_global"
WMMA_STORE_16x16x16_S32_GLOBAL_INTRIN = "wmma_store_16x16x16_s32_global"
"""The names of intrinsics, which a schedule finds without a registration."""
