// RUN: stepwell-opt %s -p relay-simplify --split-input-file | filecheck %s

// Adding and subtracting 0, multiplying and dividing by 1. -0.0 + 0.0 is 0.0, so a sum of floats with 0.0 stays, but for
// numbers that are no -0.0.
relay.func @main("x" %x: tensor<8xf32>, "y" %y: tensor<8xi32>) {
  %zero = relay.constant 0.0 : tensor<f32>
  %nzero = relay.constant -0.0 : tensor<8xf32>
  %one = relay.constant 1.0 : tensor<f32>
  %z = relay.constant 0 : tensor<i32>
  %o = relay.constant 1 : tensor<i32>
  %0 = relay.subtract(%x, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = relay.add(%nzero, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.multiply(%1, %one) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = relay.divide(%2, %one) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = relay.add(%3, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = relay.abs(%3) : (tensor<8xf32>) -> tensor<8xf32>
  %6 = relay.add(%5, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = relay.add(%y, %z) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  %8 = relay.multiply(%o, %7) : (tensor<i32>, tensor<8xi32>) -> tensor<8xi32>
  %9 = relay.divide(%8, %o) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  relay.return %4 : tensor<8xf32>, %6 : tensor<8xf32>, %9 : tensor<8xi32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>, "y" %y: tensor<8xi32>) {
// CHECK-NEXT:      %zero = relay.constant 0.0 : tensor<f32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.add(%x, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.abs(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>, %[[v1]] : tensor<8xf32>, %y : tensor<8xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What makes a tensor larger stays, and so does 1 divided by something.
relay.func @main("x" %x: tensor<f32>) {
  %one = relay.constant 1.0 : tensor<8xf32>
  %0 = relay.multiply(%x, %one) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.divide(%one, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  relay.return %1 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<f32>) {
// CHECK-NEXT:      %one = relay.constant 1.0 : tensor<8xf32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.multiply(%x, %one) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.divide(%one, %[[v0]]) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What undoes itself, and what does nothing the second time.
relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<8xi1>) {
  %0 = relay.negative(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.negative(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.reverse(%1) {axis = 0} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.reverse(%2) {axis = 0} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.nn.relu(%3) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = relay.nn.relu(%4) : (tensor<8xf32>) -> tensor<8xf32>
  %6 = relay.floor(%5) : (tensor<8xf32>) -> tensor<8xf32>
  %7 = relay.floor(%6) : (tensor<8xf32>) -> tensor<8xf32>
  %a = relay.copy(%7) : (tensor<8xf32>) -> tensor<8xf32>
  %8 = relay.logical_not(%c) : (tensor<8xi1>) -> tensor<8xi1>
  %9 = relay.logical_not(%8) : (tensor<8xi1>) -> tensor<8xi1>
  relay.return %a : tensor<8xf32>, %9 : tensor<8xi1>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<8xi1>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %a = relay.floor(%[[v0]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %a : tensor<8xf32>, %c : tensor<8xi1>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Bounds of bounds; zeros, which have signs, and bounds that exclude each other stay. Behind positive ones relu does nothing.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.clip(%x) {a_min = -4.0, a_max = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.clip(%0) {a_min = -2.0, a_max = 8.0} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.clip(%1) {a_min = 0.0, a_max = 5.0} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.clip(%x) {a_min = 1.0, a_max = 2.0} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.nn.relu(%3) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = relay.clip(%4) {a_min = 3.0, a_max = 4.0} : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>, %5 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.clip(%x) {a_min = -2.0, a_max = 6.0} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.clip(%[[v0]]) {a_min = 0.0, a_max = 5.0} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.clip(%x) {a_min = 1.0, a_max = 2.0} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.clip(%[[v2]]) {a_min = 3.0, a_max = 4.0} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<8xf32>, %[[v3]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Casts of casts, through what has all numbers of the first type; where integers would wrap and floats do not, both stay.
relay.func @main("x" %x: tensor<8xi8>, "y" %y: tensor<8xf32>) {
  %0 = relay.cast(%x) {dtype = "float32"} : (tensor<8xi8>) -> tensor<8xf32>
  %1 = relay.cast(%0) {dtype = "int16"} : (tensor<8xf32>) -> tensor<8xi16>
  %2 = relay.cast(%0) {dtype = "uint8"} : (tensor<8xf32>) -> tensor<8xui8>
  %3 = relay.cast(%y) {dtype = "float64"} : (tensor<8xf32>) -> tensor<8xf64>
  %4 = relay.cast(%3) {dtype = "float32"} : (tensor<8xf64>) -> tensor<8xf32>
  %5 = relay.cast(%y) {dtype = "float16"} : (tensor<8xf32>) -> tensor<8xf16>
  %6 = relay.cast(%5) {dtype = "float32"} : (tensor<8xf16>) -> tensor<8xf32>
  %7 = relay.cast(%6) {dtype = "float32"} : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %1 : tensor<8xi16>, %2 : tensor<8xui8>, %4 : tensor<8xf32>, %7 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xi8>, "y" %y: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.cast(%x) {dtype = "float32"} : (tensor<8xi8>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.cast(%x) {dtype = "int16"} : (tensor<8xi8>) -> tensor<8xi16>
// CHECK-NEXT:      %[[v2:\d+]] = relay.cast(%[[v0]]) {dtype = "uint8"} : (tensor<8xf32>) -> tensor<8xui8>
// CHECK-NEXT:      %[[v3:\d+]] = relay.cast(%y) {dtype = "float16"} : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT:      %[[v4:\d+]] = relay.cast(%[[v3]]) {dtype = "float32"} : (tensor<8xf16>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<8xi16>, %[[v2]] : tensor<8xui8>, %y : tensor<8xf32>, %[[v4]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Transposes of transposes, none at all, and those that only move extents of 1, which are reshapes.
relay.func @main("x" %x: tensor<2x3x4xf32>, "y" %y: tensor<1x3x4xf32>) {
  %0 = relay.transpose(%x) : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = relay.transpose(%0) {axes = [1, 0, 2]} : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %2 = relay.transpose(%0) : (tensor<4x3x2xf32>) -> tensor<2x3x4xf32>
  %3 = relay.transpose(%y) {axes = [1, 2, 0]} : (tensor<1x3x4xf32>) -> tensor<3x4x1xf32>
  relay.return %1 : tensor<3x4x2xf32>, %2 : tensor<2x3x4xf32>, %3 : tensor<3x4x1xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3x4xf32>, "y" %y: tensor<1x3x4xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.transpose(%x) {axes = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.reshape(%y) {newshape = [3, 4, 1]} : (tensor<1x3x4xf32>) -> tensor<3x4x1xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<3x4x2xf32>, %x : tensor<2x3x4xf32>, %[[v1]] : tensor<3x4x1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Reshapes of reshapes, and those to the shape that is there; sizes that are not known are what is left, if it is one.
relay.func @main("x" %x: tensor<2x6xf32>, "y" %y: tensor<?x4xf32, #relay.sizes<"n">>, "z" %z: tensor<?x?xf32, #relay.sizes<"n", "m">>) {
  %0 = relay.reshape(%x) {newshape = [-1]} : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = relay.reshape(%0) {newshape = [3, 4]} : (tensor<12xf32>) -> tensor<3x4xf32>
  %2 = relay.expand_dims(%1) {axis = 0} : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
  %3 = relay.squeeze(%2) : (tensor<1x3x4xf32>) -> tensor<3x4xf32>
  %4 = relay.expand_dims(%y) {axis = 1} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x1x4xf32, #relay.sizes<"n">>
  %5 = relay.reshape(%4) {newshape = [0, 2, 2]} : (tensor<?x1x4xf32, #relay.sizes<"n">>) -> tensor<?x2x2xf32, #relay.sizes<"n">>
  %6 = relay.expand_dims(%z) {axis = 0} : (tensor<?x?xf32, #relay.sizes<"n", "m">>) -> tensor<1x?x?xf32, #relay.sizes<"n", "m">>
  %7 = relay.reshape(%6) {newshape = [-3, 0, 1]} : (tensor<1x?x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x?x1xf32, #relay.sizes<"n", "m">>
  %8 = relay.broadcast_to(%3) {shape = [3, 4]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  relay.return %8 : tensor<3x4xf32>, %5 : tensor<?x2x2xf32, #relay.sizes<"n">>, %7 : tensor<?x?x1xf32, #relay.sizes<"n", "m">>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x6xf32>, "y" %y: tensor<?x4xf32, #relay.sizes<"n">>, "z" %z: tensor<?x?xf32, #relay.sizes<"n", "m">>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.reshape(%x) {newshape = [3, 4]} : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.reshape(%y) {newshape = [-1, 2, 2]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x2x2xf32, #relay.sizes<"n">>
// CHECK-NEXT:      %[[v2:\d+]] = relay.expand_dims(%z) {axis = 0} : (tensor<?x?xf32, #relay.sizes<"n", "m">>) -> tensor<1x?x?xf32, #relay.sizes<"n", "m">>
// CHECK-NEXT:      %[[v3:\d+]] = relay.reshape(%[[v2]]) {newshape = [-3, 0, 1]} : (tensor<1x?x?xf32, #relay.sizes<"n", "m">>) -> tensor<?x?x1xf32, #relay.sizes<"n", "m">>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<3x4xf32>, %[[v1]] : tensor<?x2x2xf32, #relay.sizes<"n">>, %[[v3]] : tensor<?x?x1xf32, #relay.sizes<"n", "m">>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A slice of all, but not in the reverse order; one tensor together, and tensors without elements.
relay.func @main("x" %x: tensor<2x3xf32>, "e" %e: tensor<0x3xf32>) {
  %0 = relay.strided_slice(%x) {begin = [0], end = [2]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.strided_slice(%x) {begin = [1], end = [-3], strides = [-1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.concatenate(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = relay.concatenate(%e, %2, %e) : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  relay.return %3 : tensor<2x3xf32>, %1 : tensor<2x3xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>, "e" %e: tensor<0x3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.strided_slice(%x) {begin = [1], end = [-3], strides = [-1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:      relay.return %x : tensor<2x3xf32>, %[[v0]] : tensor<2x3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Products with transposes; transposes of constants are left to relay-fold-constants.
relay.func @main("x" %x: tensor<2x3xf32>, "y" %y: tensor<3x4xf32>, "z" %z: tensor<5x3x4xf32>, "w" %w: tensor<5x2x3xf32>) {
  %0 = relay.transpose(%y) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.dense(%x, %0) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.matmul(%x, %0) {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3 = relay.transpose(%z) {axes = [0, 2, 1]} : (tensor<5x3x4xf32>) -> tensor<5x4x3xf32>
  %4 = relay.nn.batch_matmul(%w, %3) : (tensor<5x2x3xf32>, tensor<5x4x3xf32>) -> tensor<5x2x4xf32>
  %c = relay.constant "c" : tensor<3x4xf32>
  %5 = relay.transpose(%c) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %6 = relay.nn.dense(%x, %5) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  relay.return %1 : tensor<2x4xf32>, %2 : tensor<2x4xf32>, %4 : tensor<5x2x4xf32>, %6 : tensor<2x4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>, "y" %y: tensor<3x4xf32>, "z" %z: tensor<5x3x4xf32>, "w" %w: tensor<5x2x3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.matmul(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.nn.matmul(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.batch_matmul(%w, %z) {transpose_b = false} : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT:      %c = relay.constant "c" : tensor<3x4xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.transpose(%c) : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.nn.dense(%x, %[[v3]]) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<2x4xf32>, %[[v1]] : tensor<2x4xf32>, %[[v2]] : tensor<5x2x4xf32>, %[[v4]] : tensor<2x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Zeros around an image are padding of what reads it; for a mean they count as elements. Other numbers
// stay.
relay.func @main("x" %x: tensor<1x2x4x4xf32>, "w" %w: tensor<2x2x3x3xf32>) {
  %0 = relay.nn.pad(%x) {pad_width = [[0, 0], [0, 0], [1, 0], [1, 0]]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x5x5xf32>
  %1 = relay.nn.pad(%0) {pad_width = [[0, 0], [0, 0], [0, 1], [0, 1]]} : (tensor<1x2x5x5xf32>) -> tensor<1x2x6x6xf32>
  %2 = relay.nn.conv2d(%1, %w) {padding = [1, 1]} : (tensor<1x2x6x6xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x6xf32>
  %3 = relay.nn.avg_pool2d(%1) {pool_size = 2} : (tensor<1x2x6x6xf32>) -> tensor<1x2x5x5xf32>
  %4 = relay.nn.max_pool2d(%1) {pool_size = 2} : (tensor<1x2x6x6xf32>) -> tensor<1x2x5x5xf32>
  %5 = relay.nn.pad(%x) {pad_width = [[0, 0], [0, 0], [1, 1], [1, 1]], pad_value = neg_inf} : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32>
  %6 = relay.nn.max_pool2d(%5) {pool_size = 2} : (tensor<1x2x6x6xf32>) -> tensor<1x2x5x5xf32>
  %7 = relay.nn.pad(%6) {pad_width = [[0, 0], [0, 0], [0, 0], [0, 0]]} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  relay.return %2 : tensor<1x2x6x6xf32>, %3 : tensor<1x2x5x5xf32>, %4 : tensor<1x2x5x5xf32>, %7 : tensor<1x2x5x5xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<1x2x4x4xf32>, "w" %w: tensor<2x2x3x3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.pad(%x) {pad_width = [[0, 0], [0, 0], [1, 1], [1, 1]]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x6x6xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.nn.conv2d(%x, %w) {padding = [2, 2, 2, 2]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x6xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.avg_pool2d(%x) {pool_size = 2, padding = [1, 1, 1, 1], count_include_pad = true} : (tensor<1x2x4x4xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.nn.max_pool2d(%[[v0]]) {pool_size = 2} : (tensor<1x2x6x6xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.nn.max_pool2d(%x) {pool_size = 2, padding = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<1x2x6x6xf32>, %[[v2]] : tensor<1x2x5x5xf32>, %[[v3]] : tensor<1x2x5x5xf32>, %[[v4]] : tensor<1x2x5x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
