"""Random programs of `relax`: random graphs, some of whose operators are packed functions, kernels, functions of their
own, or hidden from the types of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import DictionaryAttr, TupleType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import symbols_of
from ...backends.interpreter import interpret
from ...backends.passes import apply_passes
from ...backends.relax import VirtualMachine, build_relax
from ...backends.runtime import register_func
from ...core.identifiers import fresh_name
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...operators import relax
from ...operators.relax import symbolic
from ...operators.relax.devices import GLOBAL, device_names, state_devices
from ...operators.relax.types import names_bound_by, names_in, tensor, tuple_type
from ...operators.relay import OperatorOp, RelayBuilder, dtype_of_tensor, shape_of
from ...operators.relay.bounds import SIZE_BOUNDS, bounds_attribute
from .execution import interpret_graph
from .graphs import Array, Draw, graphs


@dataclass(frozen=True)
class RandomProgram:
    """A program. module: with a function `main`.  inputs: its arguments.  expected: its results by numpy, operator by
    operator.  tolerances: for each result; 0 if exact."""

    module: Module
    inputs: list[Array]
    expected: list[Array]
    tolerances: list[float]


@st.composite
def relax_programs(draw: Draw, most: int = 12) -> RandomProgram:
    """Programs of up to `most` operators, with symbolic sizes, upper bounds of some, dataflow regions, branches, calls
    of packed functions, of kernels and of functions, tuples, values of partly known type that are cast, and values on
    several devices.
    """
    graph = draw(graphs(most=most))
    expected = interpret_graph(graph.module, graph.inputs)
    program = apply_passes(graph.module, "convert-relay-to-relax")
    if draw(st.booleans()):
        _bound_sizes(draw, program, graph.inputs)
    if draw(st.booleans()):
        program = apply_passes(program, "relax-inline-dataflow")
    if not draw(st.integers(0, 2)):
        state_devices(program.op, ["llvm"] * len(DEVICES), [GLOBAL] * len(DEVICES))
    disguise = _Disguise(draw, program)
    for op in [op for op in program.op.walk() if isinstance(op, OperatorOp)]:
        draw(st.sampled_from(_WAYS))(disguise, op)
    if draw(st.booleans()):
        program = apply_passes(program, f"relax-legalize-operators{{fuse={str(draw(st.booleans())).lower()}}}")
        if draw(st.booleans()):
            program = apply_passes(program, "convert-relay-to-te,convert-te-to-tir")
            if draw(st.booleans()):
                program = apply_passes(program, "relax-reuse-operands")
    return RandomProgram(program, graph.inputs, expected, graph.tolerances)


def results_by_interpreter(module: Module, inputs: Sequence[Array]) -> list[Array]:
    """The results of `main` by the interpreter."""
    return _as_list(interpret(module, "main", inputs))


def results_by_machine(module: Module, inputs: Sequence[Array], opt_level: int = 2) -> list[Array]:
    """The results of `main` by the virtual machine."""
    return results_of_main(VirtualMachine(build_relax(module, opt_level=opt_level)), inputs)


def results_of_main(vm: VirtualMachine, inputs: Sequence[Array]) -> list[Array]:
    """The results of `main` of a machine."""
    results = vm["main"](*inputs)
    return [each.numpy() for each in (results if isinstance(results, tuple) else (results,))]


def _as_list(results: Any) -> list[Array]:
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


def _bound_sizes(draw: Draw, program: Module, inputs: Sequence[Array]) -> None:
    """Declares upper bounds of some sizes of the parameters of `main`."""
    main = program.functions["main"]
    assert isinstance(main, relax.FuncOp)
    bounds: dict[str, int] = {}
    for (_, value), array in zip(main.params, inputs, strict=True):
        names = names_bound_by(value.type)
        for size, extent in zip(shape_of(value), array.shape, strict=True):
            if size in names and draw(st.integers(0, 3)):
                bounds[str(size)] = extent + draw(st.integers(0, 3))
    if bounds:
        attrs = {} if main.func_attrs is None else main.func_attrs.data
        main.func_attrs = DictionaryAttr({**attrs, SIZE_BOUNDS: bounds_attribute(bounds)})


@dataclass
class _Disguise:
    draw: Draw
    module: Module
    count: int = 0
    names: set[str] = field(default_factory=set[str])

    def insert(self, new: Operation, before: Operation) -> None:
        Rewriter.insert_op(new, InsertPoint.before(before))

    def replace(self, op: OperatorOp, value: SSAValue) -> None:
        """Replaces the results of an operator by a value, or by the fields of a tuple."""
        for n, output in enumerate(op.outputs):
            if isinstance(value.type, TupleType):
                field = relax.TupleGetOp(value, n)
                self.insert(field, op)
                output.replace_all_uses_with(field.output)
            else:
                output.replace_all_uses_with(value)
        op.detach()
        op.erase()


def _keep(disguise: _Disguise, op: OperatorOp) -> None:
    """The operator stays."""


def _result_type(op: OperatorOp) -> Any:
    types = [output.type for output in op.outputs]
    return types[0] if len(types) == 1 else tuple_type(types)


def _compute(op: OperatorOp) -> Callable[..., tuple[Array, ...]]:
    """The operator as a function of arrays, which does not refer to the op."""
    operator, attributes = op.operator, dict(op.explicit_attributes)
    if operator.name == "squeeze" and op.attribute_value("axis") is None:
        attributes["axis"] = [d for d, size in enumerate(shape_of(op.args[0])) if size == 1]

    def compute(*arrays: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return operator.arrays(arrays, attributes)

    return compute


def _destination(disguise: _Disguise, op: OperatorOp) -> None:
    """A packed function in destination-passing style."""
    compute, count = _compute(op), len(op.args)

    def call(*arrays: Array) -> None:
        for result, out in zip(compute(*arrays[:count]), arrays[count:], strict=True):
            out[...] = result

    name = f"random.dps{disguise.count}"
    disguise.count += 1
    register_func(name, call, override=True)
    new = relax.CallDpsPackedOp(name, list(op.args), _result_type(op))
    disguise.insert(new, op)
    disguise.replace(op, new.output)


def _pure(disguise: _Disguise, op: OperatorOp) -> None:
    """A packed function that returns an array of unknown shape, which is cast."""
    if len(op.outputs) > 1:
        return
    compute, type = _compute(op), op.outputs[0].type
    dtype, rank = dtype_of_tensor(type), len(shape_of(type))
    unknown = disguise.draw(st.sampled_from([tensor(None, None), tensor(None, dtype, rank), relax.ObjectType(), type]))
    name = f"random.pure{disguise.count}"
    disguise.count += 1
    register_func(name, lambda *arrays: np.asarray(compute(*arrays)[0], order="C"), override=True)
    new = relax.CallPurePackedOp(name, list(op.args), unknown)
    cast = relax.MatchCastOp(new.output, type)
    disguise.insert(new, op)
    disguise.insert(cast, op)
    disguise.replace(op, cast.output)


def _function(disguise: _Disguise, op: OperatorOp) -> None:
    """A function of its own."""
    types = [arg.type for arg in op.args]
    known = {name for type in types for name in names_bound_by(type)}
    if any(name not in known for type in (*types, *op.result_types) for name in names_in(type)):
        return
    if not disguise.names:
        disguise.names = symbols_of(disguise.module.op)
    name = fresh_name("helper", disguise.names)
    params = [(f"p{n}", type) for n, type in enumerate(types)]
    func = relax.FuncOp(name, params, _result_type(op), private=True)
    block = func.body.block
    copy = op.clone(dict(zip(op.args, block.args, strict=True)))
    block.add_op(copy)
    value: SSAValue = copy.outputs[0]
    if len(copy.outputs) > 1:
        whole = relax.TupleOp(copy.outputs)
        block.add_op(whole)
        value = whole.output
    block.add_op(relax.ReturnOp(value))
    disguise.module.op.body.block.add_op(func)
    new = relax.CallOp(name, list(op.args), _result_type(op))
    disguise.insert(new, op)
    disguise.replace(op, new.output)


def _hide(disguise: _Disguise, op: OperatorOp) -> None:
    """An operand that is cast from an object, in a tuple."""
    if not op.args:
        return
    whole = relax.TupleOp([op.args[0], op.args[-1]])
    item = relax.TupleGetOp(whole.output, 0)
    forget = relax.MatchCastOp(item.output, relax.ObjectType())
    cast = relax.MatchCastOp(forget.output, op.args[0].type)
    for each in (whole, item, forget, cast):
        disguise.insert(each, op)
    op.operands[0] = cast.output


DEVICES = ("llvm:0", "llvm:1")
"""The devices of programs with several."""


def _move(disguise: _Disguise, op: OperatorOp) -> None:
    """The operator is on another device than its operands and its readers, if the program has several devices."""
    if len(device_names(disguise.module.op)) < 2:
        return
    for n, arg in enumerate(op.args):
        copy = relax.ToVdeviceOp(arg, DEVICES[1])
        disguise.insert(copy, op)
        op.operands[n] = copy.output
    for output in op.outputs:
        uses = list(output.uses)
        back: relax.ToVdeviceOp | relax.HintOnDeviceOp = relax.ToVdeviceOp(output, DEVICES[0])
        Rewriter.insert_op(back, InsertPoint.after(op))
        if disguise.draw(st.booleans()):
            hint = relax.HintOnDeviceOp(back.output, DEVICES[0])
            Rewriter.insert_op(hint, InsertPoint.after(back))
            back = hint
        for use in uses:
            use.operation.operands[use.index] = back.output


NEGATED = 2
"""The number of calls in place that negate a tensor: an even number restores it."""


def _in_place(disguise: _Disguise, op: OperatorOp) -> None:
    """The first result is negated twice in place: by kernels, or by packed functions. Some of its uses are those of an
    equal operator, which is not overwritten."""
    value, draw = op.outputs[0], disguise.draw
    uses = [use for use in value.uses if draw(st.booleans())]
    if uses:
        twin = op.clone()
        disguise.insert(twin, op)
        for use in uses:
            use.operation.operands[use.index] = twin.outputs[0]
    rest = list(value.uses)
    last: SSAValue = value
    place: Operation = op
    for _ in range(NEGATED):
        new = _negation(disguise, last)
        Rewriter.insert_op(new, InsertPoint.after(place))
        last, place = new.output, new
    for use in rest:
        use.operation.operands[use.index] = last


def _negation(disguise: _Disguise, value: SSAValue) -> relax.CallTirInplaceOp | relax.CallInplacePackedOp:
    """A call that negates a tensor in place."""
    dtype, rank = dtype_of_tensor(value.type), len(shape_of(value))
    if disguise.draw(st.booleans()):
        return relax.CallInplacePackedOp("random.negate", [value], [0], value.type)
    name = f"negate_{dtype}_{rank}"
    if name not in disguise.module.functions:
        disguise.module.op.body.block.add_op(_negation_kernel(name, dtype, rank))
    return relax.CallTirInplaceOp(name, [value], [0], value.type)


def _negate(array: Array) -> Array:
    """Negates an array in place; returns it."""
    array[...] = ~array if array.dtype == bool else array.dtype.type(0) - array if array.dtype.kind in "iu" else -array
    return array


register_func("random.negate", _negate, override=True)


@cache
def _negation_text(name: str, dtype: str, rank: int) -> str:
    sizes = [f"n{d}" for d in range(rank)]
    shape = "".join(f"{size}, " for size in sizes)
    element = f"X[{', '.join(f'i{d}' for d in range(rank)) or '()'}]"
    if dtype == "bool":
        negated = f"T.Not({element})"
    else:
        negated = f"T.{dtype}(0) - {element}" if "int" in dtype else f"{element} * T.{dtype}(-1)"
    lines = ["@T.prim_func", f"def {name}(x: T.handle):"]
    lines += [f"    {size} = T.int64()" for size in sizes]
    lines.append(f'    X = T.match_buffer(x, ({shape}), "{dtype}")')
    if rank:
        lines.append(f"    for {''.join(f'i{d}, ' for d in range(rank))[:-2]} in T.grid({shape[:-2]}):")
    lines.append(f"    {'    ' if rank else ''}{element} = {negated}")
    return "\n".join(lines)


def _negation_kernel(name: str, dtype: str, rank: int) -> Operation:
    """The kernel that negates a tensor of any extents in place."""
    return parse_tvmscript(_negation_text(name, dtype, rank)).functions[name].clone()


def _sized(disguise: _Disguise, op: OperatorOp) -> None:
    """The first result is broadcast to its own shape, or multiplied by ones: words whose attributes are sizes, some
    with names."""
    value = op.outputs[0]
    uses, shape = list(value.uses), list(shape_of(value))
    builder = RelayBuilder(InsertPoint.after(op))
    word = disguise.draw(st.sampled_from(["broadcast_to", "ones", "full"]))
    if word == "broadcast_to":
        (same,) = symbolic.broadcast_to(builder, value, shape)
    else:
        dtype = dtype_of_tensor(value.type)
        if dtype == "bool":
            return
        make = symbolic.filled("ones")
        filled = make(builder, shape, dtype) if word == "ones" else symbolic.full(builder, shape, 1, dtype)
        same = builder.operator("multiply", value, filled[0])
    if same.type == value.type:
        for use in uses:
            use.operation.operands[use.index] = same


_WAYS = (_keep, _keep, _keep, _destination, _pure, _function, _hide, _in_place, _move, _sized)
