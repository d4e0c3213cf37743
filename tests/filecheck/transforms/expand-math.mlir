// RUN: stepwell-opt %s -p expand-math | filecheck %s
// RUN: stepwell-opt %s -p "expand-math{fma=false}" | filecheck %s --check-prefix SPLIT

func.func @functions(%x: f32, %v: vector<4xf64>, %h: f16) -> (f32, vector<4xf64>, f64, f16) {
  %a = math.exp2 %x : f32
  %b = math.sin %v : vector<4xf64>
  %c = arith.constant 1.0 : f64
  // Functions whose formulas are for f32 alone, and of types that are legalized before.
  %d = math.atan %c : f64
  %e = math.exp %h : f16
  func.return %a, %b, %d, %e : f32, vector<4xf64>, f64, f16
}
// CHECK:       func.func @functions(
// CHECK-NOT:     math.exp2
// CHECK:         math.fma
// CHECK:         %{{.*}} = vector.reduction <or>, %{{.*}} : vector<4xi1> into i1
// CHECK-NEXT:    %b = scf.if %{{.*}} -> (vector<4xf64>) {
// CHECK-NEXT:      %{{.*}} = math.sin %v : vector<4xf64>
// CHECK:         } else {
// CHECK-NOT:       math.sin
// CHECK:         %d = math.atan %c : f64
// CHECK-NEXT:    %e = math.exp %h : f16

// SPLIT:       func.func @functions(
// SPLIT-NOT:     math.fma
// SPLIT:         func.return
