// RUN: stepwell-opt %s -p convert-relay-to-te --split-input-file | filecheck %s

// The formulas of a kernel's operators, one after the other, and a number as what each element is.
relay.func primitive @fused_add("p0" %p0: tensor<8xf32>) {
  %0 = relay.constant 1.0 : tensor<f32>
  %1 = relay.add(%p0, %0) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = relay.nn.relu(%1) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    te.func @fused_add attrs {tir.noalias = true, relay.kernel = true} {
// CHECK-NEXT:      %p0 = te.placeholder "p0" [8] : tensor<8xf32>
// CHECK-NEXT:      %T_relu = te.compute "T_relu" (spatial "ax0" %ax0 : i32 in [0 +: 8]) tag "elemwise" : tensor<8xf32> {
// CHECK-NEXT:        %[[v0:\d+]] = te.read %p0[%ax0] : tensor<8xf32>
// CHECK-NEXT:        %[[v1:\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:        %[[v2:\d+]] = arith.addf %[[v0]], %[[v1]] : f32
// CHECK-NEXT:        %[[v3:\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        %[[v4:\d+]] = tir.max %[[v2]], %[[v3]] : f32
// CHECK-NEXT:        te.yield %[[v4]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      te.params %p0 : tensor<8xf32>, %T_relu : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// -----

// A size that no parameter has by itself is a number in front; a result that is a parameter is a copy of it.
relay.func primitive @fused_exp("p0" %p0: tensor<?xf32, #relay.sizes<"2 * n">>) {
  relay.return %p0 : tensor<?xf32, #relay.sizes<"2 * n">>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    te.func @fused_exp attrs {tir.noalias = true, relay.kernel = true} {
// CHECK-NEXT:      %n = tir.symbol "n" : i32
// CHECK-NEXT:      %[[v0:\d+]] = arith.constant 2 : i32
// CHECK-NEXT:      %[[v1:\d+]] = arith.muli %[[v0]], %n : i32
// CHECK-NEXT:      %p0 = te.placeholder "p0" [%[[v1]]] : tensor<?xf32>
// CHECK-NEXT:      %T_copy = te.compute "T_copy" (spatial "ax0" %ax0 : i32 in [0 +: %[[v1]]]) tag "elemwise" : tensor<?xf32> {
// CHECK-NEXT:        %[[v2:\d+]] = te.read %p0[%ax0] : tensor<?xf32>
// CHECK-NEXT:        te.yield %[[v2]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      te.params %p0 : tensor<?xf32>, %T_copy : tensor<?xf32>, %n : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
