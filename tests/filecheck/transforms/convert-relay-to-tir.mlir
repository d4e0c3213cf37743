// RUN: stepwell-opt %s -p convert-relay-to-tir --split-input-file | filecheck %s

// Results are written by what computes them; arrays of constants are parameters, behind the inputs.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.constant "w" : tensor<8xf32>
  %1 = relay.call @k(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.call @k(%1, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>
}
tir.func @k("a" %a: memref<8xf32>, "b" %b: memref<8xf32>, "c" %c: memref<8xf32>) {
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @main("x" %x: memref<8xf32>, "w" %w: memref<8xf32>, "output0" %output0: memref<8xf32>) attrs {tir.is_host_func = true, tir.noalias = true} {
// CHECK-NEXT:      %t = tir.alloc_buffer "t" : memref<8xf32>
// CHECK-NEXT:      tir.call @k(%x, %w, %t) : memref<8xf32>, memref<8xf32>, memref<8xf32>
// CHECK-NEXT:      tir.call @k(%t, %w, %output0) : memref<8xf32>, memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.func @k("a" %a: memref<8xf32>, "b" %b: memref<8xf32>, "c" %c: memref<8xf32>) {
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A tensor with a place stands in the workspace.
relay.func @main("x" %x: tensor<8xf32>) attrs {relay.workspace = 64 : i64} {
  %0 = relay.call @k(%x) attributes {offsets = [0 : i64]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.call @k(%0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %1 : tensor<8xf32>
}
tir.func @k("a" %a: memref<8xf32>, "b" %b: memref<8xf32>) {
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @main("x" %x: memref<8xf32>, "output0" %output0: memref<8xf32>, "workspace" %workspace: memref<64xui8>) attrs {tir.is_host_func = true, tir.noalias = true} {
// CHECK-NEXT:      %[[v0:\d+]] = arith.constant 0 : i32
// CHECK-NEXT:      %[[v1:\d+]] = tir.address_of %workspace[%[[v0]]] : memref<64xui8> -> !tir.handle<ui8>
// CHECK-NEXT:      %t = tir.decl_buffer "t" %[[v1]] : !tir.handle<ui8> -> memref<8xf32>
// CHECK-NEXT:      tir.call @k(%x, %t) : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:      tir.call @k(%t, %output0) : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.func @k("a" %a: memref<8xf32>, "b" %b: memref<8xf32>) {
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Sizes that are not known come with the arguments; a branch writes what it gives.
relay.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) {
  %0 = relay.if %c : tensor<i1> -> tensor<?xf32, #relay.sizes<"n">> {
    %1 = relay.call @k(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
    relay.yield %1 : tensor<?xf32, #relay.sizes<"n">>
  } else {
    %2 = relay.call @copy(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
    relay.yield %2 : tensor<?xf32, #relay.sizes<"n">>
  }
  relay.return %0 : tensor<?xf32, #relay.sizes<"n">>
}
tir.func @k("a" %a: !tir.handle, "b" %b: !tir.handle) {
}
tir.func @copy("a" %a: !tir.handle, "b" %b: !tir.handle) {
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @main("x" %x: !tir.handle, "c" %c: memref<i1>, "output0" %output0: !tir.handle) attrs {tir.is_host_func = true, tir.noalias = true} {
// CHECK-NEXT:      %n = tir.symbol "n" : i32
// CHECK-NEXT:      %x_1 = tir.match_buffer "x" %x dims [%n] : !tir.handle -> memref<?xf32>
// CHECK-NEXT:      %output0_1 = tir.match_buffer "output0" %output0 dims [%n] : !tir.handle -> memref<?xf32>
// CHECK-NEXT:      %[[v0:\d+]] = tir.load %c[] : memref<i1>
// CHECK-NEXT:      tir.if %[[v0]] {
// CHECK-NEXT:        tir.call @k(%x_1, %output0_1) : memref<?xf32>, memref<?xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.call @copy(%x_1, %output0_1) : memref<?xf32>, memref<?xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.func @k("a" %a: !tir.handle, "b" %b: !tir.handle) {
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.func @copy("a" %a: !tir.handle, "b" %b: !tir.handle) {
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// That sizes are within limits is asserted; the caller is to blame if they are not.
relay.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>) attrs {size_limits = ["n <= 64", "2 * n >= 4"]} {
  relay.return
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @main("x" %x: !tir.handle) attrs {tir.is_host_func = true, tir.noalias = true} {
// CHECK-NEXT:      %n = tir.symbol "n" : i32
// CHECK-NEXT:      %{{.*}} = tir.match_buffer "x" %x dims [%n] : !tir.handle -> memref<?xf32>
// CHECK-NEXT:      %{{.*}} = arith.constant 64 : i32
// CHECK-NEXT:      %[[v0:\d+]] = arith.cmpi sle, %n, %{{.*}} : i32
// CHECK-NEXT:      tir.assert %[[v0]], "size n: expected at most 64" {stepwell.argument}
// CHECK-NEXT:      %{{.*}} = arith.constant 2 : i32
// CHECK-NEXT:      %[[v1:\d+]] = arith.muli %{{.*}}, %n : i32
// CHECK-NEXT:      %{{.*}} = arith.constant 4 : i32
// CHECK-NEXT:      %[[v2:\d+]] = arith.cmpi sge, %[[v1]], %{{.*}} : i32
// CHECK-NEXT:      tir.assert %[[v2]], "size 2 * n: expected at least 4" {stepwell.argument}
