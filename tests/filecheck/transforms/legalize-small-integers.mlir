// RUN: stepwell-opt %s -p legalize-small-integers | filecheck %s

// Arithmetic is done in i32, and the last bits are kept; what wraps in i4 does not in i32.
// CHECK-LABEL: @scalars
func.func @scalars(%a: i4, %b: i4) -> i4 {
  %q = arith.divsi %a, %b : i4
  %s = arith.addi %q, %b overflow<nsw> : i4
  func.return %s : i4
}
// CHECK-NEXT:   %[[A:.+]] = arith.extsi %a : i4 to i32
// CHECK-NEXT:   %[[B:.+]] = arith.extsi %b : i4 to i32
// CHECK-NEXT:   %[[D:.+]] = arith.divsi %[[A]], %[[B]] : i32
// CHECK-NEXT:   %[[Q:.+]] = arith.trunci %[[D]] : i32 to i4
// CHECK-NEXT:   %[[W:.+]] = arith.extsi %[[Q]] : i4 to i32
// CHECK-NEXT:   %[[C:.+]] = arith.extsi %b : i4 to i32
// CHECK-NEXT:   %[[E:.+]] = arith.addi %[[W]], %[[C]] : i32
// CHECK-NEXT:   %[[S:.+]] = arith.trunci %[[E]] : i32 to i4
// CHECK-NEXT:   func.return %[[S]] : i4

// Numbers without a sign are extended by zeros, as is the amount of a shift.
// CHECK-LABEL: @unsigned
func.func @unsigned(%a: i2, %b: i2) -> (i2, i1, i2) {
  // CHECK-NEXT:   arith.extui %a : i2 to i32
  // CHECK-NEXT:   arith.extui %b : i2 to i32
  // CHECK-NEXT:   arith.remui
  %r = arith.remui %a, %b : i2
  // CHECK:        arith.extui %a : i2 to i32
  // CHECK-NEXT:   arith.extui %b : i2 to i32
  // CHECK-NEXT:   arith.cmpi ult, {{.*}} : i32
  %c = arith.cmpi ult, %a, %b : i2
  // CHECK-NEXT:   arith.extsi %a : i2 to i32
  // CHECK-NEXT:   arith.extui %b : i2 to i32
  // CHECK-NEXT:   arith.shrsi
  %s = arith.shrsi %a, %b : i2
  func.return %r, %c, %s : i2, i1, i2
}

// A float becomes the nearest number of the small type; leading zeros are fewer.
// CHECK-LABEL: @adjusted
func.func @adjusted(%x: f32, %a: i4) -> (i4, i4) {
  // CHECK:        %[[I:.+]] = arith.fptosi %x : f32 to i32
  // CHECK-NEXT:   %[[M:.+]] = arith.constant 7 : i32
  // CHECK-NEXT:   arith.minsi %[[I]], %[[M]] : i32
  // CHECK-NEXT:   arith.constant -8 : i32
  // CHECK-NEXT:   arith.maxsi
  %i = arith.fptosi %x : f32 to i4
  // CHECK:        math.ctlz {{.*}} : i32
  // CHECK-NEXT:   arith.constant 28 : i32
  // CHECK-NEXT:   arith.subi
  %z = math.ctlz %a : i4
  func.return %i, %z : i4, i4
}

// Lanes of a vector too.
// CHECK-LABEL: @vectors
func.func @vectors(%a: vector<4xi4>) -> i4 {
  // CHECK:        arith.muli %{{.+}}, %{{.+}} : vector<4xi32>
  %m = arith.muli %a, %a : vector<4xi4>
  // CHECK:        arith.extui %{{.+}} : vector<4xi4> to vector<4xi32>
  // CHECK-NEXT:   vector.reduction <maxui>, %{{.+}} : vector<4xi32> into i32
  %r = vector.reduction <maxui>, %m : vector<4xi4> into i4
  func.return %r : i4
}

// What only moves stays, and so do wider integers and bools.
// CHECK-LABEL: @untouched
func.func @untouched(%a: i4, %b: i4, %c: i1, %m: memref<4xi4>, %i: index, %n: i8) -> i8 {
  // CHECK-NOT:    i32
  // CHECK:        arith.select %c, %a, %b : i4
  // CHECK-NEXT:   memref.store
  // CHECK-NEXT:   arith.xori %c, %c : i1
  // CHECK-NEXT:   arith.addi %n, %n : i8
  // CHECK-NEXT:   func.return
  %t = arith.select %c, %a, %b : i4
  memref.store %t, %m[%i] : memref<4xi4>
  %d = arith.xori %c, %c : i1
  %r = arith.addi %n, %n : i8
  func.return %r : i8
}
