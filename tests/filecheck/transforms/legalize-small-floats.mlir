// RUN: stepwell-opt %s -p legalize-small-floats | filecheck %s

// Arithmetic is done in f32 and rounded after each operation.
// CHECK-LABEL: @scalars
func.func @scalars(%a: f16, %b: f16) -> f16 {
  %sum = arith.addf %a, %b : f16
  %root = math.sqrt %sum fastmath<contract> : f16
  func.return %root : f16
}
// CHECK-NEXT:   %[[A:.+]] = arith.extf %a : f16 to f32
// CHECK-NEXT:   %[[B:.+]] = arith.extf %b : f16 to f32
// CHECK-NEXT:   %[[S:.+]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:   %[[H:.+]] = arith.truncf %[[S]] : f32 to f16
// CHECK-NEXT:   %[[W:.+]] = arith.extf %[[H]] : f16 to f32
// CHECK-NEXT:   %[[R:.+]] = math.sqrt %[[W]] fastmath<contract> : f32
// CHECK-NEXT:   %[[Q:.+]] = arith.truncf %[[R]] : f32 to f16
// CHECK-NEXT:   func.return %[[Q]] : f16

// Lanes of a vector too.
// CHECK-LABEL: @vectors
func.func @vectors(%a: vector<4xbf16>) -> vector<4xbf16> {
  %r = arith.mulf %a, %a : vector<4xbf16>
  func.return %r : vector<4xbf16>
}
// CHECK:        arith.mulf %{{.+}}, %{{.+}} : vector<4xf32>
// CHECK-NEXT:   arith.truncf %{{.+}} : vector<4xf32> to vector<4xbf16>

// Comparisons and conversions need no rounding where no half float comes out.
// CHECK-LABEL: @exact
func.func @exact(%a: bf16, %n: i32) -> i1 {
  %f = arith.sitofp %n : i32 to bf16
  %r = arith.cmpf olt, %a, %f : bf16
  func.return %r : i1
}
// CHECK:        arith.sitofp %n : i32 to f32
// CHECK-NEXT:   arith.truncf %{{.+}} : f32 to bf16
// CHECK:        arith.cmpf olt, %{{.+}}, %{{.+}} : f32
// CHECK-NEXT:   func.return

// A fused multiply-add is computed in f64.
// CHECK-LABEL: @fused
func.func @fused(%a: f16) -> f16 {
  %r = math.fma %a, %a, %a : f16
  func.return %r : f16
}
// CHECK:        math.fma %{{.+}}, %{{.+}}, %{{.+}} : f64
// CHECK-NEXT:   arith.truncf %{{.+}} : f64 to f16

// What is exact on the bits stays, and so does every other type.
// CHECK-LABEL: @untouched
func.func @untouched(%a: f16, %b: f16, %c: i1, %m: memref<4xf16>, %i: index, %x: f32) -> f16 {
  %n = arith.negf %a : f16
  %v = math.absf %n : f16
  %s = math.copysign %v, %b : f16
  %t = arith.select %c, %s, %b : f16
  memref.store %t, %m[%i] : memref<4xf16>
  %y = arith.addf %x, %x : f32
  func.return %t : f16
}
// CHECK-NOT:    arith.extf
// CHECK:        arith.negf %a : f16
// CHECK-NEXT:   math.absf %{{.+}} : f16
// CHECK-NEXT:   math.copysign %{{.+}}, %b : f16
// CHECK-NEXT:   arith.select
// CHECK-NEXT:   memref.store
// CHECK-NEXT:   arith.addf %x, %x : f32
// CHECK-NOT:    arith.truncf

// Floats of 8 bits are computed in f32 as well.
// CHECK-LABEL: func.func @float8
func.func @float8(%a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {
  // CHECK: %[[A:.+]] = arith.extf %a : f8E4M3FN to f32
  // CHECK-NEXT: %[[B:.+]] = arith.extf %b : f8E4M3FN to f32
  // CHECK-NEXT: %[[C:.+]] = arith.mulf %[[A]], %[[B]] : f32
  // CHECK-NEXT: arith.truncf %[[C]] : f32 to f8E4M3FN
  %r = arith.mulf %a, %b : f8E4M3FN
  func.return %r : f8E4M3FN
}

// A sign that is a bit of its own changes there; -0 of f8E4M3FNUZ would be a NaN.
// CHECK-LABEL: func.func @signs
func.func @signs(%a: f8E5M2, %b: f8E4M3FNUZ) -> (f8E5M2, f8E4M3FNUZ) {
  // CHECK-NEXT: arith.negf %a : f8E5M2
  %r = arith.negf %a : f8E5M2
  // CHECK-NEXT: arith.extf %b : f8E4M3FNUZ to f32
  // CHECK-NEXT: arith.negf {{.+}} : f32
  // CHECK-NEXT: arith.truncf {{.+}} : f32 to f8E4M3FNUZ
  %s = arith.negf %b : f8E4M3FNUZ
  func.return %r, %s : f8E5M2, f8E4M3FNUZ
}
