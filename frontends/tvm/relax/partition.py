"""Groups of bindings as functions of their own: `FuseOpsByPattern`, `MergeCompositeFunctions`, `RunCodegen`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....backends.runtime import packed
from ....core.errors import ArgumentError, LinkError, OptionError
from ....core.identifiers import fresh_name
from ....module import Module
from ...relay.expr import SymbolVar
from ..ir.module import IRModule
from ..registry import on_arrays
from ..transform import FunctionalPass, PassContext, PassInfo
from .analysis import free_vars
from .backend.pattern_registry import FusionPattern, PatternCheckContext, PatternLike, as_pattern
from .bindings import Binding, BindingBlock, DataflowBlock, SeqExpr, VarBinding
from .calls import call_dps_packed
from .expr import Call, Constant, Expr, GlobalVar, Tuple, TupleGetItem, Var
from .expr_functor import PyExprMutator
from .function import Function

COMPOSITE, CODEGEN = "Composite", "Codegen"
"""The attributes of functions: the name of the pattern of a composite function, and the name of its code generator."""
LIBRARIES = ("cublas", "cudnn")
"""The libraries that `relax.build` calls itself, as code generators."""


@dataclass
class Group:
    """Bindings of one block that are to be one function. attrs: its attributes."""

    bindings: list[VarBinding]
    name: str
    attrs: Mapping[str, Any]


# Functions of groups


def functions_of(mod: IRModule) -> Iterator[tuple[str, Function]]:
    """The functions of relax of a module that are no composite functions, by name."""
    for name, func in mod.items():
        if isinstance(func, Function) and COMPOSITE not in func.attrs and CODEGEN not in func.attrs:
            yield name, func


def outline_groups(
    mod: IRModule, find: Callable[[Function, BindingBlock], Sequence[Group]], bind_constants: bool
) -> IRModule:
    """A copy of a module with groups of bindings replaced by calls of new private functions.

    find: the groups of a block.  bind_constants: whether constants are part of the new functions, or arguments.
    """
    result = IRModule(mod.op.clone(), dict(mod.constants))
    for name, func in functions_of(mod):
        blocks = [_outline(result, func, block, find(func, block), bind_constants) for block in func.body.blocks]
        result[name] = Function(
            func.params, SeqExpr(blocks, func.body.body), func.ret_struct_info, func.is_pure, func.attrs.data
        )
    return result


def _outline(
    mod: IRModule, func: Function, block: BindingBlock, groups: Sequence[Group], bind_constants: bool
) -> BindingBlock:
    if not groups:
        return block
    nodes: list[list[Binding]] = [list[Binding](group.bindings) for group in groups]
    grouped = {id(each) for node in nodes for each in node}
    nodes += [[each] for each in block.bindings if id(each) not in grouped]
    replaced = {
        id(group.bindings[0]): _call_of_group(mod, func, group, bind_constants, outputs_of(func, block, group.bindings))
        for group in groups
    }
    ordered = _in_order(nodes, block)
    bindings = [new for node in ordered for new in replaced.get(id(node[0]), node)]
    is_dataflow = isinstance(block, DataflowBlock)
    return DataflowBlock(bindings, block.outputs) if is_dataflow else BindingBlock(bindings)


def _call_of_group(
    mod: IRModule, func: Function, group: Group, bind_constants: bool, outputs: Sequence[Var]
) -> list[Binding]:
    """Adds the function of a group to a module. Returns the bindings of its results."""
    inputs: list[Expr] = list(inputs_of(group.bindings))
    if not bind_constants:
        inputs += dict.fromkeys(each for binding in group.bindings for each in _constants(binding.value))
    hints = [f"p{n}" if isinstance(each, Constant) else str(each) for n, each in enumerate(inputs)]
    taken: set[str] = set()
    params = [Var(fresh_name(hint, taken), each.struct_info) for hint, each in zip(hints, inputs, strict=True)]
    result: Expr = outputs[0] if len(outputs) == 1 else Tuple(outputs)
    body = SeqExpr([DataflowBlock(group.bindings, outputs)], result)
    new = Function(params, _Substitution(dict(zip(inputs, params, strict=True))).visit_expr(body), attrs=group.attrs)
    name = fresh_name(group.name, set(mod))
    mod[name] = new
    call = Call(SymbolVar(name), inputs, sinfo_args=[new.ret_struct_info])
    if len(outputs) == 1:
        return [VarBinding(outputs[0], call)]
    whole = Var(f"{name}_results", new.ret_struct_info)
    return [VarBinding(whole, call), *(VarBinding(var, TupleGetItem(whole, n)) for n, var in enumerate(outputs))]


class _Substitution(PyExprMutator):
    """Replaces expressions by variables."""

    def __init__(self, known: Mapping[Expr, Var]):
        super().__init__()
        self.known = dict(known)

    def visit_var_(self, op: Var) -> Expr:
        return self.known.get(op, op)

    def visit_constant_(self, op: Constant) -> Expr:
        return self.known.get(op, op)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Emits the binding of the new value to the same variable."""
        value = self.visit_expr(binding.value)
        copy = type(binding.var)(binding.var.name_hint, binding.var.struct_info)
        self.known[binding.var] = copy
        self.builder_.emit_normalized(VarBinding(copy, value))

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        self.builder_.begin_dataflow_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return DataflowBlock(self.builder_.end_block().bindings, [self.known[var] for var in block.outputs])


