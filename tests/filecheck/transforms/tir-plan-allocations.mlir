// RUN: stepwell-opt %s -p tir-plan-allocations | filecheck %s
// RUN: stepwell-opt %s -p "tir-plan-allocations{max-stack-bytes=0}" | filecheck %s --check-prefix=HEAP

// HEAP-NOT: on stack

// Into a loop whose iterations write all they read, and on into what is inside it.
tir.func @private("A" %A: memref<8xf32>, "x" %x: f32, "p" %p: i1) {
  %t = tir.alloc_buffer "T" : memref<4xf32>
  tir.for parallel "i" %i : i32 in [0 +: 8] {
    tir.if %p {
      tir.for serial "j" %j : i32 in [0 +: 4] {
        tir.store %x, %t[%j] : memref<4xf32>
      }
      tir.for serial "j" %j : i32 in [0 +: 4] {
        %y = tir.load %t[%j] : memref<4xf32>
        tir.store %y, %A[%i] : memref<8xf32>
      }
    }
  }
}
// CHECK:         tir.func @private("A" %A: memref<8xf32>, "x" %x: f32, "p" %p: i1) {
// CHECK-NEXT:        tir.for parallel "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:          tir.if %p {
// CHECK-NEXT:            %t = tir.alloc_buffer "T" on stack : memref<4xf32>
// CHECK-NEXT:            tir.for serial "j" %j : i32 in [0 +: 4] {
// CHECK-NEXT:              tir.store %x, %t[%j] : memref<4xf32>
// CHECK-NEXT:            }
// CHECK-NEXT:            tir.for serial "j" %j_1 : i32 in [0 +: 4] {
// CHECK-NEXT:              %y = tir.load %t[%j_1] : memref<4xf32>
// CHECK-NEXT:              tir.store %y, %A[%i] : memref<8xf32>
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }

// Into a parallel loop in which alone it is used, even where it is not known that an iteration writes all it reads.
tir.func @indirect("A" %A: memref<8xi32>, "B" %B: memref<8xi32>) {
  %s = tir.alloc_buffer "S" : memref<4xi32>
  tir.for parallel "i" %i : i32 in [0 +: 8] {
    %0 = tir.load %A[%i] : memref<8xi32>
    tir.store %i, %s[%0] : memref<4xi32>
    %1 = tir.load %A[%i] : memref<8xi32>
    %2 = tir.load %s[%1] : memref<4xi32>
    tir.store %2, %B[%i] : memref<8xi32>
  }
}
// CHECK:         tir.func @indirect("A" %A: memref<8xi32>, "B" %B: memref<8xi32>) {
// CHECK-NEXT:        tir.for parallel "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:          %s = tir.alloc_buffer "S" on stack : memref<4xi32>
// CHECK-NEXT:          %0 = tir.load %A[%i] : memref<8xi32>
// CHECK-NEXT:          tir.store %i, %s[%0] : memref<4xi32>

