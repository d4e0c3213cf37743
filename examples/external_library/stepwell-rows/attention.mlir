relay.func @main("q" %q: tensor<?x8xf32, #relay.sizes<"n">>, "k" %k: tensor<?x8xf32, #relay.sizes<"n">>) {
  %0 = relay.nn.matmul(%q, %k) {transpose_b = true} : (tensor<?x8xf32, #relay.sizes<"n">>, tensor<?x8xf32, #relay.sizes<"n">>) -> tensor<?x?xf32, #relay.sizes<"n", "n">>
  %1 = relay.nn.softmax(%0) : (tensor<?x?xf32, #relay.sizes<"n", "n">>) -> tensor<?x?xf32, #relay.sizes<"n", "n">>
  relay.return %1 : tensor<?x?xf32, #relay.sizes<"n", "n">>
}
