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

// A rounded number that becomes a small integer is a sum with 3 * 2**22 within bounds, without the offset.
func.func @rounded(%v: vector<4xf32>) -> (vector<4xi8>, vector<4xi8>, vector<4xi32>) {
  %offset = arith.constant dense<120.0> : vector<4xf32>
  %low = arith.constant dense<0.0> : vector<4xf32>
  %high = arith.constant dense<255.0> : vector<4xf32>
  %0 = math.roundeven %v : vector<4xf32>
  %1 = arith.addf %0, %offset : vector<4xf32>
  %2 = arith.cmpf ogt, %low, %1 : vector<4xf32>
  %3 = arith.select %2, %low, %1 : vector<4xi1>, vector<4xf32>
  %4 = arith.cmpf olt, %high, %3 : vector<4xf32>
  %5 = arith.select %4, %high, %3 : vector<4xi1>, vector<4xf32>
  %a = arith.fptoui %5 : vector<4xf32> to vector<4xi8>
  // NaN becomes 0, which is no bound here.
  %6 = math.roundeven %v : vector<4xf32>
  %b = arith.fptosi %6 : vector<4xf32> to vector<4xi8>
  // An integer of more bits.
  %7 = math.roundeven %v : vector<4xf32>
  %c = arith.fptosi %7 : vector<4xf32> to vector<4xi32>
  func.return %a, %b, %c : vector<4xi8>, vector<4xi8>, vector<4xi32>
}
// CHECK-LABEL: func.func @rounded(
// CHECK-NOT:     math.roundeven
// CHECK:         %[[LOW:.+]] = arith.constant dense<-1.200000e+02> : vector<4xf32>
// CHECK-NEXT:    %[[ABOVE:.+]] = arith.cmpf ogt, %v, %[[LOW]] : vector<4xf32>
// CHECK-NEXT:    %[[X:.+]] = arith.select %[[ABOVE]], %v, %[[LOW]]
// CHECK-NEXT:    %[[HIGH:.+]] = arith.constant dense<1.350000e+02> : vector<4xf32>
// CHECK-NEXT:    %[[BEYOND:.+]] = arith.cmpf ogt, %[[X]], %[[HIGH]] : vector<4xf32>
// CHECK-NEXT:    %[[Y:.+]] = arith.select %[[BEYOND]], %[[HIGH]], %[[X]]
// CHECK-NEXT:    %[[MAGIC:.+]] = arith.constant dense<0x4B400000> : vector<4xf32>
// CHECK-NEXT:    %[[SUM:.+]] = arith.addf %[[Y]], %[[MAGIC]] : vector<4xf32>
// CHECK-NEXT:    %[[BITS:.+]] = arith.bitcast %[[SUM]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT:    %[[BYTES:.+]] = arith.trunci %[[BITS]] : vector<4xi32> to vector<4xi8>
// CHECK-NEXT:    %[[OFFSET:.+]] = arith.constant dense<120> : vector<4xi8>
// CHECK-NEXT:    %a = arith.addi %[[BYTES]], %[[OFFSET]] : vector<4xi8>
// CHECK-NOT:     math.roundeven
// CHECK:         arith.cmpf uno, %v, %v : vector<4xf32>
// CHECK-NEXT:    %b = arith.select
// CHECK:         %[[ROUND:.+]] = math.roundeven %v : vector<4xf32>
// CHECK-NEXT:    %c = arith.fptosi %[[ROUND]] : vector<4xf32> to vector<4xi32>
