// RUN: stepwell-opt %s -p convert-relay-to-te,convert-te-to-tir,tir-schedule-kernels -t tvmscript | filecheck %s

// Rows of the second matrix are vectors, read once for eight rows of the first.
relay.func primitive @product("a" %a: tensor<16x24xf32>, "b" %b: tensor<24x32xf32>) {
  %0 = relay.nn.matmul(%a, %b) : (tensor<16x24xf32>, tensor<24x32xf32>) -> tensor<16x32xf32>
  relay.return %0 : tensor<16x32xf32>
}
// CHECK-LABEL: def product
// CHECK:       for i_0, j_0 in T.grid(2, 2):
// CHECK-NEXT:      for i_1_init in T.unroll(8):
// CHECK-NEXT:          for j_1_init in T.vectorized(16):
// CHECK-NEXT:              with T.block("T_matmul_init"):
// CHECK:           for k in range(24):
// CHECK-NEXT:          for i_1 in T.unroll(8):
// CHECK-NEXT:              for j_1 in T.vectorized(16):
// CHECK-NEXT:                  with T.block("T_matmul_update"):

// Both are read along the sum: its lanes are summed by themselves, and then added.
relay.func primitive @layer("a" %a: tensor<4x64xf32>, "b" %b: tensor<5x64xf32>) {
  %0 = relay.nn.dense(%a, %b) : (tensor<4x64xf32>, tensor<5x64xf32>) -> tensor<4x5xf32>
  relay.return %0 : tensor<4x5xf32>
}
// CHECK-LABEL: def layer
// CHECK:       T_matmul_NT_rf = T.alloc_buffer((4, 5, 16))
// CHECK:       for ax0_0, ax1 in T.grid(1, 5):
// CHECK:           for ax2 in range(4):
// CHECK-NEXT:          for ax1_1 in T.unroll(4):
// CHECK-NEXT:              for ax0 in T.vectorized(16):
// CHECK-NEXT:                  with T.block("T_matmul_NT_rf_update"):
// CHECK:           for ax0_1, k_1 in T.grid(4, 16):
// CHECK-NEXT:          with T.block("T_matmul_NT"):

// A sum of few steps stays as it is.
relay.func primitive @columns("a" %a: tensor<3x5xf32>) {
  %0 = relay.sum(%a) {axis = 1} : (tensor<3x5xf32>) -> tensor<3xf32>
  relay.return %0 : tensor<3xf32>
}
// CHECK-LABEL: def columns
// CHECK-NOT:   vectorized
