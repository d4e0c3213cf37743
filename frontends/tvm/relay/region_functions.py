"""Regions of other compilers as functions of the module: `PartitionGraph`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...relay.annotation import BEGIN, DEFAULT, END, compiler_end, is_mark
from ...relay.expr import Call, Constant, Expr, Function, FunctionCall, GlobalVar, Tuple, TupleGetItem, Var
from ...relay.functor import ExprMutator, bind
from ..ir.module import IRModule
from ..registry import get_global_func
from .regions import AnnotatedRegion, AnnotatedRegionSet


def partition_module(mod: IRModule, mod_name: str, bind_constants: bool) -> IRModule:
    """A module whose regions of other compilers are functions. The graphs have types.

    mod_name: the part of their names between `tvmgen_` and the compiler.  bind_constants: whether constants are parts
    of the functions.
    """
    functions = {name: func for name, func in mod.items() if isinstance(func, Function)}
    others = {name: func for name, func in mod.items() if name not in functions}
    result: dict[str, Function] = {}
    for name, func in functions.items():
        bare = _OwnMarks().visit(_TupleMarks().visit(func))
        partitioner = _Partitioner(name, mod_name, AnnotatedRegionSet(bare), bind_constants)
        whole = partitioner.visit(bare)
        result |= partitioner.functions
        result[name] = whole
    return IRModule({**result, **others})


class _TupleMarks(ExprMutator):
    """Makes the end of a region after a tuple the ends after its fields, so that the results are not nested."""

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        whole = new.children[0] if is_mark(call, END) else None
        if not isinstance(whole, Tuple):
            return new
        ends = [_typed(compiler_end(each, call.attrs["compiler"]), each) for each in whole.fields]
        return _typed(Tuple(ends), whole)


class _OwnMarks(ExprMutator):
    """Removes the marks of this compiler."""

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        is_own = is_mark(call) and call.attrs["compiler"] == DEFAULT
        return new.children[0] if is_own else _typed(new, call)


@dataclass
class _RegionFunction:
    """The function of a region. inputs: the parameters by the expression before the region.  arguments: the
    expressions in the graph, in the order of the parameters.  results: those of the call, by the expression at the
    end of the region."""

    inputs: dict[Expr, Var] = field(default_factory=dict[Expr, Var])
    arguments: list[Expr] = field(default_factory=list[Expr])
    results: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])


class _Partitioner(ExprMutator):
    """Replaces regions by calls. functions: those of the regions by name."""

    def __init__(self, name: str, mod_name: str, regions: AnnotatedRegionSet, bind_constants: bool):
        super().__init__()
        self.name = name
        self.mod_name = mod_name
        self.regions = regions
        self.bind_constants = bind_constants
        self.own: dict[AnnotatedRegion, _RegionFunction] = {}
        self.functions: dict[str, Function] = {}

    def visit_call(self, call: Call) -> Expr:
        if not is_mark(call):
            return _typed(super().visit_call(call), call)
        region = self.regions.of[call]
        own = self.own.setdefault(region, _RegionFunction())
        return self._input(call, region, own) if is_mark(call, BEGIN) else self._output(call, region, own)

    def _input(self, begin: Call, region: AnnotatedRegion, own: _RegionFunction) -> Var:
        argument = self.visit(begin.args[0])
        before = begin.args[0]
        while is_mark(before):
            before = before.children[0]
        if before not in own.inputs:
            name = f"{region.target}_{region.id}_i{region.args.index(begin)}"
            own.inputs[before] = Var(name, begin.known_type)
            own.arguments.append(argument)
        return own.inputs[before]

    def _output(self, end: Call, region: AnnotatedRegion, own: _RegionFunction) -> Expr:
        self.visit(end.args[0])
        if not own.results:
            inner = list(dict.fromkeys(each.args[0] for each in region.rets))
            fields = [self.visit(each) for each in inner]
            call = self._call(region, own, fields)
            several = [call] if len(fields) == 1 else [TupleGetItem(call, n) for n in range(len(fields))]
            own.results = dict(zip(inner, several, strict=True))
        return own.results[end.args[0]]

    def _call(self, region: AnnotatedRegion, own: _RegionFunction, fields: list[Expr]) -> Expr:
        """The call of the function of a region, which is added to `functions`."""
        body = fields[0] if len(fields) == 1 else Tuple(fields)
        pairs = list(zip(own.inputs.values(), own.arguments, strict=True))
        bound = {param: value for param, value in pairs if self.bind_constants and _is_constant(value)}
        params = [param for param, _ in pairs if param not in bound]
        function = Function(params, bind(body, bound))
        optimize = get_global_func(f"relay.ext.{region.target}.optimize", allow_missing=True)
        if optimize is not None:
            function = optimize(IRModule.from_expr(function))["main"]
        name = re.sub(r"\W", "_", f"tvmgen_{self.mod_name}_{region.target}_{self.name}_{region.id}")
        attrs = {"Primitive": 1, "Inline": 1, "Compiler": region.target, "global_symbol": name}
        self.functions[name] = function.with_attr(attrs)
        return FunctionCall(GlobalVar(name), [value for param, value in pairs if param not in bound])


def _is_constant(expr: Expr) -> bool:
    fields = expr.fields if isinstance(expr, Tuple) else [expr]
    return all(isinstance(each, Constant) for each in fields)


def _typed(new: Expr, old: Expr) -> Expr:
    """An expression with the type of the one that it replaces."""
    if new.known_type is None:
        new.known_type = old.known_type
    return new
