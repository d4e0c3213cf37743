// RUN: stepwell-opt %s --verify-diagnostics --split-input-file | filecheck %s
// Each case breaks one numbered constraint.

// (C1) relay.func: one name for each parameter.
"relay.func"() <{sym_name = "f", param_names = ["x"]}> ({
  relay.return
}) : () -> ()
// CHECK: (C1) 1 names for 0 parameters

// -----

// (C1) relay.func: a parameter says all its sizes.
relay.func @f("x" %x: tensor<?xf32>) {
  relay.return
}
// CHECK: (C1) parameter x: 0 sizes for 1 open extents

// -----

// (C2) relay.func: the body ends in relay.return.
relay.func @f("x" %x: tensor<f32>) {
  relay.yield %x : tensor<f32>
}
// CHECK: (C2) the body does not end in relay.return

// -----

// (C3) relay.func: size limits are comparisons with numbers.
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"n">>) attrs {size_limits = ["n < 64"]} {
  relay.return
}
// CHECK: (C3) size limit 'n < 64', expected one such as 'n <= 64'

// -----

// (C3) relay.func: size limits are of sizes of parameters.
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"n">>) attrs {size_limits = ["m <= 64"]} {
  relay.return
}
// CHECK: (C3) size limit m <= 64: no parameter has m

// -----

// (C5) relay.func: there is an upper bound for each name.
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"n">>) attrs {tir_var_upper_bound = 64 : i64} {
  relay.return
}
// CHECK: (C5) tir_var_upper_bound 64 : i64, expected a bound for each name

// -----

// (C1) relay.call: the function is there.
relay.func @f("x" %x: tensor<f32>) {
  %0 = relay.call @g(%x) : (tensor<f32>) -> tensor<f32>
  relay.return
}
// CHECK: (C1) no function 'g' in the module

// -----

// (C3) relay.call: sizes are in normal form.
tir.func @k("A" %A: memref<4xf32>, "n" %n: i64) {
}
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"n">>) {
  %0 = relay.call @k() sizes ["n + n"] : () -> tensor<4xf32>
  relay.return
}
// CHECK: (C3) size 'n + n', expected '2 * n'

// -----

// (C3) relay.call: a function of operators takes the default sizes.
relay.func @g("x" %x: tensor<f32>) {
  relay.return %x : tensor<f32>
}
relay.func @f("x" %x: tensor<f32>) {
  %0 = relay.call @g(%x) sizes ["1"] : (tensor<f32>) -> tensor<f32>
  relay.return
}
// CHECK: (C3) sizes of @g, expected the default ones

// -----

// (C2) relay.call: the function has these types.
relay.func @g("x" %x: tensor<f32>) {
  relay.return %x : tensor<f32>
}
relay.func @f("x" %x: tensor<f64>) {
  %0 = relay.call @g(%x) : (tensor<f64>) -> tensor<f32>
  relay.return
}
// CHECK: (C2) @g called with (tensor<f64>) -> (tensor<f32>), expected (tensor<f32>) -> (tensor<f32>)

// -----

// (C1) relay.if: the condition is a bool without dimensions.
relay.func @f("c" %c: tensor<1xi1>) {
  relay.if %c : tensor<1xi1> -> {
    relay.yield
  } else {
    relay.yield
  }
  relay.return
}
// CHECK: (C1) condition of type tensor<1xi1>, expected tensor<i1>

// -----

// (C2) relay.if: both branches give what it gives.
relay.func @f("c" %c: tensor<i1>, "x" %x: tensor<f32>) {
  %0 = relay.if %c : tensor<i1> -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } else {
    relay.yield %c : tensor<i1>
  }
  relay.return
}
// CHECK: (C2) a branch yields

// -----

// (C1) relay.constant: a number or a name.
relay.func @f() {
  %0 = "relay.constant"() <{value = 1 : i64, array_name = "w"}> : () -> tensor<i32>
  relay.return
}
// CHECK: (C1) expected a number or the name of an array

// -----

// (C2) relay.constant: its sizes are known.
relay.func @f() {
  %0 = relay.constant 1 : tensor<?xi32, #relay.sizes<"n">>
  relay.return
}
// CHECK: (C2) sizes ('n',), expected known ones

// -----

// (C1) #relay.sizes: a size is an expression of names.
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"f(n)">>) {
  relay.return
}
// CHECK: (C1) size 'f(n)': f(n) is no size

// -----

// (C1) relay.sizes: it is written in normal form.
relay.func @f("x" %x: tensor<?xf32, #relay.sizes<"1 + n">>) {
  relay.return
}
// CHECK: (C1) size '1 + n', expected 'n + 1'

// -----

// (C1) relay.exp, a relay.OperatorOp: operands say all their sizes.
relay.func @f("x" %x: tensor<4xf32>) {
  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<?xf32>
  relay.return
}
// CHECK: (C1) 0 sizes for 1 open extents

// -----

// (C2) relay.exp, a relay.OperatorOp: as many operands as the operator has.
relay.func @f("x" %x: tensor<4xf32>) {
  %0 = relay.exp(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return
}
// CHECK: (C2) exp: 2 operands, expected 1

// -----

// (C2) relay.sum, a relay.OperatorOp: attributes are of the types that the operator wants.
relay.func @f("x" %x: tensor<4xf32>) {
  %0 = relay.sum(%x) {axis = "x"} : (tensor<4xf32>) -> tensor<f32>
  relay.return
}
// CHECK: (C2) sum: axis = 'x'

// -----

// (C2) relay.sum, a relay.OperatorOp: what an attribute is by default is not there.
relay.func @f("x" %x: tensor<4xf32>) {
  %0 = relay.sum(%x) {keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  relay.return
}
// CHECK: (C2) attributes {'keepdims': False}, expected {}

// -----

// (C3) relay.exp, a relay.OperatorOp: results have the types that it computes.
relay.func @f("x" %x: tensor<4xf32>) {
  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<5xf32>
  relay.return
}
// CHECK: (C3) results tensor<5xf32>, expected tensor<4xf32>

// -----

// (C4) relay.func: as many names as results.
relay.func @f("x" %x: tensor<4xf32>) attrs {result_names = ["y", "z"]} {
  relay.return %x : tensor<4xf32>
}
// CHECK: (C4) 2 result names for 1 results

// -----

// (C4) relay.func: different names.
relay.func @f("x" %x: tensor<4xf32>) attrs {result_names = ["y", "y"]} {
  relay.return %x : tensor<4xf32>, %x : tensor<4xf32>
}
// CHECK: (C4) results of one name: y, y
