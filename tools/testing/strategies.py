"""Hypothesis strategies for programs of the `tir` landing and arguments for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

from ...core.errors import ParseError
from ...dialects.tir import FuncOp, TirBuilder
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from .choices import HypothesisChoices
from .environment import Features
from .faults import plant_fault
from .programs import random_arguments, random_function, random_module

Draw = Callable[[st.SearchStrategy[Any]], Any]

UNSHRUNK = settings(
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
"""Settings of tests whose failures are not shrunk, for each attempt takes a second (g++)."""


@st.composite
def tir_modules(draw: Draw, features: Features = Features()) -> Module:
    """Modules with a callable function `main`: they verify, and have no undefined behaviour for any arguments.

    Loops of all kinds with any extent, zero and symbolic ones included, blocks with init, predicate and nested blocks,
    reductions, vector accesses, concurrent loops without races, branches, `while`, lets, allocations, regions, calls
    of other functions, expressions of every data type.

    Shrinks to a function with one buffer of four int32 and a store of 1 to its first element.
    """
    return random_module(HypothesisChoices(draw), features)


@st.composite
def tir_functions(draw: Draw, features: Features = Features()) -> FuncOp:
    """Functions as in `tir_modules`, without calls. Shrinks to the same function."""
    return random_function(HypothesisChoices(draw), features)


@st.composite
def inputs_for(draw: Draw, func: FuncOp) -> dict[str, Any]:
    """Arguments by name for a function of these strategies: consistent symbolic sizes, and arrays with edge cases (ends
    of the range, infinities, NaN, zeros of both signs). Shrinks to sizes of 3."""
    return random_arguments(HypothesisChoices(draw), func)


@st.composite
def functions_of(
    draw: Draw, make: Callable[..., Operation], types: Sequence[Attribute]
) -> tuple[Module, dict[str, Any]]:
    """A module whose function `main` has the single operation `make(*params)`, and arguments for it.

    types: the types of the parameters, such as `MemRefType(f32, [4, 8])`; an element type denotes a buffer of a common
    random shape. Shrinks to buffers without dimensions.
    """
    shape = draw(st.lists(st.integers(0, 9), max_size=3))
    whole = [type if isinstance(type, MemRefType) else MemRefType(type, shape) for type in types]
    func = FuncOp("main", [(f"A{n}", type) for n, type in enumerate(whole)])
    TirBuilder(func.body.block).insert(make(*func.body.block.args))
    return Module(ModuleOp([func])), random_arguments(HypothesisChoices(draw), func)


@st.composite
def functions_of_values(
    draw: Draw, make: Callable[..., Operation], types: Sequence[Attribute]
) -> tuple[Module, dict[str, Any]]:
    """A module whose function `main` computes the operation `make(*values)` for all elements of buffers, in a serial or
    vectorized loop, and arguments for it.

    types: the types of the values. The results are the elements of the last parameter. Shrinks to one element.
    """
    size = draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["serial", "vectorized"]))
    result = make(*(create_ssa_value(type) for type in types)).results[0].type
    func = FuncOp("main", [(f"A{n}", MemRefType(type, [size])) for n, type in enumerate([*types, result])])
    *sources, target = func.body.block.args
    builder = TirBuilder(func.body.block)
    with builder.loops(["i"], [size], kind=kind) as (i,):
        value = builder.insert(make(*(builder.load(source, [i]) for source in sources))).results[0]
        builder.store(value, target, [i])
    return Module(ModuleOp([func])), random_arguments(HypothesisChoices(draw), func)


@st.composite
def programs(draw: Draw, features: Features = Features()) -> tuple[Module, dict[str, Any]]:
    """A module and arguments for its function `main`."""
    choices = HypothesisChoices(draw)
    module = random_module(choices, features)
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    return module, random_arguments(choices, func)


@st.composite
def faulty_programs(draw: Draw, features: Features = Features()) -> tuple[Module, dict[str, Any]]:
    """A module with a planted fault and arguments for its function `main`. Operations have locations: the lines of the
    TVMScript of the module. A fault among constants, which the front end refuses, is discarded."""
    choices = HypothesisChoices(draw)
    module = random_module(choices, features)
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    arguments = random_arguments(choices, func)
    assume(plant_fault(choices, module.op))
    try:
        return parse_tvmscript(module.script(), filename="program.py"), arguments
    except ParseError as error:
        assume("division by zero" not in str(error))
        raise
