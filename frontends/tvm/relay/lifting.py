"""Functions inside of functions made functions of the module, and names of functions made functions:
`relay.transform.LambdaLift` and `relay.transform.EtaExpand`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from ...relay.adt import Constructor
from ...relay.analysis import free_vars
from ...relay.expr import Call, Expr, Function, FunctionCall, GlobalVar, Let, Var
from ...relay.functor import ExprMutator, TypedMutator, bind
from ...relay.types import FuncType, type_variables


class _Lifting(TypedMutator):
    """Moves functions inside of functions to the module. A function that uses variables around it becomes a call of a
    function from these variables to it; within this function, the variable that it is bound to is such a call, too."""

    def __init__(self, names: Mapping[str, Function]):
        super().__init__()
        self.lifted: dict[str, Function] = {}
        self.taken = set(names)
        self.bound: Var | None = None

    def body(self, func: Function) -> Function:
        """A function of the module without functions inside of it."""
        return Function(func.params, self.visit(func.body), func.result_annotation, func.type_params, func.attrs)

    def visit_let(self, let: Let) -> Expr:
        self.bound = let.var if isinstance(let.value, Function) else None
        value = self.visit(let.value)
        self.bound = None
        return Let(let.var, value, self.visit(let.body))

    def visit_function(self, fn: Function) -> Expr:
        own, self.bound = self.bound, None
        if fn.attrs.get("Primitive"):
            return fn
        captured = [each for each in free_vars(fn) if each is not own]
        name = GlobalVar(self._name())
        whole = FunctionCall(name, captured) if captured else name
        inner = bind(self.body(fn), {own: whole} if own is not None else {})
        if not captured:
            self.lifted[name.name_hint] = inner
            return whole
        params = [Var(each.name_hint, each.known_type or each.type_annotation) for each in captured]
        known = fn.known_type
        result = known if isinstance(known, FuncType) else None
        inner = bind(inner, dict(zip(captured, params, strict=True)))
        variables = [each for each in type_variables(result) if each not in fn.type_params] if result else []
        self.lifted[name.name_hint] = Function(params, inner, result, variables, {"Closure": 1})
        return whole

    def _name(self) -> str:
        name = next(each for n in count() if (each := f"lifted_name{n or ''}") not in self.taken)
        self.taken.add(name)
        return name


def lift_functions(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Functions without functions inside of them, and those that were inside of them. Types are known."""
    lifting = _Lifting(functions)
    result = {name: lifting.body(func) for name, func in functions.items()}
    return {**result, **lifting.lifted}


class _Expansion(ExprMutator):
    """Replaces functions that are values by functions that call them."""

    def __init__(self, names: bool, constructors: bool):
        super().__init__()
        self.names = names
        self.constructors = constructors

    def visit_call(self, call: Call) -> Expr:
        op = call.op if isinstance(call.op, GlobalVar | Constructor) else self.visit(call.op)
        args = [self.visit(each) for each in call.args]
        return call if op is call.op and args == list(call.args) else Call(op, args, call.attrs)

    def visit_global_var(self, gvar: GlobalVar) -> Expr:
        return _expanded(gvar, gvar.checked_type) if self.names else gvar

    def visit_constructor(self, constructor: Constructor) -> Expr:
        return _expanded(constructor, constructor.checked_type) if self.constructors else constructor


def _expanded(callee: GlobalVar | Constructor, type: FuncType) -> Function:
    params = [Var(f"eta_expand_param{n}", each) for n, each in enumerate(type.arg_types)]
    return Function(params, callee(*params), type.ret_type, type.type_params)


def expand_functions(functions: Mapping[str, Function], names: bool, constructors: bool) -> dict[str, Function]:
    """Functions in which functions of the module and constructors that are values are functions that call them. Types
    are known."""
    return {name: _Expansion(names, constructors).visit(func) for name, func in functions.items()}
