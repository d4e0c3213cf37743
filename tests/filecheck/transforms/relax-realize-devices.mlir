// RUN: stepwell-opt %s -p relax-realize-devices | filecheck %s

builtin.module attributes {relax.devices = ["llvm", "cuda"]} {
  // CHECK: relax.func @main("x" %{{.*}}: tensor<8xf32>, "y" %{{.*}}: tensor<8xf32>) -> tensor<8xf32> attrs {param_devices = {x = "cuda:0"}} {
  relax.func @main("x" %x: tensor<8xf32>, "y" %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = relax.hint_on_device %x on "cuda:0" : tensor<8xf32> -> tensor<8xf32>
    // CHECK-NEXT: %[[A:.*]] = relay.exp(%x)
    %1 = relay.exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = relax.to_vdevice %1 on "cuda:0" : tensor<8xf32> -> tensor<8xf32>
    // CHECK-NEXT: %[[B:.*]] = relax.to_vdevice %[[A]] on "llvm:0" : tensor<8xf32> -> tensor<8xf32>
    %3 = relax.hint_on_device %2 on "llvm:0" : tensor<8xf32> -> tensor<8xf32>
    // CHECK-NEXT: relay.add(%[[B]], %y)
    %4 = relay.add(%3, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    relax.return %4 : tensor<8xf32>
  }
}
