// RUN: stepwell-opt %s --verify-diagnostics --split-input-file | filecheck %s
// Each case breaks one numbered constraint.

// (C1) te.placeholder: one dim for each `?`.
te.func @f {
  %A = "te.placeholder"() <{tensor_name = "A"}> : () -> tensor<?xf32>
  te.params
}
// CHECK: (C1) 0 dims for 1 open extents

// -----

// (C1) te.read: one index for each dimension.
te.func @f {
  %A = te.placeholder "A" [8, 4] : tensor<8x4xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %0 = te.read %A[%i] : tensor<8x4xf32>
    te.yield %0 : f32
  }
  te.params
}
// CHECK: (C1) 1 indices into tensor<8x4xf32>

// -----

// (C2) te.read: the result has the element type.
te.func @f {
  %A = te.placeholder "A" [] : tensor<f32>
  %B = te.compute "B" () : tensor<i32> {
    %0 = "te.read"(%A) : (tensor<f32>) -> i32
    te.yield %0 : i32
  }
  te.params
}
// CHECK: (C2) result of type i32

// -----

// (C1) te.func: the body ends in te.params.
te.func @f {
  %0 = arith.constant 0 : i32
  te.yield %0 : i32
}
// CHECK: (C1) the body does not end in te.params

// -----

// (C1) te.params: no parameter is given twice.
te.func @f {
  %A = te.placeholder "A" [] : tensor<f32>
  te.params %A : tensor<f32>, %A : tensor<f32>
}
// CHECK: (C1) a parameter is given twice

// -----

// (C2) te.params: a number comes from a tir.symbol.
te.func @f {
  %0 = arith.constant 0 : i32
  te.params %0 : i32
}
// CHECK: (C2) a parameter of type i32 that is no tir.symbol

// -----

// (C1) te.compute: one name for each axis.
te.func @f {
  %B = "te.compute"() <{op_name = "B", axis_names = [], axis_kinds = ["spatial"], static_domains = array<i64: 0, 8>}> ({
  ^bb0(%i : i32):
    te.yield %i : i32
  }, {}, {}) : () -> tensor<8xi32>
  te.params
}
// CHECK: (C1) 0 names for 1 axes

// -----

// (C2) te.compute: spatial axes come first.
te.func @f {
  %B = te.compute "B" (reduce "k" %k : i32 in [0 +: 8], spatial "i" %i : i32 in [0 +: 8]) : tensor<8xi32> {
    te.yield %i : i32
  }
  te.params
}
// CHECK: (C2) a spatial axis behind a reduction axis

// -----

// (C3) te.compute: a reduction says how two values become one.
te.func @f {
  %B = te.compute "B" (reduce "k" %k : i32 in [0 +: 8]) : tensor<i32> {
    te.yield %k : i32
  }
  te.params
}
// CHECK: (C3) combine of what is a reduction or not

// -----

// (C4) te.compute: the body yields a value of the element type.
te.func @f {
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    te.yield %i : i32
  }
  te.params
}
// CHECK: (C4) body yields i32, expected f32

// -----

// (C5) te.compute: results have the extents of the spatial axes.
te.func @f {
  %B = "te.compute"() <{op_name = "B", axis_names = ["i"], axis_kinds = ["spatial"], static_domains = array<i64: 0, 8>}> ({
  ^bb0(%i : i32):
    te.yield %i : i32
  }, {}, {}) : () -> tensor<9xi32>
  te.params
}
// CHECK: (C5) result of type tensor<9xi32>

// -----

// (C6) te.compute: combine takes the values of two elements.
te.func @f {
  %B = te.compute "B" (reduce "k" %k : i32 in [0 +: 8]) : tensor<i32> {
    te.yield %k : i32
  } combine (%x : i32) {
    te.yield %x : i32
  } init () {
    %0 = arith.constant 0 : i32
    te.yield %0 : i32
  }
  te.params
}
// CHECK: (C6) combine takes i32
