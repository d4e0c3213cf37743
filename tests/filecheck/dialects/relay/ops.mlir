// RUN: STEPWELL_ROUNDTRIP

// Operators on tensors, with attributes of each kind, and several results; those that are what they are by default are
// not printed.
relay.func @operators("x" %x: tensor<2x4xf32>) {
  %0 = relay.nn.leaky_relu(%x) {alpha = 0.2} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1, %2 = relay.split(%0) {indices_or_sections = [1], axis = 1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
  %3 = relay.sum(%2) {axis = 0, keepdims = true} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %4 = relay.cast(%3) {dtype = "int32"} : (tensor<1x3xf32>) -> tensor<1x3xi32>
  %5 = relay.clip(%1) {a_min = neg_inf, a_max = 1.0e-05} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = relay.zeros() {shape = [], dtype = "bool"} : () -> tensor<i1>
  relay.return %4 : tensor<1x3xi32>, %5 : tensor<2x1xf32>
}
// CHECK-LABEL: relay.func @operators("x" %x: tensor<2x4xf32>) {
// CHECK-NEXT:    %[[a:\d+]] = relay.nn.leaky_relu(%x) {alpha = 0.2} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %[[b:\d+]], %[[c:\d+]] = relay.split(%[[a]]) {indices_or_sections = [1], axis = 1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
// CHECK-NEXT:    %[[d:\d+]] = relay.sum(%[[c]]) {axis = 0, keepdims = true} : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT:    %[[e:\d+]] = relay.cast(%[[d]]) {dtype = "int32"} : (tensor<1x3xf32>) -> tensor<1x3xi32>
// CHECK-NEXT:    %[[f:\d+]] = relay.clip(%[[b]]) {a_min = neg_inf, a_max = 1.0e-05} : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:    %[[g:\d+]] = relay.zeros() {shape = [], dtype = "bool"} : () -> tensor<i1>
// CHECK-NEXT:    relay.return %[[e]] : tensor<1x3xi32>, %[[f]] : tensor<2x1xf32>
// CHECK-NEXT:  }

// Constants: numbers, what is no literal among them, and arrays by name.
relay.func @constants() {
  %0 = relay.constant 1.0 : tensor<f32>
  %1 = relay.constant -0.0 : tensor<2xf16>
  %2 = relay.constant nan : tensor<f64>
  %3 = relay.constant neg_inf : tensor<0xf64>
  %4 = relay.constant true : tensor<i1>
  %5 = relay.constant 18446744073709551615 : tensor<ui64>
  %6 = relay.constant "conv1.weight" attributes {why = 1 : i32} : tensor<2x3xi8>
  relay.return
}
// CHECK-LABEL: relay.func @constants() {
// CHECK-NEXT:    %{{\d+}} = relay.constant 1.0 : tensor<f32>
// CHECK-NEXT:    %{{\d+}} = relay.constant -0.0 : tensor<2xf16>
// CHECK-NEXT:    %{{\d+}} = relay.constant nan : tensor<f64>
// CHECK-NEXT:    %{{\d+}} = relay.constant neg_inf : tensor<0xf64>
// CHECK-NEXT:    %{{\d+}} = relay.constant true : tensor<i1>
// CHECK-NEXT:    %{{\d+}} = relay.constant 18446744073709551615 : tensor<ui64>
// CHECK-NEXT:    %{{\d+}} = relay.constant "conv1.weight" attributes {why = 1 : i32} : tensor<2x3xi8>
// CHECK-NEXT:    relay.return
// CHECK-NEXT:  }

// Functions that become kernels, or that a library has; sizes that are not known, and what is made of them.
relay.func primitive @double("a" %a: tensor<?x4xf32, #relay.sizes<"n">>) {
  %0 = relay.concatenate(%a, %a) : (tensor<?x4xf32, #relay.sizes<"n">>, tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
  relay.return %0 : tensor<?x4xf32, #relay.sizes<"2 * n">>
}
relay.func primitive compiler "blas" @product("a" %a: tensor<4x4xf32>) attrs {tuned = true} {
  relay.return %a : tensor<4x4xf32>
}
// CHECK-LABEL: relay.func primitive @double("a" %a: tensor<?x4xf32, #relay.sizes<"n">>) {
// CHECK-NEXT:    %[[h:\d+]] = relay.concatenate(%a, %a) : (tensor<?x4xf32, #relay.sizes<"n">>, tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
// CHECK-NEXT:    relay.return %[[h]] : tensor<?x4xf32, #relay.sizes<"2 * n">>
// CHECK-NEXT:  }
// CHECK-NEXT:  relay.func primitive compiler "blas" @product("a" %a: tensor<4x4xf32>) attrs {tuned = true} {
// CHECK-NEXT:    relay.return %a : tensor<4x4xf32>
// CHECK-NEXT:  }

// Calls and branches.
relay.func @branches("x" %x: tensor<?x4xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) {
  %0 = relay.call @double(%x) attributes {offsets = [0 : i64]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
  %1, %2 = relay.if %c : tensor<i1> -> tensor<?x4xf32, #relay.sizes<"2 * n">>, tensor<i1> {
    relay.yield %0 : tensor<?x4xf32, #relay.sizes<"2 * n">>, %c : tensor<i1>
  } else {
    %3 = relay.exp(%0) : (tensor<?x4xf32, #relay.sizes<"2 * n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
    relay.yield %3 : tensor<?x4xf32, #relay.sizes<"2 * n">>, %c : tensor<i1>
  }
  relay.if %c : tensor<i1> -> {
    relay.yield
  } else {
    relay.yield
  }
  relay.return %1 : tensor<?x4xf32, #relay.sizes<"2 * n">>
}
// CHECK-LABEL: relay.func @branches(
// CHECK-NEXT:    %[[i:\d+]] = relay.call @double(%x) attributes {offsets = [0 : i64]} : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
// CHECK-NEXT:    %[[j:\d+]], %[[k:\d+]] = relay.if %c : tensor<i1> -> tensor<?x4xf32, #relay.sizes<"2 * n">>, tensor<i1> {
// CHECK-NEXT:      relay.yield %[[i]] : tensor<?x4xf32, #relay.sizes<"2 * n">>, %c : tensor<i1>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[l:\d+]] = relay.exp(%[[i]]) : (tensor<?x4xf32, #relay.sizes<"2 * n">>) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
// CHECK-NEXT:      relay.yield %[[l]] : tensor<?x4xf32, #relay.sizes<"2 * n">>, %c : tensor<i1>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.if %c : tensor<i1> -> {
// CHECK-NEXT:      relay.yield
// CHECK-NEXT:    } else {
// CHECK-NEXT:      relay.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.return %[[j]] : tensor<?x4xf32, #relay.sizes<"2 * n">>
// CHECK-NEXT:  }