// Not into a loop whose iterations read what an earlier one, or only some path, has written.
tir.func @shared("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32) {
  %c0 = arith.constant 0 : i32
  %sum = tir.alloc_buffer "sum" : memref<1xf32>
  %part = tir.alloc_buffer "part" : memref<4xf32>
  %maybe = tir.alloc_buffer "maybe" : memref<1xf32>
  %late = tir.alloc_buffer "late" : memref<1xf32>
  %used = tir.alloc_buffer "used" : memref<1xf32>
  tir.store %x, %sum[%c0] : memref<1xf32>
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %0 = tir.load %sum[%c0] : memref<1xf32>
    %1 = arith.addf %0, %x : f32
    tir.store %1, %sum[%c0] : memref<1xf32>
  }
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "j" %j : i32 in [0 +: 3] {
      tir.store %x, %part[%j] : memref<4xf32>
    }
    tir.for serial "j" %j : i32 in [0 +: 4] {
      %2 = tir.load %part[%j] : memref<4xf32>
    }
  }
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %first = arith.cmpi slt, %i, %n : i32
    tir.if %first {
      tir.store %x, %maybe[%c0] : memref<1xf32>
    }
    %3 = tir.load %maybe[%c0] : memref<1xf32>
  }
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %4 = tir.load %late[%c0] : memref<1xf32>
    tir.store %x, %late[%c0] : memref<1xf32>
  }
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.store %x, %used[%c0] : memref<1xf32>
    %5 = tir.buffer_data %used : memref<1xf32> -> !tir.handle<f32>
    tir.call_extern "f"(%5) : !tir.handle<f32>
  }
}
// CHECK:         tir.func @shared("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32) {
// CHECK-NEXT:        %c0 = arith.constant 0 : i32
// CHECK-NEXT:        %sum = tir.alloc_buffer "sum" on stack : memref<1xf32>
// CHECK-NEXT:        %part = tir.alloc_buffer "part" on stack : memref<4xf32>
// CHECK-NEXT:        %maybe = tir.alloc_buffer "maybe" on stack : memref<1xf32>
// CHECK-NEXT:        %late = tir.alloc_buffer "late" on stack : memref<1xf32>
// CHECK-NEXT:        %used = tir.alloc_buffer "used" on stack : memref<1xf32>
// CHECK-NEXT:        tir.store %x, %sum[%c0] : memref<1xf32>
// CHECK-NEXT:        tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:          %0 = tir.load %sum[%c0] : memref<1xf32>
// CHECK-NEXT:          %1 = arith.addf %0, %x : f32
// CHECK-NEXT:          tir.store %1, %sum[%c0] : memref<1xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for serial "i" %i_1 : i32 in [0 +: 8] {
// CHECK-NEXT:          tir.for serial "j" %j : i32 in [0 +: 3] {
// CHECK-NEXT:            tir.store %x, %part[%j] : memref<4xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:          tir.for serial "j" %j_1 : i32 in [0 +: 4] {
// CHECK-NEXT:            %2 = tir.load %part[%j_1] : memref<4xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for serial "i" %i_2 : i32 in [0 +: 8] {
// CHECK-NEXT:          %first = arith.cmpi slt, %i_2, %n : i32
// CHECK-NEXT:          tir.if %first {
// CHECK-NEXT:            tir.store %x, %maybe[%c0] : memref<1xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:          %3 = tir.load %maybe[%c0] : memref<1xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for serial "i" %i_3 : i32 in [0 +: 8] {
// CHECK-NEXT:          %4 = tir.load %late[%c0] : memref<1xf32>
// CHECK-NEXT:          tir.store %x, %late[%c0] : memref<1xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for serial "i" %i_4 : i32 in [0 +: 8] {
// CHECK-NEXT:          tir.store %x, %used[%c0] : memref<1xf32>
// CHECK-NEXT:          %5 = tir.buffer_data %used : memref<1xf32> -> !tir.handle<f32>
// CHECK-NEXT:          tir.call_extern "f"(%5) : !tir.handle<f32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }

// Conditions, symbolic extents and indices that are fixed in an iteration are understood.
tir.func @symbolic("A" %A: memref<8xi32>, "x" %x: f32, "n" %n: i32) {
  %t = tir.alloc_buffer "T" dims [%n] : memref<?xf32>
  %u = tir.alloc_buffer "U" : memref<8xf32>
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "j" %j : i32 in [0 +: %n] {
      tir.store %x, %t[%j] : memref<?xf32>
    }
    %at = tir.load %A[%i] : memref<8xi32>
    %y = tir.load %t[%at] : memref<?xf32>
    %c = arith.cmpi slt, %i, %n : i32
    tir.if %c {
      tir.store %y, %u[%at] : memref<8xf32>
    } else {
      tir.store %x, %u[%at] : memref<8xf32>
    }
    %z = tir.load %u[%at] : memref<8xf32>
  }
}
// CHECK:         tir.func @symbolic("A" %A: memref<8xi32>, "x" %x: f32, "n" %n: i32) {
// CHECK-NEXT:        tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:          %t = tir.alloc_buffer "T" dims [%n] on heap : memref<?xf32>
// CHECK-NEXT:          tir.for serial "j" %j : i32 in [0 +: %n] {
// CHECK-NEXT:            tir.store %x, %t[%j] : memref<?xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:          %u = tir.alloc_buffer "U" on stack : memref<8xf32>
// CHECK-NEXT:          %at = tir.load %A[%i] : memref<8xi32>
// CHECK-NEXT:          %y = tir.load %t[%at] : memref<?xf32>
// CHECK-NEXT:          %c = arith.cmpi slt, %i, %n : i32
// CHECK-NEXT:          tir.if %c {
// CHECK-NEXT:            tir.store %y, %u[%at] : memref<8xf32>
// CHECK-NEXT:          } else {
// CHECK-NEXT:            tir.store %x, %u[%at] : memref<8xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:          %z = tir.load %u[%at] : memref<8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }

