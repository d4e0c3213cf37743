// RUN: stepwell-opt %s -p tir-lower-extension-scalars | filecheck %s

// Operations of other packages are lowered (tests/transforms/tir/test_lower_extension_scalars.py); all others stay.
tir.func @main("x" %x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  tir.return %y : f32
}
// CHECK:       tir.func @main("x" %x: f32) -> f32 {
// CHECK-NEXT:    %y = arith.addf %x, %x : f32
// CHECK-NEXT:    tir.return %y : f32
// CHECK-NEXT:  }
