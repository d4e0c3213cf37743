// RUN: stepwell-opt %s --verify-diagnostics --split-input-file | filecheck %s
// Each case breaks one numbered constraint.

// (C1) schedule.split: a result for each factor.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %o = schedule.split %i, [?, 4] : !schedule.loop
}
// CHECK: (C1) 1 results for 2 factors

// -----

// (C2) schedule.split: one inferred factor at most.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %o, %p = schedule.split %i, [?, ?] : !schedule.loop, !schedule.loop
}
// CHECK: (C2) more than one factor is inferred

// -----

// (C2) schedule.split: factors are positive.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %o, %p = schedule.split %i, [?, 0] : !schedule.loop, !schedule.loop
}
// CHECK: (C2) factors [-1, 0], expected positive ones

// -----

// (C1) schedule.reorder_block_iter_var: a permutation.
schedule.trace {
  %B = schedule.get_block "B"
  schedule.reorder_block_iter_var %B, [0, 2]
}
// CHECK: (C1) [0, 2] is not a permutation

// -----

// (C1) schedule.reindex: buffers are read or written.
schedule.trace {
  %B = schedule.get_block "B"
  %x = schedule.reindex %B, "reads", 0
}
// CHECK: (C1) buffer side "reads", expected one of read, write

// -----

// (C1) schedule.transform_layout: buffers are read or written.
schedule.trace {
  %B = schedule.get_block "B"
  schedule.transform_layout %B, "output", 0, affine_map<(i) -> (i)>
}
// CHECK: (C1) buffer side "output", expected one of read, write

// -----

// (C1) schedule.set_axis_separator: buffers are read or written.
schedule.trace {
  %B = schedule.get_block "B"
  schedule.set_axis_separator %B, "output", 0, [1]
}
// CHECK: (C1) buffer side "output", expected one of read, write

// -----

// (C1) schedule.blockize: one loop, or blocks.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %x = schedule.blockize [%i, %B]
}
// CHECK: (C1) 1 loops and 1 blocks

// -----

// (C1) schedule.annotate: a value.
"schedule.trace"() ({
  %B = schedule.get_block "B"
  "schedule.annotate"(%B) <{ann_key = "k", operandSegmentSizes = array<i32: 1, 0>}> : (!schedule.block) -> ()
}) : () -> ()
// CHECK: (C1) expected ann_val or ann_number

// -----

// (C2) schedule.transform_layout: a symbol for each parameter.
schedule.trace {
  %B = schedule.get_block "B"
  schedule.transform_layout %B, "write", 0, affine_map<(i)[a] -> (i + a)>
}
// CHECK: (C2) index_map has 1 symbols for 0 parameters

// -----

// (C1) schedule.transform_block_layout: a symbol for each parameter.
schedule.trace {
  %B = schedule.get_block "B"
  %n = schedule.get_size "n"
  schedule.transform_block_layout %B, affine_map<(i) -> (i)>[%n]
}
// CHECK: (C1) index_map has 0 symbols for 1 parameters

// -----

// (C1) schedule.annotate_buffer_access: a symbol for each parameter.
schedule.trace {
  %B = schedule.get_block "B"
  %n = schedule.get_size "n"
  schedule.annotate_buffer_access %B, 0, "read", affine_map<(i) -> (i, i + 1)>[%n]
}
// CHECK: (C1) gen_new_ranges has 0 symbols for 1 parameters

// -----

// (C1) schedule.sample_categorical: a probability for each.
schedule.trace {
  %v = schedule.sample_categorical [16, 64], [1.0]
}
// CHECK: (C1) 1 probabilities for 2 candidates

// -----

// (C2) schedule.sample_categorical: the decision is one of them.
schedule.trace {
  %v = schedule.sample_categorical [16, 64], [0.5, 0.5] {decision = 2}
}
// CHECK: (C2) decision 2, expected one of 0 to 1

// -----

// (C1) schedule.sample_perfect_tile: n results, n decided.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %a, %b = schedule.sample_perfect_tile %i, 3, 16 : i64, i64
}
// CHECK: (C1) 2 results for n = 3

// -----

// (C1) schedule.trace: primitives only.
schedule.trace {
  %c = arith.constant 1 : i32
}
// CHECK: (C1) arith.constant in a trace

// -----

// (C1) schedule.loop_partition: a result for each factor, and one for the rest.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %o, %p = schedule.loop_partition %i, [2, 4] : !schedule.loop, !schedule.loop
}
// CHECK: (C1) 2 results for 2 factors

// -----

// (C2) schedule.loop_partition: factors are positive.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %o, %p = schedule.loop_partition %i, [0] : !schedule.loop, !schedule.loop
}
// CHECK: (C2) factors [0], expected positive ones

// -----

// (C1) schedule.sample_partitioned_tile: n factors.
schedule.trace {
  %B = schedule.get_block "B"
  %i = schedule.get_loops %B : !schedule.loop
  %a, %b = schedule.sample_partitioned_tile %i, 2, 1, 4 {decision = array<i64: 2, 8, 1>} : i64, i64
}
// CHECK: (C1) 3 factors in the decision for n = 2

// -----

// (C1) schedule.reindex_cache_read: a symbol for each parameter.
schedule.trace {
  %B = schedule.get_block "B"
  %x = schedule.reindex_cache_read %B, 0, "local", affine_map<(d0)[s0] -> (d0 floordiv s0)>
}
// CHECK: (C1) index_map has 1 symbols for 0 parameters

// -----

// (C1) schedule.reindex_cache_write: a symbol for each parameter.
schedule.trace {
  %B = schedule.get_block "B"
  %x = schedule.reindex_cache_write %B, 0, "local", affine_map<(d0)[s0] -> (d0 floordiv s0)>
}
// CHECK: (C1) index_map has 1 symbols for 0 parameters
