"""Rewrites of the places where patterns of programs match: `rewrite_call`, `rewrite_bindings`,
`PatternMatchingRewriter`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core.errors import ArgumentError, OptionError, UnsupportedError
from ....module import Module
from ....operators.relax.types import names_in
from ..ir.module import IRModule
from ..pattern_graphs import PatternContext
from ..patterns import (
    CallPattern,
    DFPattern,
    ExprPattern,
    OpPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from .analysis import free_vars, remove_all_unused
from .bindings import Binding, BindingBlock, DataflowBlock, MatchCast, VarBinding, bound_values
from .expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from .expr_functor import PyExprMutator, Substitution
from .function import Function

Rewriter = Callable[[Any, Any], "Expr | None"]
"""A function from a value and its matches to the value in its place; None or the value itself to keep it."""


def rewrite_call(pattern: DFPattern, rewriter: Rewriter, func: Function) -> Function:
    """The function with each value that a pattern matches replaced by the result of a function of the value and the
    matches; again until nothing changes. OptionError for rewrites without end."""
    for _ in range(_MOST_ROUNDS):
        rewrite = _CallRewriter(pattern, rewriter)
        func = rewrite.visit_expr(func)
        if not rewrite.has_changed:
            return func
    raise OptionError(f"rewrite_call: the pattern still matches after {_MOST_ROUNDS} rounds")


_MOST_ROUNDS = 100


class _CallRewriter(PyExprMutator):
    def __init__(self, pattern: DFPattern, rewriter: Rewriter):
        super().__init__()
        self.pattern, self.rewriter = pattern, rewriter
        self.has_changed = False

    def visit_var_binding_(self, binding: VarBinding) -> None:
        found = None if isinstance(binding.value, Var | Constant) else self.pattern.find(binding.value, {})
        new = None if found is None else self.rewriter(binding.value, found)
        if new is None or new is binding.value:
            super().visit_var_binding_(binding)
            return
        self.has_changed = True
        value = _emit_parts(self, new, {})
        var = type(binding.var)(binding.var.name_hint, self.builder_.type_of(value))
        self.set_var_remap(binding.var, var)
        self.builder_.emit_normalized(VarBinding(var, value))


def rewrite_bindings(
    ctx: PatternContext,
    rewriter: Callable[[dict[DFPattern, Var], dict[Var, Expr]], Mapping[Var, Expr]],
    func: Function,
) -> Function:
    """The function with values of dataflow blocks replaced where a context matches, again until it matches no more.

    rewriter: a function from the variable of each pattern, and the values of the variables of the block, to the new
    values of variables; none to end. Values that are not replaced are matched again. A new value is computed after
    all that it uses. Values that nothing uses then are removed.  ArgumentError for a new value that uses itself.
    """
    return remove_all_unused(_BindingRewriter(ctx, rewriter).visit_expr(func))


class _BindingRewriter(PyExprMutator):
    """Replaces values of dataflow blocks."""

    def __init__(self, ctx: PatternContext, rewriter: Callable[[Any, Any], Mapping[Var, Expr]]):
        super().__init__()
        self.ctx, self.rewriter = ctx, rewriter

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        new = self._replacements(block)
        if not new:
            return super().visit_dataflow_block_(block)
        self.builder_.begin_dataflow_block()
        emitted: dict[int, Expr] = {}
        for binding in _in_order(block.bindings, new):
            if binding.var not in new:
                self.visit_binding(binding)
                continue
            value = _emit_parts(self, new[binding.var], emitted)
            var = type(binding.var)(binding.var.name_hint, self.builder_.type_of(value))
            self.set_var_remap(binding.var, var)
            self.builder_.emit_normalized(VarBinding(var, value))
        return self.builder_.end_block()

    def _replacements(self, block: DataflowBlock) -> dict[Var, Expr]:
        """The new values of variables."""
        new: dict[Var, Expr] = {}
        left = list(block.bindings)
        while (found := self.ctx.match_bindings(left)) is not None:
            values = {each.var: each.value for each in left if isinstance(each, VarBinding | MatchCast)}
            changed = self.rewriter(found, values)
            unknown = [str(var) for var in changed if var not in values]
            if unknown:
                raise ArgumentError(
                    f"rewrite_bindings: new values of {', '.join(unknown)}, expected variables of the block"
                )
            if not changed:
                break
            new |= changed
            left = [each for each in left if each.var not in changed]
        return new


def _emit_parts(mutator: PyExprMutator, expr: Expr, emitted: dict[int, Expr]) -> Expr:
    """The new expression for one of old variables, whose calls within are bound to variables, each once. emitted: the
    new expressions by the identities of old ones."""

    def part(each: Any) -> Any:
        if not isinstance(each, Call | Tuple | TupleGetItem):
            return mutator.visit_expr(each) if isinstance(each, Expr) else each
        if id(each) not in emitted:
            new = _emit_parts(mutator, each, emitted)
            emitted[id(each)] = mutator.builder_.emit(new) if isinstance(each, Call) else new
        return emitted[id(each)]

    match expr:
        case Call():
            return Call(expr.op, [part(each) for each in expr.args], expr.attrs, expr.sinfo_args)
        case Tuple():
            return Tuple([part(each) for each in expr.fields])
        case TupleGetItem():
            return TupleGetItem(part(expr.tuple_value), expr.index)
        case _:
            return mutator.visit_expr(expr)


def _in_order(bindings: Sequence[Binding], new: Mapping[Var, Expr]) -> list[Binding]:
    """Bindings in their order as far as each follows those that it uses. new: the values that replace others."""
    own = {each.var for each in bindings}
    uses = {each.var: own & set(free_vars(new.get(each.var, each.value))) for each in bindings}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    left, known, ordered = list(bindings), set[Var](), list[Binding]()
    while left:
        ready = next((each for each in left if uses[each.var] <= known), None)
        if ready is None:
            names = ", ".join(str(each.var) for each in left)
            raise ArgumentError(f"rewrite_bindings: new values of {names} use each other")
        left.remove(ready)
        known.add(ready.var)
        ordered.append(ready)
    return ordered


# Rules


class PatternMatchingRewriter:
    """A rewrite of programs by rules: called with a function or a module, it returns a new one, in which no rule
    matches. `a | b` has the rules of both, those of `a` first."""

    def __init__(self, rules: Sequence[_Rule]):
        self._rules = list(rules)

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Rewriter) -> PatternMatchingRewriter:
        """The rule that replaces what a pattern matches, as of `rewrite_call`."""
        return ExprPatternRewriter(pattern, func)

    @staticmethod
    def from_module(mod: Module) -> PatternMatchingRewriter:
        """The rule of a module of two functions with equal parameters: `pattern`, whose operations are replaced, and
        `replacement`.

        ArgumentError for a module without them, for different types of parameters and results, and for a pattern with
        other values than calls, tuples, their fields and constants. UnsupportedError for further functions, for
        parameters with names of sizes, and for a result that is a tuple.
        """
        return ExprPatternRewriter(*_rule_of(mod))

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return OrRewriter(self, other)

    def __call__(self, obj: Any) -> Any:
        """A function or a module rewritten. OptionError for rules that match without end."""
        if isinstance(obj, Function):
            return self._rewrite(obj)
        result = IRModule(obj.op.clone(), dict(obj.constants))
        for name, func in result.items():
            if isinstance(func, Function):
                result[name] = self._rewrite(func)
        return result

    def _rewrite(self, func: Function) -> Function:
        for _ in range(_MOST_ROUNDS):
            before = func
            for pattern, rewriter in self._rules:
                func = rewrite_call(pattern, rewriter, func)
            if func is before:
                return remove_all_unused(func)
        raise OptionError(f"PatternMatchingRewriter: the rules still match after {_MOST_ROUNDS} rounds")


class ExprPatternRewriter(PatternMatchingRewriter):
    """The rule that replaces what a pattern matches."""

    def __init__(self, pattern: DFPattern, func: Rewriter):
        super().__init__([(pattern, func)])


class OrRewriter(PatternMatchingRewriter):
    """The rules of two rewrites."""

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter):
        super().__init__([*lhs._rules, *rhs._rules])


_Rule = tuple[DFPattern, Rewriter]


def _rule_of(mod: Module) -> _Rule:
    """The pattern and the rewriter of a module."""
    functions = dict(mod.items()) if isinstance(mod, IRModule) else dict(IRModule(mod.op, mod.constants).items())
    for name in ("pattern", "replacement"):
        if not isinstance(functions.get(name), Function):
            known = ", ".join(functions)
            raise ArgumentError(f"rewriter: no function of relax {name!r}, expected pattern and replacement ({known})")
    if len(functions) > 2:
        raise UnsupportedError(f"rewriter: functions {', '.join(functions)}, expected pattern and replacement alone")
    pattern, replacement = functions["pattern"], functions["replacement"]
    types = [[each.struct_info.type for each in func.params] for func in (pattern, replacement)]
    if types[0] != types[1]:
        raise ArgumentError("rewriter: the parameters of pattern and replacement have different types")
    if names := [name for type in types[0] for name in names_in(type)]:
        raise UnsupportedError(
            f"rewriter: parameters with sizes {', '.join(names)}, expected numbers or unknown shapes"
        )
    if isinstance(pattern.body.body, Tuple):
        raise UnsupportedError("rewriter: the pattern returns a tuple, expected one value")
    wildcards = {param: WildcardPattern() for param in pattern.params}
    root = _pattern_of(
        pattern.body.body,
        {param: each.has_struct_info(param.struct_info) for param, each in wildcards.items()},
        bound_values(pattern.body.blocks),
    )
    values = bound_values(replacement.body.blocks)

    def rewriter(_: Expr, matches: Mapping[DFPattern, Expr]) -> Expr:
        given = dict(zip(replacement.params, (matches[each] for each in wildcards.values()), strict=True))
        return _expanded(replacement.body.body, values, dict[Var, Expr](given))

    return root, rewriter


def _pattern_of(expr: Any, known: dict[Var, DFPattern], values: Mapping[Var, Expr]) -> DFPattern:
    """The pattern of an expression. known: the patterns of variables."""
    match expr:
        case Var():
            if expr not in known and expr in values:
                known[expr] = _pattern_of(values[expr], known, values)
            if expr in known:
                return known[expr]
        case Call(op=Op(name=name)):
            args = [_pattern_of(each, known, values) for each in expr.args]
            call = CallPattern(OpPattern(name), args)
            return call.has_attr(expr.attrs.explicit) if expr.attrs.explicit else call
        case Tuple():
            return TuplePattern([_pattern_of(each, known, values) for each in expr.fields])
        case TupleGetItem():
            return TupleGetItemPattern(_pattern_of(expr.tuple_value, known, values), expr.index)
        case Expr():
            return ExprPattern(expr)
        case _:
            pass
    raise ArgumentError(f"rewriter: the pattern has {expr!r}, expected operators, tuples, their fields and constants")


def _expanded(expr: Any, values: Mapping[Var, Expr], known: dict[Var, Expr]) -> Any:
    """An expression without variables that a function binds. known: the expressions of variables."""
    if isinstance(expr, Var):
        if expr not in known:
            known[expr] = _expanded(values[expr], values, known)
        return known[expr]
    if not isinstance(expr, Expr):
        return expr
    return Substitution({var: _expanded(var, values, known) for var in free_vars(expr)}).visit_expr(expr)


__all__ = ["ExprPatternRewriter", "OrRewriter", "PatternMatchingRewriter", "rewrite_bindings", "rewrite_call"]
