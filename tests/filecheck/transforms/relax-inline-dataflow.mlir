// RUN: stepwell-opt %s -p relax-inline-dataflow | filecheck %s

// The operations of a region take its place.
relax.func @main("x" %x: tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>> {
  %0, %1 = relax.dataflow -> tensor<8xf32>, tensor<8xf32> {
    %2 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
    relax.output %2 : tensor<8xf32>, %x : tensor<8xf32>
  }
  %3 = relax.tuple(%0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
  relax.return %3 : tuple<tensor<8xf32>, tensor<8xf32>>
}
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<8xf32>)
// CHECK-NEXT:   %[[E:.+]] = relay.exp(%[[X]])
// CHECK-NEXT:   %[[T:.+]] = relax.tuple(%[[E]], %[[X]])
// CHECK-NEXT:   relax.return %[[T]]

// A function without regions is unchanged.
relax.func @none("x" %x: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32>
}
// CHECK:      relax.func @none
// CHECK-NEXT:   relax.return

// A region without outputs vanishes.
relax.func @empty("x" %x: tensor<8xf32>) -> tensor<8xf32> {
  relax.dataflow {
    relax.output
  }
  relax.return %x : tensor<8xf32>
}
// CHECK:      relax.func @empty
// CHECK-NEXT:   relax.return
