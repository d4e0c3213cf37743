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
// -----

// Bytes that are computed from sums of bytes of channels stay, and what is computed from them does not.
relay.func primitive @fused_conv("p0" %p0: tensor<1x4x2x3xui8>, "p1" %p1: tensor<1x1x1x1x64xi8>) {
  %0 = relay.nn.contrib_conv2d_pack_int8(%p0, %p1) {channels = 16}
      : (tensor<1x4x2x3xui8>, tensor<1x1x1x1x64xi8>) -> tensor<1x16x2x3xi32>
  %1 = relay.cast(%0) {dtype = "int8"} : (tensor<1x16x2x3xi32>) -> tensor<1x16x2x3xi8>
  %2 = relay.cast(%1) {dtype = "float32"} : (tensor<1x16x2x3xi8>) -> tensor<1x16x2x3xf32>
  %3 = relay.nn.relu(%2) : (tensor<1x16x2x3xf32>) -> tensor<1x16x2x3xf32>
  %4 = relay.cast(%3) {dtype = "int8"} : (tensor<1x16x2x3xf32>) -> tensor<1x16x2x3xi8>
  relay.return %4 : tensor<1x16x2x3xi8>
}
// CHECK:       te.func @fused_conv
// CHECK:         %conv_blocks = te.compute
// CHECK:         %T_cast = te.compute "T_cast" ({{.*}}) tag "elemwise" annotations {meta_schedule.inline_rule = "disable"} : tensor<1x16x2x3xi8>
// CHECK:         %[[LAST:.+]] = te.compute "T_cast" ({{.*}}) tag "elemwise" : tensor<1x16x2x3xi8>
// CHECK-NOT:     te.compute
// CHECK:         te.params %p0 : tensor<1x4x2x3xui8>, %p1 : tensor<1x1x1x1x64xi8>, %[[LAST]] : tensor<1x16x2x3xi8>
