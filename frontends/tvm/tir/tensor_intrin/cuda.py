"""Tensor intrinsics of matrix operations of a warp: `tvm.tir.tensor_intrin.cuda`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from .....module import Module
from .....schedule.matrix_intrinsics import (
    MATRIX_DTYPES,
    fill_intrinsic,
    load_intrinsic,
    multiply_intrinsic,
    store_intrinsic,
)
from ...ir.module import PrimFunc

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
