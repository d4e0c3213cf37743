// RUN: stepwell-opt %s --verify-diagnostics --split-input-file | filecheck %s
// Each case breaks one numbered constraint. Those that text cannot break are in tests/dialects/test_relax.py.

// (C1) relax.tensor: sizes are in normal form.
relax.func @f("x" %x: !relax.tensor<shape = ["n + n"]>) -> !relax.object {
  relax.return %x : !relax.tensor<shape = ["n + n"]>
}
// CHECK: (C1) size 'n + n', expected '2 * n'

// -----

// (C1) relax.shape: sizes are expressions of names.
relax.func @f("x" %x: !relax.shape<["n +"]>) -> !relax.object {
  relax.return %x : !relax.shape<["n +"]>
}
// CHECK: (C1) size 'n +': expected an expression of names and integers

// -----

// (C1) relax.prim: a float has no size.
relax.func @f("x" %x: !relax.prim<f32, "n">) -> !relax.object {
  relax.return %x : !relax.prim<f32, "n">
}
// CHECK: (C1) size 'n' of a float

// -----

// (C1) relax.func: one name for each parameter.
"relax.func"() <{sym_name = "f", param_names = ["x"], result_type = !relax.object}> ({
  %s = relax.string "s"
  relax.return %s : !relax.object
}) : () -> ()
// CHECK: (C1) 1 names for 0 parameters

// -----

// (C1) relax.func: a parameter is a value.
relax.func @f("x" %x: memref<4xf32>) -> !relax.object {
  relax.return %x : memref<4xf32>
}
// CHECK: (C1) parameter x: type memref<4xf32>, expected one of values of relax

// -----

// (C2) relax.func: the body ends in relax.return.
relax.func @f("x" %x: tensor<f32>) -> tensor<f32> {
  relax.yield %x : tensor<f32>
}
// CHECK: (C2) the body does not end in relax.return

// -----

// (C2) relax.func: the returned value has the result type.
relax.func @f("x" %x: tensor<f32>) -> tensor<f64> {
  relax.return %x : tensor<f32>
}
// CHECK: (C2) returns tensor<f32>, expected tensor<f64>

// -----

// (C3) relax.func: something determines each size.
relax.func @f("x" %x: !relax.object) -> !relax.object {
  %0 = relax.shape : !relax.shape<["n"]>
  relax.return %0 : !relax.shape<["n"]>
}
// CHECK: (C3) relax.shape: unknown size n, expected a parameter or a relax.match_cast with this size

// -----

// (C3) relax.func: a branch determines no size after it.
relax.func @f("x" %x: !relax.object, "c" %c: tensor<i1>) -> !relax.object {
  %0 = relax.if %c : tensor<i1> -> !relax.object {
    %1 = relax.match_cast %x : !relax.object -> !relax.shape<["n"]>
    relax.yield %x : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  %2 = relax.shape : !relax.shape<["n"]>
  relax.return %2 : !relax.shape<["n"]>
}
// CHECK: (C3) relax.shape: unknown size n

// -----

// (C4) relax.func: a pure function has no side effects.
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.call_packed "env.print"(%x) : (tensor<f32>) -> !relax.object
  relax.return %0 : !relax.object
}
// CHECK: (C4) relax.call_packed "env.print" in a pure function

// -----

