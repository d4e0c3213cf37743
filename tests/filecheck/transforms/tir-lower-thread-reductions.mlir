// RUN: stepwell-opt %s -p tir-lower-thread-reductions | filecheck %s

// Each thread reduces to a part of its own, lanes of one warp add them two by two, and the result goes where the block
// wrote.
tir.func @main("A" %A: memref<4x32xf32>, "B" %B: memref<4xf32>) {
  tir.for thread_binding "i" %i : i32 in [0 +: 4] thread "blockIdx.x" {
    tir.for serial "k" %k : i32 in [0 +: 8] {
      tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
        %c4 = arith.constant 4 : i32
        %m = arith.muli %k, %c4 : i32
        %s = arith.addi %m, %tx : i32
        tir.block "B" (spatial "vi" %vi : i32 in [0 +: 4] = %i, reduce "vk" %vk : i32 in [0 +: 32] = %s) {
          tir.access reads %A[%vi, %vk] : memref<4x32xf32>
          tir.access writes %B[%vi] : memref<4xf32>
          tir.init {
            %one = arith.constant 1.0 : f32
            tir.store %one, %B[%vi] : memref<4xf32>
          }
          %b = tir.load %B[%vi] : memref<4xf32>
          %a = tir.load %A[%vi, %vk] : memref<4x32xf32>
          %x = arith.addf %b, %a : f32
          tir.store %x, %B[%vi] : memref<4xf32>
        }
      }
    }
  }
}
// CHECK:         %[[part:.*]] = tir.alloc_buffer "B_part" : memref<1xf32, "local">
// CHECK-NEXT:    %[[other:.*]] = tir.alloc_buffer "B_other" : memref<1xf32, "local">
// CHECK-NEXT:    %[[parts:.*]] = tir.alloc_buffer "B_parts" : memref<1xf32, "shared">
// CHECK-NEXT:    tir.for thread_binding "tx"
// CHECK:           tir.store %{{.*}}, %[[part]][%{{.*}}]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for serial "k"
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:             tir.block "B"
// CHECK-NOT:           tir.init
// CHECK:               tir.store %{{.*}}, %[[part]][%{{.*}}]
// CHECK:         tir.for thread_binding "tx" %[[tx:.*]] : i32
// CHECK:           %[[mine:.*]] = tir.load %[[part]]
// CHECK:           %[[two:.*]] = arith.constant 2 : i32
// CHECK:           %[[got:.*]] = tir.call_intrin "tvm_warp_shuffle_down"(%{{.*}}, %[[mine]], %[[two]], %{{.*}}) : ui32, f32, i32, i32, i32 -> f32
// CHECK:           tir.store %[[got]], %[[other]]
// CHECK-NOT:       tir.if
// CHECK:           tir.store %{{.*}}, %[[part]]
// CHECK:           %[[one:.*]] = arith.constant 1 : i32
// CHECK:           tir.call_intrin "tvm_warp_shuffle_down"(%{{.*}}, %{{.*}}, %[[one]], %{{.*}})
// CHECK:           tir.store %{{.*}}, %[[part]]
// CHECK:           arith.cmpi eq, %[[tx]]
// CHECK-NEXT:      tir.if
// CHECK:             tir.store %{{.*}}, %[[parts]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.block "B_result" (spatial "vi" %[[vi:.*]] : i32 in [0 +: 4] = %i) {
// CHECK:           %[[one:.*]] = arith.constant 1.000000e+00 : f32
// CHECK:           %[[sum:.*]] = tir.load %[[parts]]
// CHECK-NEXT:      %[[x:.*]] = arith.addf %[[one]], %[[sum]]
// CHECK-NEXT:      tir.store %[[x]], %B[%[[vi]]]

// A thread that is alone, or for itself, reduces as it did.
tir.func @alone("A" %A: memref<8xf32>, "B" %B: memref<1xf32>) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 1] thread "threadIdx.x" {
    tir.block "B" (reduce "vk" %vk : i32 in [0 +: 8] = %tx) {
      tir.access reads %A[%vk] : memref<8xf32>
      %z = arith.constant 0 : i32
      tir.access writes %B[%z] : memref<1xf32>
      tir.init {
        %c = arith.constant 0 : i32
        %one = arith.constant 1.0 : f32
        tir.store %one, %B[%c] : memref<1xf32>
      }
      %c = arith.constant 0 : i32
      %b = tir.load %B[%c] : memref<1xf32>
      %a = tir.load %A[%vk] : memref<8xf32>
      %x = arith.addf %b, %a : f32
      tir.store %x, %B[%c] : memref<1xf32>
    }
  }
}
// CHECK-LABEL: tir.func @alone(
// CHECK-NOT:     tir.alloc_buffer
// CHECK:         tir.init

// Threads of one result that are no neighbours, and not all in one warp, meet in shared memory.
tir.func @far("A" %A: memref<3x16xf32>, "B" %B: memref<3xf32>) {
  tir.for thread_binding "bx" %bx : i32 in [0 +: 1] thread "blockIdx.x" {
    tir.for thread_binding "i" %i : i32 in [0 +: 3] thread "threadIdx.x" {
      tir.for thread_binding "k" %k : i32 in [0 +: 16] thread "threadIdx.y" {
        tir.block "B" (spatial "vi" %vi : i32 in [0 +: 3] = %i, reduce "vk" %vk : i32 in [0 +: 16] = %k) {
          tir.access reads %A[%vi, %vk] : memref<3x16xf32>
          tir.access writes %B[%vi] : memref<3xf32>
          tir.init {
            %zero = arith.constant 0.0 : f32
            tir.store %zero, %B[%vi] : memref<3xf32>
          }
          %b = tir.load %B[%vi] : memref<3xf32>
          %a = tir.load %A[%vi, %vk] : memref<3x16xf32>
          %x = arith.addf %b, %a : f32
          tir.store %x, %B[%vi] : memref<3xf32>
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @far(
// CHECK:         %[[parts:.*]] = tir.alloc_buffer "B_parts" : memref<16x3xf32, "shared">
// CHECK:         tir.store %{{.*}}, %[[parts]][%[[k:.*]], %i] : memref<16x3xf32, "shared">
// CHECK-NOT:     tvm_warp_shuffle
// CHECK:         arith.constant 8 : i32
// CHECK:         tir.if
// CHECK:           tir.store %{{.*}}, %[[parts]][%[[k]], %i] : memref<16x3xf32, "shared">
// CHECK-NOT:     tvm_warp_shuffle
// CHECK:         tir.block "B_result"
