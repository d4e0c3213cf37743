"""Import of models of PyTorch: `tvm.relax.frontend.torch`. Requires the extra `torch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .....backends.relax import VirtualMachine, build_relax
from .....core.errors import UnsupportedError
from ....relay import TensorType
from ...absent import report_absent
from ...devices import device
from ...ir.module import IRModule
from ..pipelines import PipelineLike, get_pipeline
from .graphs import program_of_graph

__getattr__ = report_absent("tvm.relax.frontend.torch")


def from_exported_program(
    exported_program: Any,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    run_ep_decomposition: bool = True,
    custom_convert_map: Any = None,
) -> IRModule:
    """A program for a `torch.export.ExportedProgram`.

    keep_params_as_input: whether weights are parameters, whose values `detach_params` returns; otherwise they are
    constants.  unwrap_unit_return_tuple: whether one result is returned without a tuple.  no_bind_return_tuple,
    run_ep_decomposition: change the text in TVM, and nothing here. UnsupportedError for a `custom_convert_map`,
    ModelUnsupportedError for a program that uses unsupported features.
    """
    if custom_convert_map:
        raise UnsupportedError("from_exported_program: custom_convert_map is not supported yet")
    return _imported(exported_program, keep_params_as_input, not unwrap_unit_return_tuple)


def from_fx(
    model: Any,
    input_info: Sequence[tuple[Sequence[Any], Any]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Any = None,
) -> IRModule:
    """A program for a module of `torch.fx`, with inputs `inp_0`, `inp_1`, ...; several results are a tuple.

    input_info: the shape and the data type of each input, by name or as PyTorch's.  keep_params_as_input,
    no_bind_return_tuple: as of `from_exported_program`.  unwrap_unit_return_tuple: ignored, since one result is no
    tuple. UnsupportedError for a `custom_convert_map`, ModelUnsupportedError for a module that uses unsupported
    features.
    """
    if custom_convert_map:
        raise UnsupportedError("from_fx: custom_convert_map is not supported yet")
    types = [TensorType(shape, str(dtype).removeprefix("torch.")) for shape, dtype in input_info]
    examples: Any = import_module("....torch.examples", __package__)
    args, dynamic = examples.example_inputs([(type.shape, type.dtype) for type in types])
    names = [f"inp_{n}" for n in range(len(types))]
    return _imported(model.eval(), keep_params_as_input, False, args=args, dynamic_shapes=dynamic, input_names=names)


def relax_dynamo(pipeline: PipelineLike | None = None) -> Callable[[Any, Sequence[Any]], Callable[..., Any]]:
    """A backend of `torch.compile` that compiles graphs as programs: `torch.compile(model, backend=relax_dynamo())`.

    pipeline: passes that run first, or the name of a pipeline."""

    def compile_graph(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        infos = [_info_of(each) for each in example_inputs]
        mod = from_fx(graph_module, infos)
        if pipeline is not None:
            mod = (get_pipeline(pipeline) if isinstance(pipeline, str) else pipeline)(mod)
        kind = "cuda" if any(each.device.type == "cuda" for each in example_inputs) else "llvm"
        machine = VirtualMachine(build_relax(mod, kind), device(kind))
        torch: Any = import_module("torch")

        def run(*inputs: Any) -> list[Any]:
            result = machine["main"](*(each.detach().contiguous() for each in inputs))
            results = result if isinstance(result, list | tuple) else [result]
            return [torch.from_dlpack(each) for each in results]  # pyright: ignore[reportUnknownVariableType]

        return run

    return compile_graph


def dynamo_capture_subgraphs(model: Any, *params: Any, keep_params_as_input: bool = False, **named: Any) -> IRModule:
    """The programs `subgraph_0`, `subgraph_1`, ... of the graphs into which `torch.compile` divides a model.

    params, named: the arguments of a call of the model, whose graphs are captured.  keep_params_as_input: as of
    `from_exported_program`. ModelUnsupportedError for a graph that uses unsupported features.
    """
    torch: Any = import_module("torch")
    dynamo: Any = import_module("torch._dynamo")
    mod, weights = IRModule(), model.state_dict(keep_vars=True) if isinstance(model, torch.nn.Module) else {}

    def capture(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        graph, inputs = _with_weights(graph_module, example_inputs, weights)
        program = from_fx(graph, [_info_of(each) for each in inputs], keep_params_as_input=keep_params_as_input)
        name = f"subgraph_{len(mod.function_ops)}"
        mod[name] = program["main"].with_attr("global_symbol", name)
        return graph_module.forward

    dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=capture)(*params, **named)
    return mod


def _with_weights(graph_module: Any, examples: Sequence[Any], weights: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A graph whose weights are its own, and the other inputs. weights: of the model, by name."""
    torch: Any = import_module("torch")
    names = {id(value): name for name, value in weights.items()}
    graph: Any = torch.fx.Graph()
    graph.output(graph.graph_copy(graph_module.graph, {}))
    new = torch.fx.GraphModule(graph_module, graph)
    inputs: list[Any] = []
    for node, example in zip([each for each in new.graph.nodes if each.op == "placeholder"], examples, strict=True):
        if id(example) not in names:
            inputs.append(example)
            continue
        name = names[id(example)].replace(".", "_")
        (new.register_parameter if isinstance(example, torch.nn.Parameter) else new.register_buffer)(name, example)
        with new.graph.inserting_before(node):
            node.replace_all_uses_with(new.graph.get_attr(name))
        new.graph.erase_node(node)
    new.recompile()
    return new, inputs


def _info_of(tensor: Any) -> tuple[tuple[Any, ...], str]:
    """The shape and the data type of a tensor."""
    return tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")


def _imported(model: Any, keep_params: bool, is_tuple: bool, **options: Any) -> IRModule:
    frontend: Any = import_module("....torch", __package__)
    graph = frontend.from_torch(model, keep_parameters=keep_params, **options)
    weights = frontend.torch_parameters(model) if keep_params else {}
    graph.constants.update(weights)
    (func,) = graph.function_ops.values()
    params = [name for name, _ in func.params if name in weights] if keep_params else None
    return program_of_graph(graph, params, is_tuple)


__all__ = ["dynamo_capture_subgraphs", "from_exported_program", "from_fx", "relax_dynamo"]