// (C5) relax.func: upper bounds are numbers.
relax.func @f("x" %x: tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32> attrs {tir_var_upper_bound = {n = -1 : i64}} {
  %0 = relay.sum(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
// CHECK: (C5) tir_var_upper_bound: n = -1 : i64, expected an integer from 0 on

// -----

// (C1) relax.call: the function is there.
relax.func @f("x" %x: tensor<f32>) -> tensor<f32> {
  %0 = relax.call @g(%x) : (tensor<f32>) -> tensor<f32>
  relax.return %0 : tensor<f32>
}
// CHECK: (C1) no function 'g' of relax in the module

// -----

// (C2) relax.call: the function has these parameters.
relax.func @g("x" %x: tensor<?xf32, #relay.sizes<"n">>, "y" %y: tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">> {
  relax.return %x : tensor<?xf32, #relay.sizes<"n">>
}
relax.func @f("x" %x: tensor<4xf32>, "y" %y: tensor<3xf32>) -> tensor<4xf32> {
  %0 = relax.call @g(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C2) argument y of type tensor<3xf32>, expected tensor<4xf32>

// -----

// (C2) relax.call: the function has this result.
relax.func @g("x" %x: tensor<f32>) -> tensor<f32> {
  relax.return %x : tensor<f32>
}
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.call @g(%x) : (tensor<f32>) -> !relax.object
  relax.return %0 : !relax.object
}
// CHECK: (C2) result of type !relax.object, expected tensor<f32>

// -----

// (C1) relax.call_tir: results are tensors of known shape.
tir.func @k("A" %A: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.call_tir @k() : () -> !relax.tensor<rank = 1>
  relax.return %0 : !relax.tensor<rank = 1>
}
// CHECK: (C1) result of type !relax.tensor<rank = 1>, expected a tensor of known shape and data type

// -----

// (C1) relax.call_tir: arguments are tensors.
tir.func @k("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: !relax.object) -> !relax.object {
  %0 = relax.call_tir @k(%x) : (!relax.object) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C1) argument of type !relax.object, expected a tensor

// -----

// (C2) relax.call_tir: the function is there.
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C2) no function 'k' in the module

// -----

// (C3) relax.call_tir: the function has this number of parameters.
tir.func @k("A" %A: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C3) 1 arguments, 1 results and 0 sizes, expected 1 buffers and 0 numbers

// -----

// (C3) relax.call_tir: buffers have the data types of the tensors.
tir.func @k("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<4xi32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C3) A: a tensor of int32, expected float32

// -----

// (C3) relax.call_tir: buffers have the ranks of the tensors.
tir.func @k("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<4x4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C3) A: a tensor of rank 2, expected 1

// -----

// (C3) relax.call_tir: buffers have the sizes of the tensors.
tir.func @k("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<8xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C3) A: size 8 of dimension 0, expected 4

// -----

// (C3) relax.call_tir: a symbolic size has one value.
tir.func @k("a" %a: !tir.handle, "b" %b: !tir.handle) {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
  %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<?xf32>
}
relax.func @f("x" %x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @k(%x) : (tensor<8xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK: (C3) n = 8 from argument A, 4 from argument B

// -----

// (C3) relax.call_tir: an expression of symbolic sizes has the size of its values.
tir.func @k("a" %a: !tir.handle, "b" %b: !tir.handle) {
  %n = tir.symbol "n" : i32
  %c = arith.constant 2 : i32
  %m = arith.muli %n, %c : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
  %B = tir.match_buffer "B" %b dims [%m] : !tir.handle -> memref<?xf32>
}
relax.func @f("x" %x: tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"m">> {
  %0 = relax.call_tir @k(%x) : (tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"m">>
  relax.return %0 : tensor<?xf32, #relay.sizes<"m">>
}
// CHECK: (C3) B: size m of dimension 0, expected 2 * m

// -----

// (C1) relax.call_dps_packed: results are tensors of known shape.
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<f32>) -> !relax.object
  relax.return %0 : !relax.object
}
// CHECK: (C1) result of type !relax.object, expected a tensor of known shape and data type

// -----

// (C1) relax.call_packed: the result is a value.
relax.func impure @f("x" %x: tensor<f32>) -> tensor<f32> {
  %0 = relax.call_packed "f"(%x) : (tensor<f32>) -> i32
  relax.return %x : tensor<f32>
}
// CHECK: (C1) type i32, expected one of values of relax

// -----

// (C1) relax.call_pure_packed: the result is a value.
relax.func @f("x" %x: tensor<f32>) -> tensor<f32> {
  %0 = relax.call_pure_packed "f"(%x) : (tensor<f32>) -> i32
  relax.return %x : tensor<f32>
}
// CHECK: (C1) type i32, expected one of values of relax

// -----

// (C1) relax.tuple: the result is the tuple of the values.
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.tuple(%x) : (tensor<f32>) -> tuple<tensor<f64>>
  relax.return %0 : tuple<tensor<f64>>
}
// CHECK: (C1) result of type tuple<tensor<f64>>, expected tuple<tensor<f32>>

// -----

// (C1) relax.tuple_get: the field is there.
relax.func @f("x" %x: tuple<tensor<f32>>) -> tensor<f32> {
  %0 = relax.tuple_get %x[1] : tuple<tensor<f32>> -> tensor<f32>
  relax.return %0 : tensor<f32>
}
// CHECK: (C1) field 1 of a tuple of 1

// -----

// (C1) relax.shape: the type states the sizes.
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.shape : !relax.shape<rank = 2>
  relax.return %0 : !relax.shape<rank = 2>
}
// CHECK: (C1) type !relax.shape<rank = 2>, expected one with sizes

// -----

// (C1) relax.prim_value: the type states the value.
relax.func @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.prim_value : !relax.prim<i64>
  relax.return %0 : !relax.prim<i64>
}
// CHECK: (C1) type !relax.prim<i64>, expected one with a value

// -----

// (C1) relax.shape_of: the operand is a tensor.
relax.func @f("x" %x: !relax.object) -> !relax.object {
  %0 = relax.shape_of %x : !relax.object -> !relax.shape<unknown>
  relax.return %0 : !relax.shape<unknown>
}
// CHECK: (C1) operand of type !relax.object, expected a tensor

// -----

// (C2) relax.shape_of: the result states the sizes.
relax.func @f("x" %x: tensor<4xf32>) -> !relax.object {
  %0 = relax.shape_of %x : tensor<4xf32> -> !relax.shape<unknown>
  relax.return %0 : !relax.shape<unknown>
}
// CHECK: (C2) result of type !relax.shape<unknown>, expected !relax.shape<[4]>

// -----

// (C1) relax.match_cast: the operand may have the type.
relax.func @f("x" %x: tensor<4xf32>) -> !relax.object {
  %0 = relax.match_cast %x : tensor<4xf32> -> tensor<5xf32>
  relax.return %0 : tensor<5xf32>
}
// CHECK: (C1) tensor<4xf32> is never tensor<5xf32>

// -----

// (C1) relax.dataflow: no operation has side effects.
relax.func impure @f("x" %x: tensor<f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.call_packed "env.print"(%x) : (tensor<f32>) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}
// CHECK: (C1) relax.call_packed "env.print" in a dataflow region

// -----

// (C1) relax.dataflow: no operation is a branch.
relax.func @f("x" %x: tensor<f32>, "c" %c: tensor<i1>) -> tensor<f32> {
  %0 = relax.dataflow -> tensor<f32> {
    %1 = relax.if %c : tensor<i1> -> tensor<f32> {
      relax.yield %x : tensor<f32>
    } else {
      relax.yield %x : tensor<f32>
    }
    relax.output %1 : tensor<f32>
  }
  relax.return %0 : tensor<f32>
}
// CHECK: (C1) relax.if in a dataflow region

// -----

// (C2) relax.dataflow: outputs have the types of the results.
relax.func @f("x" %x: tensor<f32>) -> tensor<f64> {
  %0 = relax.dataflow -> tensor<f64> {
    relax.output %x : tensor<f32>
  }
  relax.return %0 : tensor<f64>
}
// CHECK: (C2) the region ends in values of

// -----

// (C1) relax.if: the condition is a bool.
relax.func @f("x" %x: tensor<f32>) -> tensor<f32> {
  %0 = relax.if %x : tensor<f32> -> tensor<f32> {
    relax.yield %x : tensor<f32>
  } else {
    relax.yield %x : tensor<f32>
  }
  relax.return %0 : tensor<f32>
}
// CHECK: (C1) condition of type tensor<f32>, expected tensor<i1>

// -----

// (C2) relax.if: branches have the type of the result.
relax.func @f("x" %x: tensor<f32>, "c" %c: tensor<i1>) -> tensor<f64> {
  %0 = relax.if %c : tensor<i1> -> tensor<f64> {
    relax.yield %x : tensor<f32>
  } else {
    relax.yield %x : tensor<f32>
  }
  relax.return %0 : tensor<f64>
}
// CHECK: (C2) a branch yields tensor<f32>, expected tensor<f64>

// -----

// (C1) relax.func_ref: the module has the function.
relax.func @f() -> !relax.callable<> {
  %0 = relax.func_ref @g : !relax.callable<>
  relax.return %0 : !relax.callable<>
}
// CHECK: (C1) no function 'g' of relax in the module

// -----

// (C2) relax.func_ref: the type states side effects.
relax.func impure @f() -> !relax.callable<> {
  %0 = relax.func_ref @f : !relax.callable<>
  relax.return %0 : !relax.callable<>
}
// CHECK: (C2) result of type !relax.callable<>, expected !relax.callable<impure>

// -----

// (C2) relax.call_pure_packed: no argument has side effects.
relax.func impure @f() -> !relax.object {
  %0 = relax.func_ref @f : !relax.callable<impure>
  %1 = relax.call_pure_packed "env.map"(%0) : (!relax.callable<impure>) -> !relax.object
  relax.return %1 : !relax.object
}
// CHECK: (C2) an argument is a function with side effects

// -----

// (C1) relax.call_tir_inplace: a position for each result.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k(%a) inplace [0, -1] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) 2 positions for 1 results

// -----

// (C1) relax.call_tir_inplace: an operand is overwritten.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k2(%a) inplace [-1] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) no operand is overwritten

// -----

// (C1) relax.call_tir_inplace: positions are those of operands.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k(%a) inplace [1] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) position 1, expected -1 or one of 1 operands

// -----

// (C1) relax.call_tir_inplace: positions are distinct.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.call_tir_inplace @k(%a) inplace [0, 0] : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  relax.return %x : tensor<4xf32>
}
// CHECK: (C1) two results overwrite operand 0

// -----

// (C2) relax.call_tir_inplace: types of results and operands are equal.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xi32>
  relax.return %x : tensor<4xf32>
}
// CHECK: (C2) result of type tensor<4xi32> overwrites an operand of type tensor<4xf32>

// -----

// (C3) relax.call_tir_inplace: an overwritten operand is not read later.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}
// CHECK: (C3) operand 0 is overwritten, and read later by relax.return

// -----

// (C3) relax.call_tir_inplace: nor is a value with the same memory.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.tuple(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %1 = relax.call_tir_inplace @k(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relax.tuple_get %t[0] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  relax.return %2 : tensor<4xf32>
}
// CHECK: (C3) operand 0 is overwritten, and read later by relax.return

// -----

// (C3) relax.call_tir_inplace: nor by the call itself.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k2(%a, %a) inplace [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C3) operand 0 is overwritten, and read later by relax.call_tir_inplace

// -----

// (C3) relax.call_inplace_packed: a constant is not overwritten.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = relay.constant 1.0 : tensor<4xf32>
  %1 = relax.call_inplace_packed "env.f"(%c) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C3) operand 0 is overwritten, and is a constant

