// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
tir.func @fill("a" %a: !tir.handle, "n" %n: i64) {
  %A = tir.match_buffer "A" %a dims [%n : i64] : !tir.handle -> memref<?xf32>
}
tir.func @shift("A" %A: memref<4xf32>) {
}
// CHECK: relax.func @in_place(
relax.func @in_place("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: relax.call_tir_inplace @shift(%{{.*}}) inplace [0 : i64] : (tensor<4xf32>) -> tensor<4xf32>
  %a = relax.call_tir_inplace @shift(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: relax.call_inplace_packed "env.shift"(%{{.*}}) inplace [0 : i64] : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call_inplace_packed "env.shift"(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: relax.alloc_tensor : tensor<4xf32>
  %c = relax.alloc_tensor : tensor<4xf32>
  relax.return %b : tensor<4xf32>
}
// CHECK: relax.func private impure @helper("x" %{{.*}}: tensor<4xf32>) -> !relax.object attrs {
relax.func private impure @helper("x" %x: tensor<4xf32>) -> !relax.object attrs {relax.note = 1 : i64} {
  // CHECK: relax.string "name"
  %s = relax.string "name"
  // CHECK: relax.call_packed "env.print"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, !relax.object) -> !relax.object
  %o = relax.call_packed "env.print"(%x, %s) : (tensor<4xf32>, !relax.object) -> !relax.object
  // CHECK: relax.func_ref @block : !relax.callable<>
  %f = relax.func_ref @block : !relax.callable<>
  // CHECK: relax.call_pure_packed "env.map"(%{{.*}}, %{{.*}}) : (!relax.callable<>, !relax.object) -> !relax.object
  %p = relax.call_pure_packed "env.map"(%f, %o) : (!relax.callable<>, !relax.object) -> !relax.object
  relax.return %o : !relax.object
}
// CHECK: relax.func @block(
relax.func @block("x" %x: tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">> {
  relax.return %x : tensor<?x4xf32, #relay.sizes<"n">>
}
// CHECK: relax.func @types("a" %{{.*}}: !relax.tensor<>, "b" %{{.*}}: !relax.tensor<rank = 2>, "c" %{{.*}}: !relax.tensor<rank = 2, dtype = f32>, "d" %{{.*}}: !relax.tensor<dtype = f32>, "e" %{{.*}}: !relax.tensor<shape = ["n", 4]>, "f" %{{.*}}: !relax.shape<unknown>, "g" %{{.*}}: !relax.shape<rank = 2>, "h" %{{.*}}: !relax.shape<["n", 4]>, "i" %{{.*}}: !relax.prim<i64>, "j" %{{.*}}: !relax.prim<i64, "m">, "k" %{{.*}}: !relax.prim<i64, 4>, "l" %{{.*}}: !relax.prim<f32, 0.5{{.*}}>, "o" %{{.*}}: !relax.callable<>, "p" %{{.*}}: !relax.callable<(tensor<4xf32>) -> tensor<4xf32>>, "q" %{{.*}}: !relax.callable<impure>) -> !relax.callable<impure (!relax.object) -> tuple<>>
relax.func @types("a" %a: !relax.tensor<>, "b" %b: !relax.tensor<rank = 2>, "c" %c: !relax.tensor<rank = 2, dtype = f32>,
    "d" %d: !relax.tensor<dtype = f32>, "e" %e: !relax.tensor<shape = ["n", 4]>, "f" %f: !relax.shape<unknown>,
    "g" %g: !relax.shape<rank = 2>, "h" %h: !relax.shape<["n", 4]>, "i" %i: !relax.prim<i64>,
    "j" %j: !relax.prim<i64, "m">, "k" %k: !relax.prim<i64, 4>, "l" %l: !relax.prim<f32, 0.5>, "o" %o: !relax.callable<>,
    "p" %p: !relax.callable<(tensor<4xf32>) -> tensor<4xf32>>, "q" %q: !relax.callable<impure>)
    -> !relax.callable<impure (!relax.object) -> tuple<>> {
  %r = relax.match_cast %q : !relax.callable<impure> -> !relax.callable<impure (!relax.object) -> tuple<>>
  relax.return %r : !relax.callable<impure (!relax.object) -> tuple<>>
}
// CHECK: relax.func @main(
relax.func @main("x" %x: tensor<4xf32>, "y" %y: tensor<?x4xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) -> !relax.object {
  // CHECK: %{{.*}}, %{{.*}} = relax.dataflow -> tensor<4xf32>, tuple<tensor<4xf32>, tensor<4xf32>> {
  %0, %1 = relax.dataflow -> tensor<4xf32>, tuple<tensor<4xf32>, tensor<4xf32>> {
    // CHECK: relax.call_tir @double(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
    %a = relax.call_tir @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: relax.call_tir @fill() sizes ["n"] : () -> tensor<?xf32, #relay.sizes<"n">>
    %b = relax.call_tir @fill() sizes ["n"] : () -> tensor<?xf32, #relay.sizes<"n">>
    // CHECK: relay.exp(
    %d = relay.exp(%a) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: relax.tuple(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
    %t = relax.tuple(%a, %d) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
    // CHECK: relax.output %{{.*}} : tensor<4xf32>, %{{.*}} : tuple<tensor<4xf32>, tensor<4xf32>>
    relax.output %d : tensor<4xf32>, %t : tuple<tensor<4xf32>, tensor<4xf32>>
  }
  // CHECK: relax.tuple_get %{{.*}}[1] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %2 = relax.tuple_get %1[1] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  // CHECK: relax.call_dps_packed "env.linear"(%{{.*}}) : (tensor<4xf32>) -> tensor<2xf32>
  %3 = relax.call_dps_packed "env.linear"(%2) : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: relax.call_pure_packed "env.sort"(%{{.*}}) : (tensor<2xf32>) -> !relax.tensor<rank = 1>
  %4 = relax.call_pure_packed "env.sort"(%3) : (tensor<2xf32>) -> !relax.tensor<rank = 1>
  // CHECK: relax.match_cast %{{.*}} : !relax.tensor<rank = 1> -> tensor<?xf32, #relay.sizes<"m">>
  %5 = relax.match_cast %4 : !relax.tensor<rank = 1> -> tensor<?xf32, #relay.sizes<"m">>
  // CHECK: relax.shape : !relax.shape<["2 * m", 4]>
  %6 = relax.shape : !relax.shape<["2 * m", 4]>
  // CHECK: relax.prim_value : !relax.prim<i64, "m + 1">
  %7 = relax.prim_value : !relax.prim<i64, "m + 1">
  // CHECK: relax.shape_of %{{.*}} : tensor<?x4xf32, #relay.sizes<"n">> -> !relax.shape<["n", 4]>
  %8 = relax.shape_of %y : tensor<?x4xf32, #relay.sizes<"n">> -> !relax.shape<["n", 4]>
  // CHECK: relax.call @block(%{{.*}}) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  %9 = relax.call @block(%y) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
  // CHECK: relax.if %{{.*}} : tensor<i1> -> tensor<4xf32> {
  %10 = relax.if %c : tensor<i1> -> tensor<4xf32> {
    // CHECK-NEXT: relax.yield %{{.*}} : tensor<4xf32>
    relax.yield %x : tensor<4xf32>
  } else {
    relax.yield %2 : tensor<4xf32>
  }
  %11 = relax.tuple(%10, %9, %5, %6, %7, %8) : (tensor<4xf32>, tensor<?x4xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"m">>, !relax.shape<["2 * m", 4]>, !relax.prim<i64, "m + 1">, !relax.shape<["n", 4]>) -> tuple<tensor<4xf32>, tensor<?x4xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"m">>, !relax.shape<["2 * m", 4]>, !relax.prim<i64, "m + 1">, !relax.shape<["n", 4]>>
  // CHECK: relax.return
  relax.return %11 : tuple<tensor<4xf32>, tensor<?x4xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"m">>, !relax.shape<["2 * m", 4]>, !relax.prim<i64, "m + 1">, !relax.shape<["n", 4]>>
}

// CHECK: relax.func @partial(
relax.func @partial("x" %x: !relax.tensor<>, "s" %s: !relax.shape<rank = 2>) -> !relax.tensor<rank = 2> {
  // CHECK: relax.apply "nn.softmax"(%{{.*}}) ["data"] {axis = -1 : i64} : (!relax.tensor<>) -> !relax.tensor<>
  %0 = relax.apply "nn.softmax"(%x) ["data"] {axis = -1 : i64} : (!relax.tensor<>) -> !relax.tensor<>
  // CHECK: relax.apply "concat"(%{{.*}}, %{{.*}}) ["tensors*", "tensors*"] : (!relax.tensor<>, !relax.tensor<>) -> !relax.tensor<>
  %1 = relax.apply "concat"(%0, %x) ["tensors*", "tensors*"] : (!relax.tensor<>, !relax.tensor<>) -> !relax.tensor<>
  // CHECK: relax.apply "reshape"(%{{.*}}, %{{.*}}) ["x", "shape"] : (!relax.tensor<>, !relax.shape<rank = 2>) -> !relax.tensor<rank = 2>
  %2 = relax.apply "reshape"(%1, %s) ["x", "shape"] : (!relax.tensor<>, !relax.shape<rank = 2>) -> !relax.tensor<rank = 2>
  relax.return %2 : !relax.tensor<rank = 2>
}
