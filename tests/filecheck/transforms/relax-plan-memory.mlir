// RUN: stepwell-opt %s -p relax-plan-memory --split-input-file | filecheck %s

// Memory is planned for 8 rows; the third tensor takes the first one's place. Results of the function have none.
relax.func @main("x" %x: tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">> attrs {tir_var_upper_bound = {n = 8 : i64}} {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  %1 = relax.call_dps_packed "f"(%0) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  %2 = relax.call_dps_packed "f"(%1) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  %3 = relax.call_dps_packed "f"(%2) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  relax.return %3 : tensor<?x4xf32, #relay.sizes<"n">>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relax.func @main("x" %x: tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">> attrs {tir_var_upper_bound = {n = 8 : i64}, relay.workspace = 256 : i64, relay.unshared_workspace = 384 : i64} {
// CHECK-NEXT:      %[[v0:\d+]] = relax.call_dps_packed "f"(%x) attributes {offsets = [0 : i64]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v1:\d+]] = relax.call_dps_packed "f"(%[[v0]]) attributes {offsets = [128 : i64]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v2:\d+]] = relax.call_dps_packed "f"(%[[v1]]) attributes {offsets = [0 : i64]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v3:\d+]] = relax.call_dps_packed "f"(%[[v2]]) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
// CHECK-NEXT:      relax.return %[[v3]] : tensor<?x4xf32, #relay.sizes<"n">>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// `n - 1` elements are at most 32 by the bound of n; `m * n` have no bound, because m has none. A tensor that is an
// operand of a packed function with a result has no place: the function may return or keep it.
relax.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "y" %y: tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"n">> attrs {tir_var_upper_bound = {n = 33 : i64}} {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n - 1">>
  %1 = relax.call_dps_packed "f"(%0) : (tensor<?xf32, #relay.sizes<"n - 1">>) -> tensor<?xf32, #relay.sizes<"m * n">>
  %2 = relax.call_dps_packed "f"(%1) : (tensor<?xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %3 = relax.call_pure_packed "g"(%2) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  relax.return %3 : tensor<?xf32, #relay.sizes<"n">>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relax.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "y" %y: tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"n">> attrs {tir_var_upper_bound = {n = 33 : i64}, relay.workspace = 128 : i64, relay.unshared_workspace = 128 : i64} {
// CHECK-NEXT:      %[[v0:\d+]] = relax.call_dps_packed "f"(%x) attributes {offsets = [0 : i64]} : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n - 1">>
// CHECK-NEXT:      %[[v1:\d+]] = relax.call_dps_packed "f"(%[[v0]]) : (tensor<?xf32, #relay.sizes<"n - 1">>) -> tensor<?xf32, #relay.sizes<"m * n">>
// CHECK-NEXT:      %[[v2:\d+]] = relax.call_dps_packed "f"(%[[v1]]) : (tensor<?xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v3:\d+]] = relax.call_pure_packed "g"(%[[v2]]) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:      relax.return %[[v3]] : tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A function without bounds has no memory of its own.
relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relax.call_dps_packed "f"(%0) : (tensor<8xf32>) -> tensor<8xf32>
  relax.return %1 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:      %[[v0:\d+]] = relax.call_dps_packed "f"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relax.call_dps_packed "f"(%[[v0]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relax.return %[[v1]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A branch reads a tensor of the memory; tensors that it computes itself have no place.
relax.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "y" %y: tensor<?xf32, #relay.sizes<"m">>, "c" %c: tensor<i1>) -> tensor<f32> attrs {tir_var_upper_bound = {n = 8 : i64}} {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %1 = relax.call_pure_packed "same"(%0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %2 = relax.call_dps_packed "f"(%y) : (tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"m">>
  %3 = relax.call_dps_packed "g"(%1, %2) : (tensor<?xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"m">>) -> tensor<2xf32>
  %4 = relax.if %c : tensor<i1> -> tensor<f32> {
    %5 = relax.call_dps_packed "h"(%3) : (tensor<2xf32>) -> tensor<f32>
    relax.yield %5 : tensor<f32>
  } else {
    %5 = relax.call_dps_packed "k"(%3) : (tensor<2xf32>) -> tensor<f32>
    relax.yield %5 : tensor<f32>
  }
  relax.return %4 : tensor<f32>
}
// CHECK:      relax.func @main({{.*}} relay.workspace = 64 : i64
// CHECK-NEXT:   relax.call_dps_packed "f"(%x) : (tensor
// CHECK:        relax.call_dps_packed "f"(%y) : (tensor
// CHECK:        relax.call_dps_packed "g"({{.*}}) attributes {offsets = [0 : i64]} : (tensor
// CHECK-NOT:    offsets