// -----

// (C3) relax.call_tir_inplace: nor a parameter of a function that is called.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = relax.call_tir_inplace @k(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
relax.func @g("y" %y: tensor<4xf32>) -> tensor<4xf32> {
  %2 = relax.call @f(%y) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %2 : tensor<4xf32>
}
// CHECK: (C3) operand 0 is overwritten, and is a parameter of f, which is called

// -----

// (C4) relax.call_tir_inplace: the kernel is there.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @none(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C4) no function 'none' in the module

// -----

// (C4) relax.call_tir_inplace: the kernel takes the operands and the new results.
tir.func @k("A" %A: memref<4xf32>) {
}
tir.func @k2("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir_inplace @k2(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C4) 1 arguments, 0 results and 0 sizes, expected 2 buffers and 0 numbers

// -----

// (C1) relax.call_inplace_packed: positions are those of operands.
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = relax.call_inplace_packed "env.f"(%x) inplace [3] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) position 3, expected -1 or one of 1 operands

// -----

// (C2) relax.call_inplace_packed: types of results and operands are equal.
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xi32> {
  %1 = relax.call_inplace_packed "env.f"(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xi32>
  relax.return %1 : tensor<4xi32>
}
// CHECK: (C2) result of type tensor<4xi32> overwrites an operand of type tensor<4xf32>

// -----

// (C1) relax.to_vdevice: the module has the device.
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = relax.to_vdevice %x on "cuda:0" : tensor<4xf32> -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) device 'cuda:0', expected one of the module: none