def inputs_of(bindings: Sequence[Binding]) -> list[Var]:
    """The variables that bindings use and do not bind."""
    bound = {each.var for each in bindings}
    used = [var for each in bindings if isinstance(each, VarBinding) for var in free_vars(each.value)]
    return [var for var in dict.fromkeys(used) if var not in bound]


def outputs_of(func: Function, block: BindingBlock, bindings: Sequence[Binding]) -> list[Var]:
    """The variables of bindings of a block that the function uses elsewhere."""
    members = {id(each) for each in bindings}
    used = set(block.outputs if isinstance(block, DataflowBlock) else [])
    used |= set(free_vars(func.body.body))
    for other in func.body.blocks:
        for each in other.bindings:
            if id(each) not in members:
                used |= set(free_vars(each.value))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    return [each.var for each in bindings if each.var in used]


def _constants(expr: Expr) -> list[Constant]:
    return [expr] if isinstance(expr, Constant) else [found for child in expr.children for found in _constants(child)]


def _in_order(nodes: Sequence[Sequence[Binding]], block: BindingBlock) -> list[Sequence[Binding]]:
    """Sets of bindings in an order of their dependences, close to the order of the block."""
    place = {id(each): n for n, each in enumerate(block.bindings)}
    node_of = {each.var: n for n, node in enumerate(nodes) for each in node}
    needs = [{node_of[var] for var in inputs_of(node) if var in node_of} - {n} for n, node in enumerate(nodes)]
    left = sorted(range(len(nodes)), key=lambda n: place[id(nodes[n][-1])])
    ordered: list[int] = []
    while left:
        ready = next((n for n in left if needs[n] <= set(ordered)), None)
        if ready is None:
            raise ArgumentError(f"groups {[[each.var for each in nodes[n]] for n in left]}: they depend on each other")
        left.remove(ready)
        ordered.append(ready)
    return [nodes[n] for n in ordered]


# Patterns


