// RUN: stepwell-opt %s -p expand-math | filecheck %s
// RUN: stepwell-opt %s -p "expand-math{fma=false}" | filecheck %s --check-prefix SPLIT

func.func @functions(%x: f32, %v: vector<4xf64>, %h: f16) -> (f32, vector<4xf64>, f64, f16) {
  %a = math.exp2 %x : f32
  %b = math.sin %v : vector<4xf64>
  %c = arith.constant 1.0 : f64
  %d = math.atan %c : f64
  // Types that are legalized before.
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
// CHECK-NOT:     math.atan
// CHECK:         %d = math.copysign %{{.*}}, %c : f64
// CHECK-NEXT:    %e = math.exp %h : f16

// SPLIT:       func.func @functions(
// SPLIT-NOT:     math.fma
// SPLIT:         func.return

// The format of the formula is f64 for both formats; the coefficients are of the result.
func.func @wide(%x: f32, %y: f64) -> (f32, f64) {
  %a = math.cbrt %x : f32
  %b = math.powf %y, %y : f64
  func.return %a, %b : f32, f64
}
// CHECK-LABEL: func.func @wide(
// CHECK:         arith.extf %x : f32 to f64
// CHECK-NOT:     math.cbrt
// CHECK:         %a = arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT:     math.powf
// CHECK:         func.return

// SPLIT-LABEL: func.func @wide(
// SPLIT-NOT:     math.fma
// SPLIT-NOT:     math.cbrt
// SPLIT:         %b = math.powf %y, %y : f64

// Powers of some constant exponents are in the format of the result, also without fused operations.
func.func @exponents(%v: vector<4xf32>, %y: f64) -> (vector<4xf32>, f64) {
  %three = arith.constant dense<3.0> : vector<4xf32>
  %half = arith.constant 0.5 : f64
  %a = math.powf %v, %three : vector<4xf32>
  %b = math.powf %y, %half : f64
  func.return %a, %b : vector<4xf32>, f64
}
// CHECK-LABEL: func.func @exponents(
// CHECK:         %[[SQUARE:.+]] = arith.mulf %v, %v : vector<4xf32>
// CHECK-NEXT:    %a = arith.mulf %[[SQUARE]], %v : vector<4xf32>
// CHECK:         math.sqrt
// CHECK:         %b = arith.select

// SPLIT-LABEL: func.func @exponents(
// SPLIT-NOT:     math.powf
// SPLIT:         func.return

// A vector of positive normal numbers has a shorter formula; a scalar has the general formula.
func.func @logarithms(%v: vector<4xf32>, %x: f32) -> (vector<4xf32>, f32) {
  %a = math.log %v : vector<4xf32>
  %b = math.log %x : f32
  func.return %a, %b : vector<4xf32>, f32
}
// CHECK-LABEL: func.func @logarithms(
// CHECK:         %[[BITS:.+]] = arith.bitcast %v : vector<4xf32> to vector<4xi32>
// CHECK:         %[[REST:.+]] = arith.subi %[[BITS]],
// CHECK:         %[[OTHER:.+]] = arith.cmpi ugt, %[[REST]],
// CHECK-NEXT:    %[[ANY:.+]] = vector.reduction <or>, %[[OTHER]] : vector<4xi1> into i1
// CHECK-NEXT:    %a = scf.if %[[ANY]] -> (vector<4xf32>) {
// CHECK:           arith.select
// CHECK:         } else {
// CHECK-NOT:       arith.select
// CHECK:         }
// CHECK-NOT:     scf.if
// CHECK:         arith.select
// CHECK:         func.return
