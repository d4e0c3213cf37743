// RUN: stepwell-opt %s -p "convert-relay-to-te,convert-te-to-tir,tir-schedule-cpu{cpu=avx512}" -t tvmscript | filecheck %s
// RUN: stepwell-opt %s -p "convert-relay-to-te,convert-te-to-tir,tir-schedule-cpu{cpu=avx2}" -t tvmscript | filecheck %s --check-prefix=AVX2

// Rows of the second matrix are vectors, read once for the rows of a tile of the first: 8 x 3 vectors of 16 floats fit
// into the registers of AVX-512, 6 x 2 of 8 into those of AVX2.
relay.func primitive @product("a" %a: tensor<48x24xf32>, "b" %b: tensor<24x96xf32>) {
  %0 = relay.nn.matmul(%a, %b) : (tensor<48x24xf32>, tensor<24x96xf32>) -> tensor<48x96xf32>
  relay.return %0 : tensor<48x96xf32>
}
// CHECK-LABEL: def product
// CHECK:       for i_0, j_0 in T.grid(6, 2):
// CHECK-NEXT:      for i_1_init in T.unroll(8):
// CHECK-NEXT:          for j_1_init in T.unroll(3):
// CHECK-NEXT:              for j_2_init in T.vectorized(16):
// CHECK-NEXT:                  with T.block("T_matmul_init"):
// CHECK:           for k in range(24):
// CHECK-NEXT:          for i_1 in T.unroll(8):
// CHECK-NEXT:              for j_1 in T.unroll(3):
// CHECK-NEXT:                  for j_2 in T.vectorized(16):
// CHECK-NEXT:                      with T.block("T_matmul_update"):
// AVX2-LABEL:  def product
// AVX2:        for i_0, j_0 in T.grid(8, 6):
// AVX2-NEXT:       for i_1_init in T.unroll(6):
// AVX2-NEXT:           for j_1_init in T.unroll(2):
// AVX2-NEXT:               for j_2_init in T.vectorized(8):

// Both are read along the sum: its lanes are summed by themselves, and then added.
relay.func primitive @layer("a" %a: tensor<4x64xf32>, "b" %b: tensor<5x64xf32>) {
  %0 = relay.nn.dense(%a, %b) : (tensor<4x64xf32>, tensor<5x64xf32>) -> tensor<4x5xf32>
  relay.return %0 : tensor<4x5xf32>
}
// CHECK-LABEL: def layer
// CHECK:       T_matmul_NT_rf = T.alloc_buffer((4, 5, 16))
// CHECK:       for ax0_0, ax1_0 in T.grid(2, 1):
// CHECK:           for ax3 in range(4):
// CHECK-NEXT:          for ax1 in T.unroll(2):
// CHECK-NEXT:              for ax2 in T.unroll(5):
// CHECK-NEXT:                  for ax0 in T.vectorized(16):
// CHECK-NEXT:                      with T.block("T_matmul_NT_rf_update"):
// CHECK:           for ax0_1, ax1_1 in T.grid(2, 5):
// CHECK-NEXT:              with T.block("T_matmul_NT_init"):
// CHECK:               for k_1 in T.vectorized(16):
// CHECK-NEXT:              with T.block("T_matmul_NT_update"):

// A sum of few steps stays as it is.
relay.func primitive @columns("a" %a: tensor<3x5xf32>) {
  %0 = relay.sum(%a) {axis = 1} : (tensor<3x5xf32>) -> tensor<3xf32>
  relay.return %0 : tensor<3xf32>
}
// CHECK-LABEL: def columns
// CHECK-NOT:   vectorized

// A whole tensor is summed in four vectors, these in one, and its lanes at the end. The last elements have a predicate.
relay.func primitive @total("a" %a: tensor<1000xf32>) {
  %0 = relay.sum(%a) : (tensor<1000xf32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
// CHECK-LABEL: def total
// CHECK:       T_sum_rf = T.alloc_buffer((64,))
// CHECK-NEXT:  T_sum_rf_1 = T.alloc_buffer((16,))
// CHECK:       for k0_0 in range(16):
// CHECK-NEXT:      for k0_1 in T.vectorized(64):
// CHECK-NEXT:          with T.block("T_sum_rf_update"):
// CHECK:                   T.where(k0_0 * 64 + k0_1 < 1000)

// Elements are vectors.
relay.func primitive @elements("a" %a: tensor<8x40xf32>) {
  %0 = relay.sin(%a) : (tensor<8x40xf32>) -> tensor<8x40xf32>
  relay.return %0 : tensor<8x40xf32>
}
// CHECK-LABEL: def elements
// CHECK:       for ax0, ax1_0 in T.grid(8, 3):
// CHECK-NEXT:      for ax1_1 in T.vectorized(16):

// Squares are copied to registers by rows, and stored by columns.
relay.func primitive @square("a" %a: tensor<64x32xf32>) {
  %0 = relay.transpose(%a) : (tensor<64x32xf32>) -> tensor<32x64xf32>
  relay.return %0 : tensor<32x64xf32>
}
// CHECK-LABEL: def square
// CHECK:       a_local = T.alloc_buffer((64, 32), scope="local")
// CHECK:       for ax0_0, ax1_0 in T.grid(2, 4):
// CHECK-NEXT:      for ax0 in T.unroll(16):
// CHECK-NEXT:          for ax1 in T.vectorized(16):
// CHECK-NEXT:              with T.block("a_local"):
// CHECK:           for ax0_1 in T.unroll(16):
// CHECK-NEXT:          for ax1_1 in T.vectorized(16):
// CHECK-NEXT:              with T.block("T_transpose"):

// All blocks of softmax are in one loop over rows.
relay.func primitive @rows("a" %a: tensor<10x64xf32>) {
  %0 = relay.nn.softmax(%a) : (tensor<10x64xf32>) -> tensor<10x64xf32>
  relay.return %0 : tensor<10x64xf32>
}
// CHECK-LABEL: def rows
// CHECK:       for ax0 in range(10):
// CHECK:                   with T.block("T_max_rf_init"):
// CHECK-NOT:   in range(10)
// CHECK:                   with T.block("T_softmax_norm"):

// The weights of more rows are transposed once, so that the results are vectors.
relay.func primitive @weights("a" %a: tensor<64x24xf32>, "b" %b: tensor<32x24xf32>) {
  %0 = relay.nn.dense(%a, %b) : (tensor<64x24xf32>, tensor<32x24xf32>) -> tensor<64x32xf32>
  relay.return %0 : tensor<64x32xf32>
}
// CHECK-LABEL: def weights
// CHECK:       b_global = T.alloc_buffer((24, 32))
// CHECK:       with T.block("T_matmul_NT_update"):
// CHECK:           T.reads(T_matmul_NT[{{.*}}], a[{{.*}}], b_global[v_k, v_ax1])

// With an activation, too: rows of a product that share the weights are not separated.
relay.func primitive @activated("a" %a: tensor<64x24xf32>, "b" %b: tensor<32x24xf32>) {
  %0 = relay.nn.dense(%a, %b) : (tensor<64x24xf32>, tensor<32x24xf32>) -> tensor<64x32xf32>
  %1 = relay.nn.relu(%0) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  relay.return %1 : tensor<64x32xf32>
}
// CHECK-LABEL: def activated
// CHECK:       b_global = T.alloc_buffer((24, 32))
