"""Caches of keys and values as arguments of models: `tvm.relax.frontend.nn.llm.kv_cache`.

The cache is a `stepwell.decoding.KVCache` (docs/relax.md), whose packed functions have the names of TVM's runtime.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from .......decoding import packed
from .....absent import refuse_options, report_absent
from ....block_builder import BlockBuilder
from ....calls import call_dps_packed, call_pure_packed
from ....expr import PrimValue, ShapeExpr, StringImm
from ....struct_info import ObjectStructInfo, TensorStructInfo
from ..core import Object, Tensor

assert packed.FUNCTIONS  # registered by its import

__getattr__ = report_absent("tvm.relax.frontend.nn.llm.kv_cache")


class RopeMode(enum.IntEnum):
    """When positions rotate queries and keys: never, before keys are kept, or in the attention."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


class AttnKind(enum.IntEnum):
    """The kinds of attention of a layer."""

    MHA = 0
    MLA = 1
    MHA_SLIDING = 3


class PagedKVCache(Object):
    """A cache of keys and values, an argument of a model (`nn.spec.Object(PagedKVCache)`)."""

    def attention_with_fused_qkv(
        self,
        layer_id: int,
        qkv: Tensor,
        num_qo_heads: int,
        sm_scale: float | None = None,
        *,
        attn_score_scaling_factor: float = 1.0,
    ) -> Tensor:
        """The attention of the tokens of a forward pass, whose keys and values are kept.

        qkv: the queries, keys and values of the tokens, [batch, length, heads, head_size].  num_qo_heads: the heads of
        queries, which the result has.  sm_scale: the factor of the scores, by default the root of 1 / head_size.
        attn_score_scaling_factor: another factor of the scores, as of v0.16 to v0.18.
        """
        batch, length, heads, size = qkv.shape
        scale = (int(size) ** -0.5 if sm_scale is None else float(sm_scale)) * attn_score_scaling_factor
        tokens = qkv.reshape(batch * length, heads, size)
        call = call_dps_packed(
            "vm.builtin.attention_kv_cache_attention_with_fused_qkv",
            [self.expr, PrimValue(layer_id), PrimValue(scale), tokens.expr],
            TensorStructInfo((batch * length, num_qo_heads, size), qkv.dtype),
        )
        return Tensor(_builder().emit(call)).reshape(batch, length, num_qo_heads, size)

    def get_query_positions(self, total_length: Any) -> Tensor:
        """The positions of the tokens of a forward pass in their sequences, [total_length]."""
        call = call_dps_packed(
            "stepwell.kv_cache_query_positions", [self.expr], TensorStructInfo((total_length,), "int32")
        )
        return Tensor(_builder().emit(call))


class TIRPagedKVCache(PagedKVCache):
    """A cache that a function of a model creates."""

    def __init__(
        self,
        attn_kind: str | Sequence[str] = "mha",
        max_batch_size: Any = 1,
        max_total_seq_len: Any = 2048,
        prefill_chunk_size: Any = 2048,
        page_size: Any = 16,
        support_sliding_window: Any = 0,
        layer_partition: Any = None,
        num_hidden_layers: int = 1,
        num_attention_heads: int = 1,
        num_key_value_heads: int = 1,
        qk_head_dim: int | None = None,
        v_head_dim: int | None = None,
        mla_original_qk_head_dim: int = 0,
        mla_original_v_head_dim: int = 0,
        rope_mode: RopeMode = RopeMode.NONE,
        rope_scale: float = 1,
        rope_theta: float = 10000,
        rope_scaling: Mapping[str, Any] | None = None,
        rope_ext_factors: Any = None,
        rotary_dim: int | None = None,
        enable_disaggregation: bool = False,
        dtype: str = "float32",
        target: Any = None,
        name: str = "paged_kv_cache",
        *,
        head_dim: int | None = None,
        layer_sliding_window_size: int = 1024,
    ):
        """max_batch_size, max_total_seq_len, page_size: the numbers of sequences, of tokens of all of them, and of
        tokens of a page; sizes of the function.  num_hidden_layers, num_attention_heads, num_key_value_heads: of the
        model.  qk_head_dim, v_head_dim, or head_dim until v0.18: the elements of a head.  rope_mode, rope_scale,
        rope_theta, rotary_dim: the rotations of queries and keys (`stepwell.decoding.Rotary`).  name: of the variable.
        Ignored are the target, prefill_chunk_size, layer_partition, rope_ext_factors and layer_sliding_window_size.

        UnsupportedError for other kinds of attention than "mha", heads of values of another size, rope_scaling, sliding
        windows and disaggregation.
        """
        size = qk_head_dim or head_dim or 0
        kinds = {attn_kind} if isinstance(attn_kind, str) else set(attn_kind)
        refuse_options(
            "TIRPagedKVCache", attn_kind=kinds - {"mha"}, v_head_dim=v_head_dim not in (None, 0, size),
            rope_scaling=(rope_scaling or {}).get("rope_type", "default") != "default",
            support_sliding_window=support_sliding_window, enable_disaggregation=enable_disaggregation,
        )  # fmt: skip
        heads = [num_hidden_layers, num_attention_heads, num_key_value_heads, size, rotary_dim or size]
        call = call_pure_packed(
            "stepwell.kv_cache_create",
            ShapeExpr([max_batch_size, max_total_seq_len, page_size]),
            ShapeExpr(heads),
            StringImm(dtype),
            PrimValue(int(rope_mode != RopeMode.NONE)),
            PrimValue(float(rope_scale)),
            PrimValue(float(rope_theta)),
            sinfo_args=ObjectStructInfo(),
        )
        super().__init__(_expr=call, _name=name)


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    assert builder is not None, "a cache exists in a function under construction alone"
    return builder


__all__ = ["AttnKind", "PagedKVCache", "RopeMode", "TIRPagedKVCache"]
