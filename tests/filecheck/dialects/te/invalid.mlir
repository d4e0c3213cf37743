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

// -----

// (C1) te.scan: one init for each result.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32>, %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C1) 2 inits for 1 results

// -----

// (C1) te.scan: one yielded value for each result.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>, %U : tensor<f32>
  }
  te.params
}
// CHECK: (C1) 2 yielded values for 1 results

// -----

// (C1) te.scan: no condition.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %c = arith.constant true
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32> where %c
  }
  te.params
}
// CHECK: (C1) the body does not end in a plain te.yield

// -----

// (C2) te.scan: the body takes an integer first.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : f32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      te.yield %t : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C2) the body takes f32, tensor<8xf32>

// -----

// (C3) te.scan: one dim for each `?`.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<?xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<?xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C3) 0 dims for 1 open extents

// -----

// (C3) te.scan: dims have the type of the time.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %n = tir.symbol "n" : i64
  %S = te.scan "S" time "t" init %I : tensor<1xf32> dims [%n : i64] (%t : i32, %s : tensor<?xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<?xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C3) a dim of type i64, expected i32

// -----

// (C4) te.scan: results have a first axis.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<f32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[] : tensor<f32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C4) a result without dimensions

// -----

// (C4) te.scan: results have the same first extent.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S, %T = te.scan "S" time "t" init %I : tensor<1xf32>, %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>, %r : tensor<9xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    %V = te.compute "U" () : tensor<f32> {
      %1 = te.read %s[%t] : tensor<8xf32>
      te.yield %1 : f32
    }
    te.yield %U : tensor<f32>, %V : tensor<f32>
  }
  te.params
}
// CHECK: (C4) results have different extents of time

// -----

// (C4) te.scan: inits have the same number of rows.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %J = te.placeholder "J" [2] : tensor<2xf32>
  %S, %T = te.scan "S" time "t" init %I : tensor<1xf32>, %J : tensor<2xf32> (%t : i32, %s : tensor<8xf32>, %r : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    %V = te.compute "U" () : tensor<f32> {
      %1 = te.read %s[%t] : tensor<8xf32>
      te.yield %1 : f32
    }
    te.yield %U : tensor<f32>, %V : tensor<f32>
  }
  te.params
}
// CHECK: (C4) inits have different numbers of rows

// -----

// (C4) te.scan: inits have no more rows than results.
te.func @f {
  %I = te.placeholder "I" [9] : tensor<9xf32>
  %S = te.scan "S" time "t" init %I : tensor<9xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C4) inits of 9 rows, expected 1 to 8

// -----

// (C5) te.scan: an init has the element type of its result.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %J = te.placeholder "J" [1] : tensor<1xi32>
  %S = te.scan "S" time "t" init %J : tensor<1xi32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C5) an init of type tensor<1xi32> for a result of type tensor<8xf32>

// -----

// (C5) te.scan: an init has the rank of its result.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %J = te.placeholder "J" [1, 4] : tensor<1x4xf32>
  %S = te.scan "S" time "t" init %J : tensor<1x4xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C5) an init of type tensor<1x4xf32> for a result of type tensor<8xf32>

// -----

// (C6) te.scan: the body yields rows.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %I : tensor<1xf32>
  }
  te.params
}
// CHECK: (C6) the body yields tensor<1xf32>, expected tensor<f32>

// -----

// (C6) te.scan: the body yields what it computes.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %Z = te.placeholder "Z" [] : tensor<f32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %Z : tensor<f32>
  }
  te.params
}
// CHECK: (C6) the body yields what no te.compute in it gives

// -----

// (C6) te.scan: the body yields different values.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S, %T = te.scan "S" time "t" init %I : tensor<1xf32>, %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>, %r : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    te.yield %U : tensor<f32>, %U : tensor<f32>
  }
  te.params
}
// CHECK: (C6) a value is yielded twice

// -----

// (C7) te.scan: only te.compute in the body.
te.func @f {
  %I = te.placeholder "I" [1] : tensor<1xf32>
  %S = te.scan "S" time "t" init %I : tensor<1xf32> (%t : i32, %s : tensor<8xf32>) {
    %U = te.compute "U" () : tensor<f32> {
      %0 = te.read %s[%t] : tensor<8xf32>
      te.yield %0 : f32
    }
    %c = arith.constant 1 : i32
    te.yield %U : tensor<f32>
  }
  te.params
}
// CHECK: (C7) arith.constant in the body

// -----

// (C1) te.scan: at least one result.
te.func @f {
  "te.scan"() <{op_name = "S", axis_name = "t", operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%t : i32):
    "te.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  }) : () -> ()
  te.params
}
// CHECK: (C1) no result

// -----

// (C1) te.extern: at least one result.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  te.extern "B" in %A : tensor<8xf32> (%a : memref<8xf32>) {
    tir.call_packed "f"()
  }
  te.params
}
// CHECK: (C1) no result

// -----

// (C1) te.extern: a buffer for each tensor.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = "te.extern"(%A) <{op_name = "B", operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a : memref<8xf32>):
    tir.call_packed "f"()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  te.params
}
// CHECK: (C1) 1 buffers for 2 tensors

// -----

// (C2) te.extern: one dim for each `?`.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.extern "B" (%b : memref<?xf32>) {
    tir.call_packed "f"()
  }
  te.params
}
// CHECK: (C2) 0 dims for 1 open extents

// -----

// (C3) te.extern: buffers have the type of their tensor.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.extern "B" in %A : tensor<8xf32> (%a : memref<9xf32>, %b : memref<8xf32>) {
    tir.call_packed "f"()
  }
  te.params
}
// CHECK: (C3) a buffer of type memref<9xf32>, expected memref<8xf32>

// -----

// (C3) te.extern: buffers have no layout.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.extern "B" (%b : memref<8xf32, strided<[2]>>) {
    tir.call_packed "f"()
  }
  te.params
}
// CHECK: (C3) a buffer of type memref<8xf32, strided<[2]>>, expected memref<8xf32>

// -----

// (C4) te.extern: no op of te in the body.
te.func @f {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %i = arith.constant 0 : i32
  %B = te.extern "B" (%b : memref<8xf32>) {
    %0 = te.read %A[%i] : tensor<8xf32>
  }
  te.params
}
// CHECK: (C4) te.read in the body
