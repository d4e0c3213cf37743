// RUN: stepwell-opt %s -p relax-legalize-operators | filecheck %s
// RUN: stepwell-opt %s -p relax-legalize-operators{fuse=true} | filecheck %s --check-prefix FUSED

// Equal operators are one kernel; several results are a tuple; symbolic sizes stay; an operator that nothing reads goes.
relax.func @main("x" %x: tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x2xf32, #relay.sizes<"n">> {
  %0 = relax.dataflow -> tensor<?x2xf32, #relay.sizes<"n">> {
    %1 = relay.exp(%x) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
    %2 = relay.exp(%1) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
    %3, %4 = relay.split(%2) {indices_or_sections = 2, axis = 1} : (tensor<?x4xf32, #relay.sizes<"n">>) -> (tensor<?x2xf32, #relay.sizes<"n">>, tensor<?x2xf32, #relay.sizes<"n">>)
    %5 = relay.constant 1.0 : tensor<f32>
    %dead = relay.abs(%2) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
    %6 = relay.add(%3, %5) : (tensor<?x2xf32, #relay.sizes<"n">>, tensor<f32>) -> tensor<?x2xf32, #relay.sizes<"n">>
    relax.output %6 : tensor<?x2xf32, #relay.sizes<"n">>
  }
  relax.return %0 : tensor<?x2xf32, #relay.sizes<"n">>
}
// CHECK-NOT:  abs
// CHECK:      relay.func primitive @exp("p0"
// CHECK:      relay.func primitive @split(
// CHECK:      relay.func primitive @add("p0" %[[P:.+]]: tensor<?x2xf32, #relay.sizes<"n">>) {
// CHECK:      relax.func @main(
// CHECK:        %[[A:.+]] = relax.call_tir @exp(%{{.+}})
// CHECK-NEXT:   %[[B:.+]] = relax.call_tir @exp(%[[A]])
// CHECK-NEXT:   %[[S:.+]] = relax.call_tir @split(%[[B]])
// CHECK-NEXT:   %[[C:.+]] = relax.call_tir @add(%[[S]])
// CHECK-NEXT:   relax.output %[[C]]

// FUSED-NOT:  abs
// FUSED:      relay.func primitive @fused_exp_exp_split_add(
// FUSED:      relax.func @main(
// FUSED:        relax.call_tir @fused_exp_exp_split_add(%{{.+}}) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x2xf32, #relay.sizes<"n">>

// Without operators nothing changes.
relax.func @none("x" %x: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32>
}
// CHECK:      relax.func @none
// CHECK-NEXT:   relax.return
