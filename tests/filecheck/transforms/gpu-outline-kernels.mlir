// RUN: stepwell-opt %s -p "convert-tir-to-scf{launches=true},gpu-outline-kernels" | filecheck %s

// The kernel has the numbers of its threads, copies of constants, and barriers; what it is given is in the order of use;
// memory between kernels is allocated on the device.
tir.func @main("A" %A: memref<8xf32>, "n" %n: i32) {
  %t = tir.alloc_buffer "T" : memref<8xf32>
  tir.launch_thread "bx" %bx : i32 in %n thread "blockIdx.x" {
    %s = tir.alloc_buffer "S" : memref<8xf32, "shared">
    tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
      %x = tir.load %A[%tx] : memref<8xf32>
      tir.store %x, %s[%tx] : memref<8xf32, "shared">
      %0 = tir.const "shared" : !tir.handle
      tir.call_intrin "tvm_storage_sync"(%0) : !tir.handle
      %c7 = arith.constant 7 : i32
      %m = arith.subi %c7, %tx : i32
      %y = tir.load %s[%m] : memref<8xf32, "shared">
      tir.store %y, %t[%tx] : memref<8xf32>
    }
  }
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
      %x = tir.load %t[%tx] : memref<8xf32>
      tir.store %x, %A[%tx] : memref<8xf32>
    }
  }
}
// CHECK:       builtin.module attributes {gpu.container_module}
// CHECK:         "gpu.module"() <{sym_name = "main_kernels"}> ({
// CHECK-NEXT:      "gpu.func"()
// CHECK-NEXT:      ^{{.*}}(%[[A:.*]]: memref<8xf32>, %[[T:.*]]: memref<8xf32>):
// CHECK:             "gpu.thread_id"() <{dimension = #gpu<dim x>}>
// CHECK:             %[[S:.*]] = memref.alloca() : memref<8xf32, "shared">
// CHECK:             memref.store %{{.*}}, %[[S]][%{{.*}}] : memref<8xf32, "shared">
// CHECK-NEXT:        "gpu.barrier"() : () -> ()
// CHECK:             memref.store %{{.*}}, %[[T]][%{{.*}}] : memref<8xf32>
// CHECK-NEXT:        "gpu.return"() : () -> ()
// CHECK-NEXT:      }) {sym_name = "main_kernel_0", gpu.known_block_size = array<i32: 8, 1, 1>}
// CHECK:           sym_name = "main_kernel_1"
// CHECK:         func.func @main(
// CHECK:           %[[D:.*]] = "gpu.alloc"()
// CHECK:           "gpu.launch_func"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %A, %[[D]]) <{kernel = @main_kernels::@main_kernel_0
// CHECK:           "gpu.launch_func"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[D]], %A) <{kernel = @main_kernels::@main_kernel_1
// CHECK:           "gpu.dealloc"(%[[D]])

// So is what a processor would have on its stack, and it is given back at the end.
tir.func @small("A" %A: memref<4xf32>) {
  %t = tir.alloc_buffer "T" on stack : memref<4xf32>
  tir.launch_thread "tx" %tx : i32 in 4 thread "threadIdx.x" {
    %x = tir.load %A[%tx] : memref<4xf32>
    tir.store %x, %t[%tx] : memref<4xf32>
  }
}
// CHECK:         func.func @small(
// CHECK-NOT:       memref.alloca
// CHECK:           %[[D:.*]] = "gpu.alloc"()
// CHECK:           "gpu.launch_func"(%{{.*}}, %A, %[[D]])
// CHECK-NEXT:      "gpu.dealloc"(%[[D]])
// CHECK-NEXT:      func.return

// So is what is given to a function that launches.
tir.func @caller("A" %A: memref<4xf32>) {
  %t = tir.alloc_buffer "T" : memref<4xf32>
  tir.call @small(%t) : memref<4xf32>
}
// CHECK:         func.func @caller(
// CHECK-NEXT:      %[[D:.*]] = "gpu.alloc"()
// CHECK-NEXT:      func.call @small(%[[D]])
// CHECK-NEXT:      "gpu.dealloc"(%[[D]])

// And what a C function gets that works on the device.
tir.func @library("A" %A: memref<4xf32>) attrs {tir.is_host_func = true} {
  %a = tir.buffer_data %A : memref<4xf32> -> !tir.handle<f32>
  tir.call_extern "f"(%a) : !tir.handle<f32>
}
tir.func @calls_it("A" %A: memref<4xf32>) {
  %t = tir.alloc_buffer "T" : memref<4xf32>
  tir.call @library(%t) : memref<4xf32>
}
// CHECK:         func.func @library({{.*}} attributes {stepwell.on_device}
// CHECK:         func.func @calls_it(
// CHECK-NEXT:      %[[D:.*]] = "gpu.alloc"()
// CHECK-NEXT:      func.call @library(%[[D]])

