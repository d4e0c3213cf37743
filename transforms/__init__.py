"""Passes, in one folder for each landing that they work on; `pipelines` orders them.

`tir-simplify` is `TirSimplifyPass` in `tir/simplify.py`; `convert-te-to-tir` is `ConvertTeToTirPass` in `te/to_tir.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: dict[str, str] = {
    "apply-schedule": "tir.apply_schedule",
    "contract-floats": "upstream.contract_floats",
    "convert-relay-to-relax": "relay.to_relax",
    "convert-relay-to-te": "relay.to_te",
    "convert-relay-to-tir": "relay.to_tir",
    "convert-te-to-tir": "te.to_tir",
    "convert-tir-to-scf": "tir.to_scf",
    "expand-math": "upstream.expand_math",
    "gpu-merge-shared-memory": "gpu.merge_shared_memory",
    "gpu-outline-kernels": "gpu.outline_kernels",
    "hoist-allocations": "upstream.hoist_allocations",
    "legalize-small-floats": "upstream.legalize_small_floats",
    "legalize-small-integers": "upstream.legalize_small_integers",
    "merge-allocations": "upstream.merge_allocations",
    "relax-allocate-results": "relax.allocate_results",
    "relax-inline-dataflow": "relax.inline_dataflow",
    "relax-legalize-operators": "relax.legalize_operators",
    "relax-lift-parameters": "relax.lift_parameters",
    "relax-outline-graphs": "relax.outline_graphs",
    "relax-plan-memory": "relax.plan_memory",
    "relax-realize-devices": "relax.realize_devices",
    "relax-fuse-kernels": "relax.fuse_kernels",
    "relax-reuse-operands": "relax.reuse_operands",
    "relay-convert-conv1d": "relay.convert_conv1d",
    "relay-convert-convolutions": "relay.convert_convolutions",
    "relay-pack-quantized": "relay.pack_quantized",
    "relay-convert-layout": "relay.convert_layout",
    "relay-pack-weights": "relay.pack_weights",
    "relay-quantize-products": "relay.quantize_products",
    "relay-slice-images": "relay.slice_images",
    "relay-widen-operands": "relay.widen_operands",
    "relay-copy-results": "relay.copy_results",
    "relay-eliminate-dead-code": "relay.eliminate_dead_code",
    "relay-fold-constants": "relay.fold_constants",
    "relay-fold-scale-axis": "relay.fold_scale_axis",
    "relay-fuse-attention": "relay.fuse_attention",
    "relay-fuse-operators": "relay.fuse_operators",
    "relay-infer-types": "relay.infer_types",
    "relay-partition": "relay.partition",
    "relay-plan-memory": "relay.plan_memory",
    "relay-simplify": "relay.simplify",
    "relay-simplify-inference": "relay.simplify_inference",
    "outline-loops": "upstream.outline_loops",
    "outline-parallel-loops": "upstream.outline_parallel_loops",
    "prefetch-blocks": "upstream.prefetch_blocks",
    "prefetch-loads": "upstream.prefetch_loads",
    "split-vectors": "upstream.split_vectors",
    "stream-stores": "upstream.stream_stores",
    "te-inline": "te.inline",
    "tir-check-bounds": "tir.check_bounds",
    "tir-check-launches": "tir.check_launches",
    "tir-collapse-axes": "tir.collapse_axes",
    "tir-compact-buffers": "tir.compact_buffers",
    "tir-distribute-threads": "tir.distribute_threads",
    "tir-hoist-conditions": "tir.hoist_conditions",
    "tir-insert-barriers": "tir.insert_barriers",
    "tir-interleave-vthreads": "tir.interleave_vthreads",
    "tir-launch-blocks": "tir.launch_blocks",
    "tir-launch-threads": "tir.launch_threads",
    "tir-lower-extension-scalars": "tir.lower_extension_scalars",
    "tir-lower-extension-statements": "tir.lower_extension_statements",
    "tir-lower-fragments": "tir.lower_fragments",
    "tir-lower-match-buffers": "tir.lower_match_buffers",
    "tir-lower-thread-reductions": "tir.lower_thread_reductions",
    "tir-merge-kernels": "tir.merge_kernels",
    "tir-pad-buffers": "tir.pad_buffers",
    "tir-partition-loops": "tir.partition_loops",
    "tir-plan-allocations": "tir.plan_allocations",
    "tir-promote-elements": "tir.promote_elements",
    "tir-promote-tiles": "tir.promote_tiles",
    "tir-raise-fragments": "tir.raise_fragments",
    "tir-resolve-blocks": "tir.resolve_blocks",
    "tir-sanitize": "tir.sanitize",
    "tir-schedule-gpu": "tir.schedule_gpu",
    "tir-schedule-cpu": "tir.schedule_cpu",
    "tir-simplify": "tir.simplify",
    "tir-split-batch": "tir.split_batch",
    "tir-unroll-loops": "tir.unroll_loops",
    "tir-vectorize-loops": "tir.vectorize_loops",
    "tir-version-overlaps": "tir.version_overlaps",
    "tir-version-rows": "tir.version_rows",
}
"""Every pass of Stepwell: its name, and its module below this package."""


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The loader of every pass, by name; modules are imported when a loader is called."""
    return {name: partial(_load, name) for name in PASSES}


def class_name(name: str) -> str:
    """The class of the pass called `name`: `TirSimplifyPass` for `tir-simplify`."""
    return "".join(word.capitalize() for word in name.split("-")) + "Pass"


def _load(name: str) -> type[ModulePass]:
    return getattr(import_module(f".{PASSES[name]}", __name__), class_name(name))