// Unused memory goes. The smallest are on the stack as long as they fit; what has no known size, or comes from a
// function that can call itself, is on the heap.
tir.func @memory("n" %n: i32, "p" %p: i1, "x" %x: f32) {
  %c0 = arith.constant 0 : i32
  %unused = tir.alloc_buffer "unused" : memref<4xf32>
  %big = tir.alloc_buffer "big" : memref<4096xf32>
  %small = tir.alloc_buffer "small" : memref<8xf32, strided<[2]>>
  %dynamic = tir.alloc_buffer "dynamic" dims [%n] : memref<?xf32>
  %told = tir.alloc_buffer "told" on heap : memref<1xf32>
  %pointer = tir.allocate "pointer" [8] : !tir.handle<f32>
  %maybe = tir.allocate "maybe" [8] if %p : !tir.handle<f32>
  tir.store %x, %big[%c0] : memref<4096xf32>
  tir.store %x, %small[%c0] : memref<8xf32, strided<[2]>>
  tir.store %x, %dynamic[%c0] : memref<?xf32>
  tir.store %x, %told[%c0] : memref<1xf32>
}
// CHECK:         tir.func @memory("n" %n: i32, "p" %p: i1, "x" %x: f32) {
// CHECK-NEXT:        %c0 = arith.constant 0 : i32
// CHECK-NEXT:        %big = tir.alloc_buffer "big" on heap : memref<4096xf32>
// CHECK-NEXT:        %small = tir.alloc_buffer "small" on stack : memref<8xf32, strided<[2]>>
// CHECK-NEXT:        %dynamic = tir.alloc_buffer "dynamic" dims [%n] on heap : memref<?xf32>
// CHECK-NEXT:        %told = tir.alloc_buffer "told" on heap : memref<1xf32>
// CHECK-NEXT:        %pointer = tir.allocate "pointer" [8] on stack : !tir.handle<f32>
// CHECK-NEXT:        %maybe = tir.allocate "maybe" [8] if %p on heap : !tir.handle<f32>
// CHECK-NEXT:        tir.store %x, %big[%c0] : memref<4096xf32>
// CHECK-NEXT:        tir.store %x, %small[%c0] : memref<8xf32, strided<[2]>>
// CHECK-NEXT:        tir.store %x, %dynamic[%c0] : memref<?xf32>
// CHECK-NEXT:        tir.store %x, %told[%c0] : memref<1xf32>
// CHECK-NEXT:      }

tir.func @recursive("x" %x: f32) {
  %c0 = arith.constant 0 : i32
  %small = tir.alloc_buffer "small" : memref<8xf32>
  tir.store %x, %small[%c0] : memref<8xf32>
  tir.call @partner(%x) : f32
}
// CHECK:         tir.func @recursive("x" %x: f32) {
// CHECK-NEXT:        %c0 = arith.constant 0 : i32
// CHECK-NEXT:        %small = tir.alloc_buffer "small" on heap : memref<8xf32>
// CHECK-NEXT:        tir.store %x, %small[%c0] : memref<8xf32>
// CHECK-NEXT:        tir.call @partner(%x) : f32
// CHECK-NEXT:      }
tir.func private @partner("x" %x: f32) {
  tir.call @recursive(%x) : f32
}
// CHECK:         tir.func private @partner("x" %x: f32) {
// CHECK-NEXT:        tir.call @recursive(%x) : f32
// CHECK-NEXT:      }
