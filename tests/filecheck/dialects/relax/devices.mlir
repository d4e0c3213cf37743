// RUN: stepwell-opt %s | stepwell-opt | filecheck %s

// CHECK: builtin.module attributes {relax.devices = ["llvm", "cuda", "cuda"]} {
builtin.module attributes {relax.devices = ["llvm", "cuda", "cuda"]} {
  // CHECK: relax.func @main("x" %{{.*}}: tensor<4xf32>) -> tensor<4xf32> attrs {param_devices = {x = "cuda:1"}} {
  relax.func @main("x" %x: tensor<4xf32>) -> tensor<4xf32> attrs {param_devices = {x = "cuda:1"}} {
    // CHECK: relax.to_vdevice %{{.*}} on "llvm:0" : tensor<4xf32> -> tensor<4xf32>
    %0 = relax.to_vdevice %x on "llvm:0" : tensor<4xf32> -> tensor<4xf32>
    // CHECK: relax.hint_on_device %{{.*}} on "cuda:0" : tensor<4xf32> -> tensor<4xf32>
    %1 = relax.hint_on_device %0 on "cuda:0" : tensor<4xf32> -> tensor<4xf32>
    relax.return %1 : tensor<4xf32>
  }
}
