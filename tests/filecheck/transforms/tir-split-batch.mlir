// RUN: stepwell-opt %s -p tir-split-batch | filecheck %s

// Tiles of all items along one axis become the tiles of an item.
tir.func @scale("a" %a: !tir.handle, "B" %B: memref<500xf32>, "c" %c: !tir.handle) attrs {relay.kernel = true, tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?x500x8xf32>
  %C = tir.match_buffer "C" %c dims [%n] : !tir.handle -> memref<?x500x8xf32>
  %two = arith.constant 2 : i32
  %tiles = arith.muli %n, %two : i32
  %T = tir.alloc_buffer "T" dims [%tiles] : memref<500x?x4xf32>
  %two.1 = arith.constant 2 : i32
  %tiles.1 = arith.muli %n, %two.1 : i32
  tir.for serial "j" %j : i32 in [0 +: 500] {
    tir.for serial "t" %t : i32 in [0 +: %tiles.1] {
      tir.for serial "k" %k : i32 in [0 +: 4] {
        tir.block "T" (spatial "vj" %vj : i32 in [0 +: 500] = %j, spatial "vt" %vt : i32 in [0 +: %tiles.1] = %t, spatial "vk" %vk : i32 in [0 +: 4] = %k) {
          tir.access writes %T[%vj, %vt, %vk] : memref<500x?x4xf32>
          %d = arith.constant 2 : i32
          %i = arith.floordivsi %vt, %d : i32
          %e = arith.constant 2 : i32
          %r = tir.floormod %vt, %e : i32
          %f = arith.constant 4 : i32
          %s = arith.muli %r, %f : i32
          %x = arith.addi %s, %vk : i32
          %v = tir.load %A[%i, %vj, %x] : memref<?x500x8xf32>
          tir.store %v, %T[%vj, %vt, %vk] : memref<500x?x4xf32>
        }
      }
    }
  }
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: 500] {
      tir.for serial "x" %x : i32 in [0 +: 8] {
        tir.block "C" (spatial "vi" %vi : i32 in [0 +: %n] = %i, spatial "vj" %vj : i32 in [0 +: 500] = %j, spatial "vx" %vx : i32 in [0 +: 8] = %x) {
          tir.access writes %C[%vi, %vj, %vx] : memref<?x500x8xf32>
          %d = arith.constant 2 : i32
          %p = arith.muli %vi, %d : i32
          %f = arith.constant 4 : i32
          %q = arith.floordivsi %vx, %f : i32
          %t = arith.addi %p, %q : i32
          %g = arith.constant 4 : i32
          %k = tir.floormod %vx, %g : i32
          %v = tir.load %T[%vj, %t, %k] : memref<500x?x4xf32>
          %b = tir.load %B[%vj] : memref<500xf32>
          %w = arith.mulf %v, %b : f32
          tir.store %w, %C[%vi, %vj, %vx] : memref<?x500x8xf32>
        }
      }
    }
  }
}
// CHECK:       tir.func private @scale.item("a" %A: memref<1x500x8xf32>, "B" %B: memref<500xf32>, "c" %C: memref<1x500x8xf32>)
// CHECK:         tir.alloc_buffer "T" : memref<500x2x4xf32>
// CHECK:           tir.for serial "t" %t : i32 in [0 +: 2] {
// CHECK:         tir.for serial "i" %{{.*}} : i32 in [0 +: 1] {
// CHECK:       tir.func @scale("a" %a: !tir.handle, "B" %B: memref<500xf32>, "c" %c: !tir.handle)
// CHECK:         tir.for parallel "item" %item : i32 in [0 +: %n] annotations {grain = {{[0-9]+}} : i32} {
// CHECK:           tir.address_of %A[%item, %{{.*}}, %{{.*}}]
// CHECK:           tir.call @scale.item(

// A block that reads another item keeps the batch, and so does a product of a row of each item.
tir.func @shift("a" %a: !tir.handle, "c" %c: !tir.handle) attrs {relay.kernel = true, tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?x500x8xf32>
  %C = tir.match_buffer "C" %c dims [%n] : !tir.handle -> memref<?x500x8xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: 500] {
      tir.for serial "x" %x : i32 in [0 +: 8] {
        tir.block "C" (spatial "vi" %vi : i32 in [0 +: %n] = %i, spatial "vj" %vj : i32 in [0 +: 500] = %j, spatial "vx" %vx : i32 in [0 +: 8] = %x) {
          %one = arith.constant 1 : i32
          %last = arith.subi %n, %one : i32
          %other = arith.subi %last, %vi : i32
          %v = tir.load %A[%other, %vj, %vx] : memref<?x500x8xf32>
          tir.store %v, %C[%vi, %vj, %vx] : memref<?x500x8xf32>
        }
      }
    }
  }
}
// CHECK-NOT:   @shift.item
// CHECK:       tir.func @shift(