// Lanes of a warp exchange values.
tir.func @lanes("A" %A: memref<8xf16>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
      %mask = tir.call_intrin "tvm_warp_activemask"() -> ui32
      %x = tir.load %A[%tx] : memref<8xf16>
      %eight = arith.constant 8 : i32
      %warp = arith.constant 32 : i32
      %y = tir.call_intrin "tvm_warp_shuffle_down"(%mask, %x, %tx, %eight, %warp) : ui32, f16, i32, i32, i32 -> f16
      tir.store %y, %A[%tx] : memref<8xf16>
    }
  }
}
// CHECK:       "gpu.module"() <{sym_name = "lanes_kernels"}> ({
// CHECK:         %[[width:.*]] = arith.constant 8 : i32
// CHECK:         %[[x:.*]] = memref.load
// CHECK:         %[[y:.*]], %{{.*}} = gpu.shuffle down %[[x]], %{{.*}}, %[[width]] : f16
// CHECK:         memref.store %[[y]]

// What kernels call is declared beside them.
tir.func @called("A" %A: memref<4xf32>) {
  tir.launch_thread "tx" %tx : i32 in 4 thread "threadIdx.x" {
    %x = tir.load %A[%tx] : memref<4xf32>
    %y = tir.intrinsic "fmod"(%x, %x) : f32, f32 -> f32
    tir.store %y, %A[%tx] : memref<4xf32>
  }
}
// CHECK:         sym_name = "called_kernel"
// CHECK-NEXT:    func.func private @fmodf(f32, f32) -> f32
// CHECK:         func.func @called(
// CHECK-NOT:     @fmodf

// The host copies what it branches on, and how often it launches; a number is copied as it is.
tir.func @branches("A" %A: memref<4xf32>, "N" %N: memref<4xi32>, "flag" %flag: memref<i1>) {
  %one = arith.constant 1 : i32
  %n = tir.load %N[%one] : memref<4xi32>
  %c = tir.load %flag[] : memref<i1>
  tir.if %c {
    tir.for serial "i" %i : i32 in [0 +: %n] {
      tir.launch_thread "tx" %tx : i32 in 4 thread "threadIdx.x" {
        %x = tir.load %A[%tx] : memref<4xf32>
        %y = arith.addf %x, %x : f32
        tir.store %y, %A[%tx] : memref<4xf32>
      }
    }
  }
}
// CHECK:         func.func @branches(%A: memref<4xf32> {{.*}}, %N: memref<4xi32> {{.*}}, %flag: memref<i1> {{.*}}) {
// CHECK:           %[[CELL:.*]] = memref.alloca() : memref<i32>
// CHECK-NEXT:      %[[FROM:.*]] = memref.subview %N[%{{.*}}] [1] [1] : memref<4xi32> to memref<i32, strided<[], offset: ?>>
// CHECK-NEXT:      %[[TO:.*]] = "memref.cast"(%[[CELL]]) : (memref<i32>) -> memref<i32, strided<[], offset: ?>>
// CHECK-NEXT:      "gpu.memcpy"(%[[TO]], %[[FROM]])
// CHECK-NEXT:      %{{.*}} = memref.load %[[CELL]][] : memref<i32>
// CHECK-NEXT:      %[[C:.*]] = memref.alloca() : memref<i1>
// CHECK-NEXT:      "gpu.memcpy"(%[[C]], %flag)
// CHECK-NEXT:      %[[FLAG:.*]] = memref.load %[[C]][] : memref<i1>
// CHECK-NEXT:      scf.if %[[FLAG]] {
// CHECK:             "gpu.launch_func"

// What kernels leave for it lies on the device; constants of the host do not.
tir.func @looks("A" %A: memref<4xf32>) {
  %t = tir.alloc_buffer "T" on stack : memref<1xi32>
  %data = tir.allocate_const "K" dense<[3, 4]> : tensor<2xi32> : !tir.handle<i32>
  %k = tir.decl_buffer "K" %data : !tir.handle<i32> -> memref<2xi32>
  %zero = arith.constant 0 : i32
  %x = tir.load %t[%zero] : memref<1xi32>
  %y = tir.load %k[%zero] : memref<2xi32>
  tir.for serial "i" %i : i32 in [%x +: %y] {
    tir.launch_thread "tx" %tx : i32 in 4 thread "threadIdx.x" {
      %z = tir.load %A[%tx] : memref<4xf32>
      tir.store %z, %A[%tx] : memref<4xf32>
    }
  }
}
// CHECK:         func.func @looks(
// CHECK:           %[[T:.*]] = "gpu.alloc"()
// CHECK:           %[[K:.*]] = memref.get_global
// CHECK:           memref.subview %[[T]]
// CHECK:           "gpu.memcpy"
// CHECK:           memref.load %[[K]][%{{.*}}] : memref<2xi32>
