// RUN: stepwell-opt %s -p relay-plan-memory --split-input-file | filecheck %s

// The second tensor lives while the first one is read; the third one takes the first one's place. Results have none.
relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
  %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.call @fused_exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.call @fused_exp(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.call @fused_exp(%2) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %3 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>) attrs {relay.workspace = 128 : i64, relay.unshared_workspace = 192 : i64} {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_exp(%x) attributes {offsets = [0 : i64]} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.call @fused_exp(%[[v0]]) attributes {offsets = [64 : i64]} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.call @fused_exp(%[[v1]]) attributes {offsets = [0 : i64]} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.call @fused_exp(%[[v2]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v3]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A tensor in a branch has no place, one whose size is not known is in a dynamic workspace; what a branch reads lives until
// it is over.
relay.func primitive @fused_exp("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
  %0 = relay.exp(%p0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"n">>
}
relay.func primitive @fused_sum("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
  %0 = relay.sum(%p0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) {
  %0 = relay.call @fused_exp(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %1 = relay.call @fused_sum(%0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
  %2 = relay.if %c : tensor<i1> -> tensor<f32> {
    relay.yield %1 : tensor<f32>
  } else {
    %3 = relay.call @fused_sum(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
    relay.yield %3 : tensor<f32>
  }
  relay.return %2 : tensor<f32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_exp("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%p0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func primitive @fused_sum("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.sum(%p0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) attrs {relay.workspace = 64 : i64, relay.unshared_workspace = 64 : i64, relay.dynamic_workspaces = {{\[\[}}64 : i64, "n"{{\]\]}}} {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_exp(%x) attributes {dynamic_offsets = {{\[\[}}0 : i64, 0 : i64{{\]\]}}} : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v1:\d+]] = relay.call @fused_sum(%[[v0]]) attributes {offsets = [0 : i64]} : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.if %c : tensor<i1> -> tensor<f32> {
// CHECK-NEXT:        relay.yield %[[v1]] : tensor<f32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[v3:\d+]] = relay.call @fused_sum(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
// CHECK-NEXT:        relay.yield %[[v3]] : tensor<f32>
// CHECK-NEXT:      }
// CHECK-NEXT:      relay.return %[[v2]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A tensor of dynamic size is planned for the upper bounds of its sizes.
relay.func primitive @fused_concatenate("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
  %0 = relay.concatenate(%p0, %p0) : (tensor<?xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"2 * n">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"2 * n">>
}
relay.func primitive @fused_sum("p0" %p0: tensor<?xf32, #relay.sizes<"2 * n">>) {
  %0 = relay.sum(%p0) : (tensor<?xf32, #relay.sizes<"2 * n">>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>) attrs {tir_var_upper_bound = {n = 40 : i64}} {
  %0 = relay.call @fused_concatenate(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"2 * n">>
  %1 = relay.call @fused_sum(%0) : (tensor<?xf32, #relay.sizes<"2 * n">>) -> tensor<f32>
  relay.return %1 : tensor<f32>
}
// CHECK:      relay.func @main({{.*}} attrs {tir_var_upper_bound = {n = 40 : i64}, relay.workspace = 320 : i64, relay.unshared_workspace = 320 : i64} {
// CHECK-NEXT:   relay.call @fused_concatenate(%x) attributes {offsets = [0 : i64]} :

// -----

// A call that only reshapes a tensor with a place is a view of it, and so is a call that reshapes the view. The place lives
// until the last reader of a view. A result, and what reshapes a parameter, are computed.
relay.func primitive @fused_exp("p0" %p0: tensor<4x32xf32>) {
  %0 = relay.exp(%p0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  relay.return %0 : tensor<4x32xf32>
}
relay.func primitive @fused_reshape("p0" %p0: tensor<4x32xf32>) {
  %0 = relay.reshape(%p0) {newshape = [1, 128]} : (tensor<4x32xf32>) -> tensor<1x128xf32>
  relay.return %0 : tensor<1x128xf32>
}
relay.func primitive @fused_squeeze_reshape("p0" %p0: tensor<1x128xf32>) {
  %0 = relay.squeeze(%p0) {axis = [0]} : (tensor<1x128xf32>) -> tensor<128xf32>
  %1 = relay.reshape(%0) {newshape = [4, 32]} : (tensor<128xf32>) -> tensor<4x32xf32>
  relay.return %1 : tensor<4x32xf32>
}
relay.func primitive @fused_reshape_exp("p0" %p0: tensor<4x32xf32>) {
  %0 = relay.reshape(%p0) {newshape = [1, 128]} : (tensor<4x32xf32>) -> tensor<1x128xf32>
  %1 = relay.exp(%0) : (tensor<1x128xf32>) -> tensor<1x128xf32>
  relay.return %1 : tensor<1x128xf32>
}
relay.func @views("x" %x: tensor<4x32xf32>) {
  %0 = relay.call @fused_exp(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = relay.call @fused_reshape(%0) : (tensor<4x32xf32>) -> tensor<1x128xf32>
  %2 = relay.call @fused_squeeze_reshape(%1) : (tensor<1x128xf32>) -> tensor<4x32xf32>
  %3 = relay.call @fused_reshape_exp(%x) : (tensor<4x32xf32>) -> tensor<1x128xf32>
  %4 = relay.call @fused_exp(%2) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %5 = relay.call @fused_reshape(%x) : (tensor<4x32xf32>) -> tensor<1x128xf32>
  %6 = relay.call @fused_squeeze_reshape(%3) : (tensor<1x128xf32>) -> tensor<4x32xf32>
  relay.return %4 : tensor<4x32xf32>, %5 : tensor<1x128xf32>, %6 : tensor<4x32xf32>
}
// CHECK:         relay.func @views("x" %x: tensor<4x32xf32>) attrs {relay.workspace = 1024 : i64, relay.unshared_workspace = 1024 : i64} {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_exp(%x) attributes {offsets = [0 : i64]}
// CHECK-NEXT:      %[[v1:\d+]] = relay.call @fused_reshape(%[[v0]]) attributes {offsets = [0 : i64], view}
// CHECK-NEXT:      %[[v2:\d+]] = relay.call @fused_squeeze_reshape(%[[v1]]) attributes {offsets = [0 : i64], view}
// CHECK-NEXT:      %[[v3:\d+]] = relay.call @fused_reshape_exp(%x) attributes {offsets = [512 : i64]}
// CHECK-NEXT:      %[[v4:\d+]] = relay.call @fused_exp(%[[v2]]) : (
// CHECK-NEXT:      %[[v5:\d+]] = relay.call @fused_reshape(%x) : (
// CHECK-NEXT:      %[[v6:\d+]] = relay.call @fused_squeeze_reshape(%[[v3]]) : (

// -----

// Tensors whose bytes are multiples of one product of sizes share a dynamic workspace; a reshape is a view.
relay.func primitive @fused_exp("p0" %p0: tensor<?x4x?xf32, #relay.sizes<"n", "m">>) {
  %0 = relay.exp(%p0) : (tensor<?x4x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x4x?xf32, #relay.sizes<"n", "m">>
  relay.return %0 : tensor<?x4x?xf32, #relay.sizes<"n", "m">>
}
relay.func primitive @fused_reshape("p0" %p0: tensor<?x4x?xf32, #relay.sizes<"n", "m">>) {
  %0 = relay.reshape(%p0) {newshape = [-1, 4]} : (tensor<?x4x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x4xf32, #relay.sizes<"m * n">>
  relay.return %0 : tensor<?x4xf32, #relay.sizes<"m * n">>
}
relay.func primitive @fused_sum("p0" %p0: tensor<?x4xf32, #relay.sizes<"m * n">>) {
  %0 = relay.sum(%p0) {axis = [1]} : (tensor<?x4xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"m * n">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"m * n">>
}
relay.func primitive @fused_cos("p0" %p0: tensor<?xf32, #relay.sizes<"m * n">>) {
  %0 = relay.cos(%p0) : (tensor<?xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"m * n">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"m * n">>
}
relay.func @main("x" %x: tensor<?x4x?xf32, #relay.sizes<"n", "m">>) {
  %0 = relay.call @fused_exp(%x) : (tensor<?x4x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x4x?xf32, #relay.sizes<"n", "m">>
  %1 = relay.call @fused_exp(%0) : (tensor<?x4x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x4x?xf32, #relay.sizes<"n", "m">>
  %2 = relay.call @fused_reshape(%1) : (tensor<?x4x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x4xf32, #relay.sizes<"m * n">>
  %3 = relay.call @fused_sum(%2) : (tensor<?x4xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"m * n">>
  %4 = relay.call @fused_cos(%3) : (tensor<?xf32, #relay.sizes<"m * n">>) -> tensor<?xf32, #relay.sizes<"m * n">>
  relay.return %4 : tensor<?xf32, #relay.sizes<"m * n">>
}
// CHECK:         relay.func @main({{.*}}relay.workspace = 0 : i64, relay.unshared_workspace = 0 : i64, relay.dynamic_workspaces = {{\[\[}}128 : i64, "m", "n"{{\]\]}}} {
// CHECK-NEXT:      relay.call @fused_exp({{.*}}) attributes {dynamic_offsets = {{\[\[}}0 : i64, 0 : i64{{\]\]}}}
// CHECK-NEXT:      relay.call @fused_exp({{.*}}) attributes {dynamic_offsets = {{\[\[}}0 : i64, 64 : i64{{\]\]}}}
// CHECK-NEXT:      relay.call @fused_reshape({{.*}}) attributes {dynamic_offsets = {{\[\[}}0 : i64, 64 : i64{{\]\]}}, view}
// CHECK-NEXT:      relay.call @fused_sum({{.*}}) attributes {dynamic_offsets = {{\[\[}}0 : i64, 0 : i64{{\]\]}}}
// CHECK-NEXT:      relay.call @fused_cos(
