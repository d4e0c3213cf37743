"""A network of TVM's tutorial on external libraries, built for a GPU, here an emulated one, on a small image."""

import json

import numpy as np

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.contrib import graph_runtime as runtime
from stepwell.frontends.tvm.relay import testing

out_channels = 16
batch_size = 1
size = 12

data = relay.var("data", relay.TensorType((batch_size, 3, size, size), "float32"))
weight = relay.var("weight")
bn_gamma = relay.var("bn_gamma")
bn_beta = relay.var("bn_beta")
bn_mmean = relay.var("bn_mean")
bn_mvar = relay.var("bn_var")
simple_net = relay.nn.conv2d(data=data, weight=weight, kernel_size=(3, 3), channels=out_channels, padding=(1, 1))
simple_net = relay.nn.batch_norm(simple_net, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
simple_net = relay.nn.relu(simple_net)
simple_net = relay.Function(relay.ir_pass.free_vars(simple_net), simple_net)

data_shape = (batch_size, 3, size, size)
net, params = testing.create_workload(simple_net)
data = np.random.default_rng(0).uniform(-1, 1, size=data_shape).astype("float32")


def run(target):
    graph, lib, constants = relay.build_module.build(net, target, params=params)
    ctx = tvm.context(target, 0)
    module = runtime.create(graph, lib, ctx)
    module.set_input(**constants)
    module.set_input("data", data)
    module.run()
    out_shape = (batch_size, out_channels, size, size)
    out = module.get_output(0, tvm.nd.empty(out_shape))
    print(ctx, *(node["attrs"]["func_name"] for node in json.loads(graph)["nodes"] if node["op"] == "tvm_op"))
    return lib, out.asnumpy()


lib, out_cuda = run("cuda-emulated")
_, out_llvm = run("llvm")
tvm.testing.assert_allclose(out_cuda, out_llvm, rtol=1e-5, atol=1e-6)
print(out_cuda.shape, "__global__ void" in lib.imported_modules[0].get_source())