// -----

// (C2) relax.to_vdevice: the result has the type of the value.
builtin.module attributes {relax.devices = ["cuda"]} {
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xi32> {
  %1 = relax.to_vdevice %x on "cuda:0" : tensor<4xf32> -> tensor<4xi32>
  relax.return %1 : tensor<4xi32>
}
}
// CHECK: (C2) result of type tensor<4xi32> for tensor<4xf32>

// -----

// (C1) relax.hint_on_device: the module has the device.
relax.func @f("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = relax.hint_on_device %x on "cuda:0" : tensor<4xf32> -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK: (C1) device 'cuda:0', expected one of the module: none

// -----

// (C2) relax.hint_on_device: the value is a tensor.
builtin.module attributes {relax.devices = ["cuda"]} {
relax.func @f("x" %x: !relax.object) -> !relax.object {
  %1 = relax.hint_on_device %x on "cuda:0" : !relax.object -> !relax.object
  relax.return %1 : !relax.object
}
}
// CHECK: (C2) value of type !relax.object, expected a tensor

// -----

// (C6) relax.func: the tensors of an operation are on one device.
builtin.module attributes {relax.devices = ["llvm", "cuda"]} {
relax.func @f("x" %x: tensor<4xf32>, "y" %y: tensor<4xf32>) -> tensor<4xf32> attrs {param_devices = {y = "cuda:0"}} {
  %1 = relay.add(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
}
// CHECK: (C6) relay.add: values on llvm:0 and cuda:0, expected one device (R.to_vdevice)

// -----

// (C1) relax.alloc_tensor: the sizes have names.
relax.func @f() -> tensor<?xf32> {
  %0 = relax.alloc_tensor : tensor<?xf32>
  relax.return %0 : tensor<?xf32>
}
// CHECK: (C1)

// -----

// (C4) relax.func: a pure function has no effects, unless its attribute says so.
relax.func @forced() -> !relax.object attrs {relax.force_pure = true} {
  %0 = relax.call_packed "f"() : () -> !relax.object
  relax.return %0 : !relax.object
}
relax.func @f() -> !relax.object {
  %0 = relax.call_packed "g"() : () -> !relax.object
  relax.return %0 : !relax.object
}
// CHECK: (C4) relax.call_packed "g" in a pure function

// -----

// (C1) relax.apply: each operand has a parameter.
relax.func @f("x" %x: !relax.tensor<>) -> !relax.tensor<> {
  %0 = relax.apply "exp"(%x) [] : (!relax.tensor<>) -> !relax.tensor<>
  relax.return %0 : !relax.tensor<>
}
// CHECK: (C1) 0 parameters

// -----

// (C1) relax.apply: operands are tensors and shapes.
relax.func @f("x" %x: !relax.object) -> !relax.tensor<> {
  %0 = relax.apply "exp"(%x) ["x"] : (!relax.object) -> !relax.tensor<>
  relax.return %0 : !relax.tensor<>
}
// CHECK: (C1) operand of type !relax.object, expected a tensor or a shape

// -----

// (C2) relax.apply: the type of the result is inferred, or more general.
relax.func @f("x" %x: !relax.tensor<dtype = f32>) -> !relax.tensor<dtype = f16> {
  %0 = relax.apply "exp"(%x) ["x"] : (!relax.tensor<dtype = f32>) -> !relax.tensor<dtype = f16>
  relax.return %0 : !relax.tensor<dtype = f16>
}
// CHECK: (C2) result of type !relax.tensor<dtype = f16>, expected !relax.tensor<dtype = f32>
