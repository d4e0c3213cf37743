"""The names of the parts of sparse matrices in `task_inputs` of tuners, as TVM gives them."""

from __future__ import annotations

from collections.abc import Sequence

from ....expressions.tensor import ComputeOp, Tensor, topological_order


def try_get_sparse_input(args: Sequence[Tensor]) -> dict[Tensor, str]:
    """The names of the parts of the first sparse matrix that a program multiplies by:
    `sparse_dense_bsr_ROWS_COLUMNS_HEIGHT_WIDTH_BLOCKS_POSITIONS_W_data`, `..._W_indices` and `..._W_indptr`; none for a
    program without one."""
    for op in topological_order(args):
        if isinstance(op, ComputeOp) and op.tag == "sparse_dense_sp_rhs_bsrmm":
            indptr, data, indices, dense = op.input_tensors[0].op.input_tensors
            sizes = [op.shape[1], dense.shape[1], *data.shape[1:], indices.shape[0], indptr.shape[0]]
            name = "_".join(["sparse_dense_bsr", *map(str, sizes)])
            return {data: f"{name}_W_data", indices: f"{name}_W_indices", indptr: f"{name}_W_indptr"}
    return {}


__all__ = ["try_get_sparse_input"]
