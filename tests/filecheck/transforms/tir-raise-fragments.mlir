// RUN: stepwell-opt %s -p tir-raise-fragments,tir-simplify | filecheck %s

// The loops of a warp become the operations that they mean: fragment %ty of the buffer, from memory with 40 elements
// between two rows.
tir.func @main("A" %A: memref<64x40xf16>, "C" %C: memref<32x16xf32>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.launch_thread "ty" %ty : i32 in 2 thread "threadIdx.y" {
      tir.launch_thread "tx" %tx : i32 in 32 thread "threadIdx.x" {
        %Af = tir.alloc_buffer "Af" : memref<32x16xf16, "wmma.matrix_a">
        %Cf = tir.alloc_buffer "Cf" : memref<16x16xf32, "wmma.accumulator">
        tir.attr "stepwell.fragments" of "tvm_fill_fragment" is "16x16x16" {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.for serial "j" %j : i32 in [0 +: 16] {
              %0 = arith.constant 0.0 : f32
              tir.store %0, %Cf[%i, %j] : memref<16x16xf32, "wmma.accumulator">
            }
          }
        }
        tir.attr "stepwell.fragments" of "tvm_load_matrix_sync" is "16x16x16 row_major" {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.for serial "j" %j : i32 in [0 +: 16] {
              %c16 = arith.constant 16 : i32
              %p = arith.muli %ty, %c16 : i32
              %q = arith.addi %p, %i : i32
              %c8 = arith.constant 8 : i32
              %r = arith.addi %j, %c8 : i32
              %x = tir.load %A[%q, %r] : memref<64x40xf16>
              tir.store %x, %Af[%q, %j] : memref<32x16xf16, "wmma.matrix_a">
            }
          }
        }
        tir.attr "stepwell.fragments" of "tvm_store_matrix_sync" is "16x16x16 col_major" {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.for serial "j" %j : i32 in [0 +: 16] {
              %x = tir.load %Cf[%i, %j] : memref<16x16xf32, "wmma.accumulator">
              tir.store %x, %C[%j, %i] : memref<32x16xf32>
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @main
// CHECK:         %[[zero:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         tir.call_intrin "tvm_fill_fragment"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[zero]])
// CHECK:         %[[data:.*]] = tir.buffer_data %Af
// CHECK-NEXT:    %[[layout:.*]] = tir.const "row_major"
// CHECK-NEXT:    %[[c16:.*]] = arith.constant 16 : i32
// CHECK-NEXT:    %[[line:.*]] = arith.muli %ty, %[[c16]] : i32
// CHECK-NEXT:    %[[c8:.*]] = arith.constant 8 : i32
// CHECK-NEXT:    %[[first:.*]] = tir.address_of %A[%[[line]], %[[c8]]] : memref<64x40xf16> -> !tir.handle<f16>
// CHECK-NEXT:    %[[distance:.*]] = arith.constant 40 : i32
// CHECK-NEXT:    tir.call_intrin "tvm_load_matrix_sync"(%[[data]], %{{.*}}, %{{.*}}, %{{.*}}, %ty, %[[first]], %[[distance]], %[[layout]])
// CHECK:         tir.address_of %C[%{{.*}}, %{{.*}}] : memref<32x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:    %[[distance2:.*]] = arith.constant 16 : i32
// CHECK-NEXT:    tir.call_intrin "tvm_store_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[distance2]], %{{.*}})

// Without a kernel the loops stay.
tir.func @host("C" %C: memref<16x16xf32, "wmma.accumulator">) {
  tir.attr "stepwell.fragments" of "tvm_fill_fragment" is "16x16x16" {
    tir.for serial "i" %i : i32 in [0 +: 16] {
      tir.for serial "j" %j : i32 in [0 +: 16] {
        %0 = arith.constant 0.0 : f32
        tir.store %0, %C[%i, %j] : memref<16x16xf32, "wmma.accumulator">
      }
    }
  }
}
// CHECK-LABEL: tir.func @host
// CHECK:         tir.attr "stepwell.fragments" of "tvm_fill_fragment"