def FuseOpsByPattern(
    patterns: Sequence[PatternLike],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> FunctionalPass:
    """Moves the operators that a pattern matches to a private function with the attribute `Composite`, the name of the
    pattern; earlier patterns have precedence. A match is skipped if the values inside have users outside.

    bind_constants: whether constants are part of the functions.  annotate_codegen: whether the functions have the
    attribute `Codegen`, the part of the name before the point.  entry_functions: ignored, as all functions are
    searched.
    """
    several = [as_pattern(each) for each in patterns]

    def find(func: Function, block: BindingBlock) -> list[Group]:
        taken: set[int] = set()
        return [
            group
            for pattern in several
            for binding in block.bindings
            if (group := _match(func, block, binding, pattern, taken, annotate_codegen)) is not None
        ]

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return outline_groups(mod, find, bind_constants)

    return FunctionalPass(run, PassInfo(0, "FuseOpsByPattern"))


def _match(
    func: Function, block: BindingBlock, root: Binding, pattern: FusionPattern, taken: set[int], annotate: bool
) -> Group | None:
    """The group of a match of a pattern at a binding, whose bindings are taken from then on; None without a match."""
    if not isinstance(root, VarBinding) or id(root) in taken or isinstance(root.value, Var | Constant):
        return None
    found = pattern.pattern.find(root.value, {})
    if found is None:
        return None
    matched = {id(each) for each in found.values()}
    members = [each for each in block.bindings if isinstance(each, VarBinding) and id(each.value) in matched]
    if any(id(each) in taken for each in members) or outputs_of(func, block, members) not in ([root.var], []):
        return None
    named = {name: found[part] for name, part in pattern.annotation_patterns.items() if part in found}
    if pattern.check is not None and not pattern.check(_context(block, root, members, named)):
        return None
    taken |= {id(each) for each in members}
    attrs: dict[str, Any] = {COMPOSITE: pattern.name}
    if pattern.attrs_getter is not None:
        attrs |= pattern.attrs_getter(named)
    if annotate:
        attrs[CODEGEN] = pattern.name.partition(".")[0]
    names = [str(each.value.op.name).replace(".", "_") for each in members if isinstance(each.value, Call)]  # pyright: ignore[reportAttributeAccessIssue]
    return Group(members, "_".join(["fused", *names]), attrs)


def _context(
    block: BindingBlock, root: VarBinding, members: Sequence[VarBinding], named: Mapping[str, Expr]
) -> PatternCheckContext:
    usages: dict[Any, list[Any]] = {}
    for binding in block.bindings:
        for var in free_vars(binding.value) if isinstance(binding, VarBinding) else ():
            usages.setdefault(var, []).append(binding.var)
    values = {each.var: each.value for each in members}
    return PatternCheckContext(root.value, named, values, usages, {value: var for var, value in values.items()})


# Composite functions


def MergeCompositeFunctions() -> FunctionalPass:
    """Moves calls of composite functions for one code generator that follow each other to one function with the
    attribute `Codegen`. Values between them that other operators compute stay between."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        generators = {
            name: func.attrs[COMPOSITE].partition(".")[0]
            for name, func in mod.items()
            if isinstance(func, Function) and COMPOSITE in func.attrs
        }
        return outline_groups(_without_codegen(mod), lambda _, block: _merged(block, generators), bind_constants=True)

    return FunctionalPass(run, PassInfo(0, "MergeCompositeFunctions"))


def _without_codegen(mod: IRModule) -> IRModule:
    """A copy of a module whose composite functions have no code generator of their own."""
    result = IRModule(mod.op.clone(), dict(mod.constants))
    for name, func in mod.items():
        if isinstance(func, Function) and COMPOSITE in func.attrs and CODEGEN in func.attrs:
            result[name] = func.without_attr(CODEGEN)
    return result


def _merged(block: BindingBlock, generators: Mapping[str, str]) -> list[Group]:
    """The groups of calls of composite functions of a block."""
    groups: list[tuple[str, list[VarBinding]]] = []
    for binding in block.bindings:
        generator = _generator(binding, generators)
        if generator is None or not isinstance(binding, VarBinding):
            continue
        used = set(free_vars(binding.value))
        fitting = [
            members
            for other, members in groups
            if other == generator
            and used & {each.var for each in members}
            and _may_join(block, groups, members, binding)
        ]
        if fitting:
            fitting[0].append(binding)
        else:
            groups.append((generator, [binding]))
    return [Group(members, f"fused_{generator}", {CODEGEN: generator}) for generator, members in groups]


def _generator(binding: Binding, generators: Mapping[str, str]) -> str | None:
    value = binding.value if isinstance(binding, VarBinding) else None
    return generators.get(value.op.name_hint) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None


def _may_join(
    block: BindingBlock, groups: Sequence[tuple[str, list[VarBinding]]], members: list[VarBinding], new: VarBinding
) -> bool:
    """Whether a binding may join a group: none of its operands depends on the group by a way outside of the group."""
    node_of = {each.var: tuple(map(id, found)) for _, found in groups for each in found}
    by_var = {each.var: each for each in block.bindings}
    inside = {each.var for each in members}
    seen: set[Any] = set()
    left = [var for var in inputs_of([new]) if var not in inside]
    while left:
        var = left.pop()
        if var in inside:
            return False
        if var in seen or var not in by_var:
            continue
        seen.add(var)
        own = [each for _, found in groups if tuple(map(id, found)) == node_of.get(var) for each in found]
        left += inputs_of(own or [by_var[var]])
    return True


# Code generators


def RunCodegen(
    target_options: Mapping[str, Mapping[str, Any]] | None = None, entry_functions: Sequence[str] | None = None
) -> FunctionalPass:
    """Compiles functions with the attribute `Codegen`, and calls the results in destination-passing style.

    Functions for a library, `LIBRARIES`, stay functions of the program: `relax.build` compiles them with the others,
    and calls the library if the target has it, `cuda -libs=cublas`.

    The code generator `name` is the packed function `relax.ext.name`: it takes the functions, their options (those of
    `target_options`) and the names of their constants, and returns a module for each, whose function of the same name
    takes the arguments and the results. entry_functions: ignored, as all functions are compiled. LinkError for an
    absent code generator.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        by_generator: dict[str, list[str]] = {}
        for name, func in mod.items():
            if isinstance(func, Function) and CODEGEN in func.attrs:
                by_generator.setdefault(func.attrs[CODEGEN], []).append(name)
        for library in LIBRARIES:
            if f"relax.ext.{library}" not in packed.registered_names():
                by_generator.pop(library, None)
        for generator, names in by_generator.items():
            _compile(mod, generator, names, dict((target_options or {}).get(generator, {})))
        return _call_compiled(mod, {name for names in by_generator.values() for name in names})

    return FunctionalPass(run, PassInfo(0, "RunCodegen"))


def _compile(mod: IRModule, generator: str, names: Sequence[str], options: Mapping[str, Any]) -> None:
    try:
        generate = packed.get_global_func(f"relax.ext.{generator}")
    except LinkError:
        raise LinkError(
            f"code generator {generator!r}: no packed function 'relax.ext.{generator}', expected one that "
            "tvm.register_func registers; for libraries, relax.build with the target option -libs"
        ) from None
    functions = [mod[name].with_attr("global_symbol", name) for name in names]
    modules = generate(functions, options, {})
    if len(modules) != len(functions):
        raise OptionError(f"relax.ext.{generator}: {len(modules)} modules for {len(functions)} functions")
    for name, module in zip(names, modules, strict=True):
        function = module if not hasattr(module, "get_function") else module.get_function(name)
        packed.register_func(name, on_arrays(function), override=True)


class _Calls(PyExprMutator):
    """Replaces calls of functions of the module by calls of packed functions of the same names."""

    def __init__(self, mod: Module, names: set[str]):
        super().__init__(mod)
        self.names = names

    def visit_call_(self, op: Call) -> Expr:
        call = super().visit_call_(op)
        assert isinstance(call, Call)
        if not isinstance(call.op, GlobalVar) or call.op.name_hint not in self.names:
            return call
        return call_dps_packed(call.op.name_hint, call.args, op.struct_info)


def _call_compiled(mod: IRModule, names: set[str]) -> IRModule:
    """A copy of a module without functions that are compiled, and without composite functions that only they call."""
    rewrite = _Calls(mod, names)
    kept = {name: func for name, func in mod.items() if name not in names}
    new = {name: rewrite.visit_expr(func) if isinstance(func, Function) else func for name, func in kept.items()}
    called = {
        each.op.name_hint for func in new.values() if isinstance(func, Function) for each in _function_calls(func)
    }
    return IRModule(
        {
            name: func
            for name, func in new.items()
            if name in called or not (isinstance(func, Function) and COMPOSITE in func.attrs)
        }
    )


def _function_calls(func: Function) -> Iterator[Any]:
    for block in func.body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if isinstance(value, Call) and isinstance(value.op, GlobalVar):
                yield value


__all__ = ["FuseOpsByPattern", "MergeCompositeFunctions", "RunCodegen"]
