// RUN: STEPWELL_ROUNDTRIP

// A trace names blocks and loops by handles, and transforms what they stand for.
schedule.trace {
  %root = schedule.get_block "root" {func_name = "main"}
  %C = schedule.get_block "C"
  %i, %j, %k = schedule.get_loops %C : !schedule.loop, !schedule.loop, !schedule.loop
  %none = schedule.get_child_blocks %i : !schedule.block
  %all = schedule.get_child_blocks %root : !schedule.block
  %P, %Q = schedule.get_producers %C : !schedule.block, !schedule.block
  %D = schedule.get_consumers %C : !schedule.block
  %out = schedule.get_output_blocks %root : !schedule.block
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %root = schedule.get_block "root" {func_name = "main"}
// CHECK-NEXT:    %C = schedule.get_block "C"
// CHECK-NEXT:    %i, %j, %k = schedule.get_loops %C : !schedule.loop, !schedule.loop, !schedule.loop
// CHECK-NEXT:    %none = schedule.get_child_blocks %i : !schedule.block
// CHECK-NEXT:    %all = schedule.get_child_blocks %root : !schedule.block
// CHECK-NEXT:    %P, %Q = schedule.get_producers %C : !schedule.block, !schedule.block
// CHECK-NEXT:    %D = schedule.get_consumers %C : !schedule.block
// CHECK-NEXT:    %out = schedule.get_output_blocks %root : !schedule.block
// CHECK-NEXT:  }

// Choices remember what was decided; what they give are numbers for others.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %v = schedule.sample_categorical [16, 64], [0.5, 0.5] {decision = 1 : i64}
  %a, %b = schedule.sample_perfect_tile %i, 2, 16 {decision = array<i64: 8, 4>} : i64, i64
  %l = schedule.sample_compute_location %B {decision = -1 : i64}
  %o, %p, %q = schedule.split %i, [?, %a, 4] : !schedule.loop, !schedule.loop, !schedule.loop
  %x, %y = schedule.split %p, [2, ?] {preserve_unit_iters = false, disable_predication = true} : !schedule.loop, !schedule.loop
  schedule.annotate %o, "pragma_auto_unroll_max_step", %v
  schedule.enter_postproc
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %B = schedule.get_block "B"
// CHECK-NEXT:    %i = schedule.get_loops %B : !schedule.loop
// CHECK-NEXT:    %v = schedule.sample_categorical [16, 64], [0.5, 0.5] {decision = 1 : i64}
// CHECK-NEXT:    %a, %b = schedule.sample_perfect_tile %i, 2, 16 {decision = array<i64: 8, 4>} : i64, i64
// CHECK-NEXT:    %l = schedule.sample_compute_location %B {decision = -1 : i64}
// CHECK-NEXT:    %o, %p, %q = schedule.split %i, [?, %a, 4] : !schedule.loop, !schedule.loop, !schedule.loop
// CHECK-NEXT:    %x, %y = schedule.split %p, [2, ?] {preserve_unit_iters = false, disable_predication = true} : !schedule.loop, !schedule.loop
// CHECK-NEXT:    schedule.annotate %o, "pragma_auto_unroll_max_step", %v
// CHECK-NEXT:    schedule.enter_postproc
// CHECK-NEXT:  }

// Primitives on loops.
schedule.trace {
  %C = schedule.get_block "C"
  %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
  schedule.reorder [%j, %i]
  %f = schedule.fuse [%j, %i]
  %u = schedule.add_unit_loop %C
  %w = schedule.add_unit_loop %u
  schedule.reorder_block_iter_var %C, [1, 0]
  schedule.parallel %f
  schedule.vectorize %u
  schedule.unroll %w
  schedule.bind %f, "threadIdx.x"
  schedule.annotate %f, "pragma", {a = [1 : i32, "b"]}
  schedule.annotate %C, "key", "text"
  schedule.unannotate %f, "pragma"
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %C = schedule.get_block "C"
// CHECK-NEXT:    %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
// CHECK-NEXT:    schedule.reorder [%j, %i]
// CHECK-NEXT:    %f = schedule.fuse [%j, %i]
// CHECK-NEXT:    %u = schedule.add_unit_loop %C
// CHECK-NEXT:    %w = schedule.add_unit_loop %u
// CHECK-NEXT:    schedule.reorder_block_iter_var %C, [1, 0]
// CHECK-NEXT:    schedule.parallel %f
// CHECK-NEXT:    schedule.vectorize %u
// CHECK-NEXT:    schedule.unroll %w
// CHECK-NEXT:    schedule.bind %f, "threadIdx.x"
// CHECK-NEXT:    schedule.annotate %f, "pragma", {a = [1 : i32, "b"]}
// CHECK-NEXT:    schedule.annotate %C, "key", "text"
// CHECK-NEXT:    schedule.unannotate %f, "pragma"
// CHECK-NEXT:  }

// Primitives on blocks.
schedule.trace {
  %B = schedule.get_block "B"
  %C = schedule.get_block "C"
  %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
  %r = schedule.cache_read %C, 0, "shared", [%C, %B]
  %w = schedule.cache_write %C, 0, "local", []
  %x = schedule.reindex %C, "read", 1
  schedule.compute_at %B, %i
  schedule.compute_at %r, %j {preserve_unit_loops = true, index = -2 : i64}
  schedule.reverse_compute_at %w, %i
  schedule.compute_inline %x
  schedule.reverse_compute_inline %w
  %init = schedule.decompose_reduction %C, %i
  %rf = schedule.rfactor %j, 0
  schedule.storage_align %B, 0, -1, 16, 4
  schedule.annotate_buffer_access %C, 0, "read", affine_map<(d0, d1) -> ((d0 + -1), (d0 + 2), d1, (d1 + 1))>
  schedule.set_axis_separator %B, "write", 0, [1, 1]
  schedule.set_scope %B, 0, "shared"
  schedule.unsafe_set_dtype %B, 0, "float16"
  %o = schedule.blockize [%j]
  %p = schedule.blockize [%B, %C] {preserve_unit_iters = false}
  schedule.tensorize %j, "dot"
  schedule.tensorize %B, "dot" {preserve_unit_iters = false}
  schedule.transform_layout %B, "write", 0, affine_map<(d0, d1) -> (d0, (d1 floordiv 4), (d1 mod 4))> {pad_value = 0.000000e+00 : f32}
  schedule.transform_block_layout %B, affine_map<(d0, d1) -> (((d0 * 16) + d1))>
  %n = schedule.get_size "n" {func_name = "main"}
  %v = schedule.sample_categorical [4, 8], [0.5, 0.5] {decision = 1 : i64}
  schedule.transform_layout %B, "write", 0, affine_map<(d0, d1)[s0, s1] -> (((d0 * s0) + d1), (d1 mod (s0 * s1)))>[%n, %v] {pad_value = affine_map<(d0, d1)[s0, s1] -> ((d0 + s1))>}
  schedule.transform_block_layout %B, affine_map<(d0, d1)[s0] -> ((d0 ceildiv s0), (d1 floordiv s0))>[%v]
  schedule.pad_einsum %C, [16, 16, 16]
  %fill = schedule.decompose_padding %B, %i
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %B = schedule.get_block "B"
// CHECK-NEXT:    %C = schedule.get_block "C"
// CHECK-NEXT:    %i, %j = schedule.get_loops %C : !schedule.loop, !schedule.loop
// CHECK-NEXT:    %r = schedule.cache_read %C, 0, "shared", [%C, %B]
// CHECK-NEXT:    %w = schedule.cache_write %C, 0, "local", []
// CHECK-NEXT:    %x = schedule.reindex %C, "read", 1
// CHECK-NEXT:    schedule.compute_at %B, %i
// CHECK-NEXT:    schedule.compute_at %r, %j {preserve_unit_loops = true, index = -2 : i64}
// CHECK-NEXT:    schedule.reverse_compute_at %w, %i
// CHECK-NEXT:    schedule.compute_inline %x
// CHECK-NEXT:    schedule.reverse_compute_inline %w
// CHECK-NEXT:    %init = schedule.decompose_reduction %C, %i
// CHECK-NEXT:    %rf = schedule.rfactor %j, 0
// CHECK-NEXT:    schedule.storage_align %B, 0, -1, 16, 4
// CHECK-NEXT:    schedule.annotate_buffer_access %C, 0, "read", affine_map<(d0, d1) -> ((d0 + -1), (d0 + 2), d1, (d1 + 1))>
// CHECK-NEXT:    schedule.set_axis_separator %B, "write", 0, [1, 1]
// CHECK-NEXT:    schedule.set_scope %B, 0, "shared"
// CHECK-NEXT:    schedule.unsafe_set_dtype %B, 0, "float16"
// CHECK-NEXT:    %o = schedule.blockize [%j]
// CHECK-NEXT:    %p = schedule.blockize [%B, %C] {preserve_unit_iters = false}
// CHECK-NEXT:    schedule.tensorize %j, "dot"
// CHECK-NEXT:    schedule.tensorize %B, "dot" {preserve_unit_iters = false}
// CHECK-NEXT:    schedule.transform_layout %B, "write", 0, affine_map<(d0, d1) -> (d0, (d1 floordiv 4), (d1 mod 4))> {pad_value = 0.000000e+00 : f32}
// CHECK-NEXT:    schedule.transform_block_layout %B, affine_map<(d0, d1) -> (((d0 * 16) + d1))>
// CHECK-NEXT:    %n = schedule.get_size "n" {func_name = "main"}
// CHECK-NEXT:    %v = schedule.sample_categorical [4, 8], [0.5, 0.5] {decision = 1 : i64}
// CHECK-NEXT:    schedule.transform_layout %B, "write", 0, affine_map<(d0, d1)[s0, s1] -> (((d0 * s0) + d1), (d1 mod (s0 * s1)))>[%n, %v] {pad_value = affine_map<(d0, d1)[s0, s1] -> ((d0 + s1))>}
// CHECK-NEXT:    schedule.transform_block_layout %B, affine_map<(d0, d1)[s0] -> ((d0 ceildiv s0), (d1 floordiv s0))>[%v]
// CHECK-NEXT:    schedule.pad_einsum %C, [16, 16, 16]
// CHECK-NEXT:    %fill = schedule.decompose_padding %B, %i
// CHECK-NEXT:  }

// Several loops.
schedule.trace {
  %B = schedule.get_block "B"
  %C = schedule.get_block "C"
  %i = schedule.get_loops %B : !schedule.loop
  %j = schedule.get_loops %C : !schedule.loop
  %a, %b = schedule.sample_partitioned_tile %i, 2, 1, 4 {decision = array<i64: 2, 8>} : i64, i64
  %m = schedule.merge [%i, %j]
  %x, %y, %z = schedule.loop_partition %m, [2, %a] {preserve_unit_iters = false} : !schedule.loop, !schedule.loop, !schedule.loop
  %v, %w = schedule.loop_partition %x, [?, 1] : !schedule.loop, !schedule.loop
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %B = schedule.get_block "B"
// CHECK-NEXT:    %C = schedule.get_block "C"
// CHECK-NEXT:    %i = schedule.get_loops %B : !schedule.loop
// CHECK-NEXT:    %j = schedule.get_loops %C : !schedule.loop
// CHECK-NEXT:    %a, %b = schedule.sample_partitioned_tile %i, 2, 1, 4 {decision = array<i64: 2, 8>} : i64, i64
// CHECK-NEXT:    %m = schedule.merge [%i, %j]
// CHECK-NEXT:    %x, %y, %z = schedule.loop_partition %m, [2, %a] {preserve_unit_iters = false} : !schedule.loop, !schedule.loop, !schedule.loop
// CHECK-NEXT:    %v, %w = schedule.loop_partition %x, [?, 1] : !schedule.loop, !schedule.loop
// CHECK-NEXT:  }

// Copies of buffers.
schedule.trace {
  %C = schedule.get_block "C"
  %i = schedule.get_loops %C : !schedule.loop
  %v = schedule.sample_categorical [4, 8], [0.5, 0.5] {decision = 1 : i64}
  %r = schedule.reindex_cache_read %C, 0, "shared", affine_map<(d0, d1) -> (d1, d0)>
  %w = schedule.reindex_cache_write %C, 0, "local", affine_map<(d0, d1)[s0] -> ((d0 floordiv s0), d1)>[%v]
  %n, %o = schedule.cache_index %C, "global", 0 : !schedule.block, !schedule.block
  schedule.cache_index %C, "local", 2
  %a, %b = schedule.cache_inplace %C, 0, "local"
  %x = schedule.read_at %i, %C, 1, "shared"
  %y = schedule.write_at %i, %C, 0, "local"
  schedule.rolling_buffer %C, 0
  schedule.fuse_reduction_epilogue %C, %x
}
// CHECK:  schedule.trace {
// CHECK-NEXT:    %C = schedule.get_block "C"
// CHECK-NEXT:    %i = schedule.get_loops %C : !schedule.loop
// CHECK-NEXT:    %v = schedule.sample_categorical [4, 8], [0.5, 0.5] {decision = 1 : i64}
// CHECK-NEXT:    %r = schedule.reindex_cache_read %C, 0, "shared", affine_map<(d0, d1) -> (d1, d0)>
// CHECK-NEXT:    %w = schedule.reindex_cache_write %C, 0, "local", affine_map<(d0, d1)[s0] -> ((d0 floordiv s0), d1)>[%v]
// CHECK-NEXT:    %n, %o = schedule.cache_index %C, "global", 0 : !schedule.block, !schedule.block
// CHECK-NEXT:    schedule.cache_index %C, "local", 2
// CHECK-NEXT:    %a, %b = schedule.cache_inplace %C, 0, "local"
// CHECK-NEXT:    %x = schedule.read_at %i, %C, 1, "shared"
// CHECK-NEXT:    %y = schedule.write_at %i, %C, 0, "local"
// CHECK-NEXT:    schedule.rolling_buffer %C, 0
// CHECK-NEXT:    schedule.fuse_reduction_epilogue %C, %x
// CHECK-NEXT:  }
