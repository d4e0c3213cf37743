"""A device for each value of a program on several devices, and copies between devices: `PlanDevices`.

Marks (`on_device`, `device_copy`) and annotations of parameters and results state devices. Each other value is on the
device of its users and operands: the fields of a tuple on that of the tuple, the operands of an operator on that of its
result, arguments on those of the parameters. Values that are still on no device get those of the results of their
functions, which get the default device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....operators import Operator
from ...relay.adt import Constructor, Match
from ...relay.annotation import DEVICE_COPY, ON_DEVICE, is_mark
from ...relay.expr import (
    VIRTUAL_DEVICE,
    Call,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ...relay.functor import ExprMutator, ExprVisitor, TypedMutator, post_order
from ..target.compilation_config import CompilationConfig
from ..target.virtual_device import VirtualDevice
from .device_domains import FREE, Domains


def prepare(functions: Mapping[str, Function], config: CompilationConfig) -> dict[str, Function]:
    """Functions in which marks on results and bound values hold for their users, too, and operands that calls require
    on several devices are copied."""
    marked: dict[str, Any] = {name: _Marks().visit(func) for name, func in functions.items()}
    conflicts = _Conflicts()
    for func in marked.values():
        conflicts.visit(func)
    return {name: _Copies(conflicts, config).visit(func) for name, func in marked.items()}


def plan(functions: Mapping[str, Function], config: CompilationConfig) -> dict[str, Function]:
    """Functions with a device for each parameter and result, a mark `on_device` for each value on another device than
    its users or its binding, and a copy for each value that is used on another device. The types of all expressions are
    known. OptionError for values that must be on several devices."""
    domains = Domains(config)
    _constrain(functions, domains)
    for func in functions.values():
        _FreeMarks(domains).visit(func)
    for func in functions.values():
        _Defaults(domains).visit(func)
    return {name: _Capture(domains).visit(func) for name, func in functions.items()}  # pyright: ignore[reportReturnType]


def _is_annotation(call: Expr) -> bool:
    """Whether a mark states the device of its operand alone."""
    return is_mark(call, ON_DEVICE) and call.attrs.constrain_body and not call.attrs.constrain_result  # pyright: ignore[reportAttributeAccessIssue]


def _on_device(body: Any, device: VirtualDevice) -> Any:
    """A value that is on a device, as are its users. Functions and variables state their devices where they are
    defined."""
    if device.is_fully_unconstrained or isinstance(body, Operator | Constructor | GlobalVar | Var | Function):
        return body
    constrains_body = True
    if is_mark(body, ON_DEVICE):
        body, constrains_body = body.args[0], body.attrs.constrain_body
    attributes = {"virtual_device": device, "constrain_result": True, "constrain_body": constrains_body}
    new = Call(ON_DEVICE, [body], attributes)
    new.known_type = body.known_type
    return new


def _copy(body: Expr, source: VirtualDevice, target: VirtualDevice) -> Call:
    new = Call(DEVICE_COPY, [body], {"src_virtual_device": source, "dst_virtual_device": target})
    new.known_type = body.known_type
    return new


class _Marks(TypedMutator):
    """Marks of results of functions and of bound values hold for their users; fields are taken before they are
    copied."""

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        whole = self.visit(op.tuple_value)
        if not _is_annotation(whole):
            return op if whole is op.tuple_value else TupleGetItem(whole, op.index)
        return Call(ON_DEVICE, [TupleGetItem(whole.args[0], op.index)], whole.attrs)

    def visit_let(self, let: Let) -> Expr:
        value, body = self._fixed(self.visit(let.value)), self.visit(let.body)
        return let if value is let.value and body is let.body else Let(let.var, value, body)

    def visit_function(self, fn: Function) -> Expr:
        body = self._fixed(self.visit(fn.body))
        return fn if body is fn.body else Function(fn.params, body, fn.result_annotation, fn.type_params, fn.attrs)

    def _fixed(self, expr: Any) -> Any:
        return _on_device(expr.args[0], expr.attrs.virtual_device) if _is_annotation(expr) else expr


class _Conflicts(ExprVisitor):
    """The devices that marks require of calls and operands, and the operands of which they require several."""

    def __init__(self) -> None:
        super().__init__()
        self.devices: dict[Expr, VirtualDevice] = {}
        self.found: set[Expr] = set()

    def visit_call(self, call: Call) -> None:
        own = operands = self.devices.get(call, FREE)
        if is_mark(call, ON_DEVICE):
            operands = call.attrs.virtual_device if call.attrs.constrain_body else operands  # pyright: ignore[reportAttributeAccessIssue]
            own = call.attrs.virtual_device if call.attrs.constrain_result else own  # pyright: ignore[reportAttributeAccessIssue]
        elif is_mark(call, DEVICE_COPY):
            operands, own = call.attrs.src_virtual_device, call.attrs.dst_virtual_device  # pyright: ignore[reportAttributeAccessIssue]
        self._require(call, own)
        for each in call.args:
            if not self._require(each, operands) and not is_mark(each, ON_DEVICE):
                self.found.add(each)
        for each in call.args:
            self.visit(each)

    def _require(self, expr: Expr, device: VirtualDevice) -> bool:
        joint = self.devices.get(expr, FREE).join(device)
        if joint is not None:
            self.devices[expr] = joint
        return joint is not None


class _Copies(ExprMutator):
    """Copies operands that are required on several devices to the devices of the calls."""

    def __init__(self, conflicts: _Conflicts, config: CompilationConfig):
        super().__init__()
        self.conflicts = conflicts
        self.config = config

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        target = self._device(call)
        args = [
            _copy(each, self._device(each), target)
            if each in self.conflicts.found and FREE != target != self._device(each)
            else each
            for each in new.args
        ]
        return new if args == list(new.args) else new.with_args(args)

    def _device(self, expr: Expr) -> VirtualDevice:
        return self.config.canonical(self.conflicts.devices.get(expr, FREE))


# Constraints


def _constrain(functions: Mapping[str, Function], domains: Domains) -> None:
    """Makes the devices equal that the expressions of functions require to be equal."""
    for func in functions.values():
        for node in post_order(func, _below):
            if isinstance(node, GlobalVar):
                domains.name(node, functions[node.name_hint])
            else:
                _constrain_node(node, domains)


def _below(node: Any) -> list[Any]:
    """The nodes below a node, without those of functions that are kernels."""
    match node:
        case Function():
            return [*node.params, *([] if _is_kernel(node) else [node.body])]
        case FunctionCall():
            return [*node.children]
        case Let():
            return [node.var, *node.children]
        case Expr():
            return [*node.children]
        case _:
            return []


def _is_kernel(func: Function) -> bool:
    return bool(func.attrs.get("Primitive"))


def _constrain_node(node: Expr, domains: Domains) -> None:
    match node:
        case Call():
            implied = domains.of_call(node)
            domains.require(domains.unify(domains.of_callee(node), implied), node)
        case Let():
            domains.equate(node.var, node.value)
            domains.equate(node, node.body)
        case Function():
            _constrain_function(node, domains)
        case Tuple():
            for each in node.fields:
                domains.equate_all(node, each)
        case TupleGetItem():
            domains.equate_all(node.tuple_value, node)
        case Match():
            domains.equate_all(node.data, node)
            for clause in node.clauses:
                for variable in clause.lhs.variables:
                    domains.equate_all(node.data, variable)
                domains.equate(clause.rhs, node)
        case If():
            domains.equate_all(node.cond, node)
            domains.equate(node.true_branch, node)
            domains.equate(node.false_branch, node)
        case RefCreate():
            domains.equate_all(node, node.value)
        case RefRead():
            domains.equate_all(node.ref, node)
        case RefWrite():
            domains.equate_all(node.ref, node.value)
            domains.equate_all(node, node.value)
        case _:
            domains.of(node)


def _constrain_function(func: Function, domains: Domains) -> None:
    own = domains.of(func)
    domains.equate(func.body, own.parts[-1])
    if func.virtual_device not in (None, FREE):
        domains.equate(func.body, domains.stated(func.body.checked_type, func.virtual_device))
    for param, part in zip(func.params, own.parts, strict=False):
        domains.equate(param, part)
        if param.virtual_device not in (None, FREE):
            domains.equate(param, domains.stated(param.checked_type, param.virtual_device))  # pyright: ignore[reportArgumentType]


class _FreeMarks(ExprVisitor):
    """Avoids copies at marks that state no device."""

    def __init__(self, domains: Domains):
        super().__init__()
        self.domains = domains

    def visit_call(self, call: Call) -> None:
        super().visit_call(call)
        if is_mark(call, ON_DEVICE) and not call.attrs.constrain_body and not call.attrs.constrain_result:  # pyright: ignore[reportAttributeAccessIssue]
            self.domains.equate_if_possible(call, call.args[0])


class _Defaults(ExprVisitor):
    """Gives devices to values of which nothing states one."""

    def __init__(self, domains: Domains):
        super().__init__()
        self.domains = domains

    def visit_function(self, fn: Function) -> None:
        if not _is_kernel(fn):
            self.domains.default_function(self.domains.of(fn))
            self.visit(fn.body)

    def visit_call(self, call: Call) -> None:
        self.domains.default_function(self.domains.of_callee(call))
        super().visit_call(call)

    def visit_let(self, let: Let) -> None:
        device = self.domains.device(self.domains.of(let))
        variable = self.domains.of(let.var)
        if not self.domains.is_complete(variable):
            self.domains.default(variable, device)
        super().visit_let(let)


class _Capture(TypedMutator):
    """Writes the devices of values as annotations and marks, and copies between them."""

    def __init__(self, domains: Domains):
        super().__init__()
        self.domains = domains

    def device(self, expr: Expr) -> VirtualDevice:
        """The device of an expression; a mark is on that of its operand, since it is removed."""
        whole = expr.args[0] if is_mark(expr, ON_DEVICE) else expr  # pyright: ignore[reportAttributeAccessIssue]
        return self.domains.device(self.domains.of(whole))

    def child(self, expr: Any, expected: VirtualDevice, around: VirtualDevice, own: VirtualDevice | None = None) -> Any:
        """An expression on the device that its user expects. around: the device that readers of the program assume.
        own: that of the expression."""
        if isinstance(expr, Operator | Constructor):
            return expr
        own = self.device(expr) if own is None else own
        result = self.visit(expr)
        if own != expected:
            result = _copy(_on_device(result, own), own, expected)
        return result if expected == around else _on_device(result, expected)

    def beside(self, parent: Expr, expr: Any) -> Any:
        """A subexpression on the device of the expression around it."""
        device = self.device(parent)
        return self.child(expr, device, device)

    def visit_function(self, fn: Function) -> Expr:
        if _is_kernel(fn):
            return fn
        own = self.domains.of(fn)
        params: list[Var] = []
        for param, part in zip(fn.params, own.parts, strict=False):
            new = Var(param.name_hint, param.type_annotation, self.domains.device(part))
            new.known_type = param.known_type
            self.memo_map[param] = new
            params.append(new)
        device = self.domains.device(own)
        body = self.child(fn.body, device, device)
        return Function(params, body, fn.result_annotation, fn.type_params, {**fn.attrs, VIRTUAL_DEVICE: device})

    def visit_call(self, call: Call) -> Expr:
        if is_mark(call, ON_DEVICE):
            return self.visit(call.args[0])
        if is_mark(call, DEVICE_COPY):
            source, target = (
                self.domains.config.canonical(each)
                for each in (call.attrs.src_virtual_device, call.attrs.dst_virtual_device)  # pyright: ignore[reportAttributeAccessIssue]
            )
            return self.child(call.args[0], target, target, source) if source != target else self.visit(call.args[0])
        own, callee = self.device(call), self.domains.of_callee(call)
        op = self.child(call.op, own, own, self.domains.device(callee))
        args = [
            self.child(each, self.domains.device(part), own)
            for each, part in zip(call.args, callee.parts, strict=False)
        ]
        if op is call.op:
            return call if args == list(call.args) else call.with_args(args)
        return FunctionCall(op, args, call.attrs)

    def visit_let(self, let: Let) -> Expr:
        device = self.device(let)
        value = self.child(let.value, self.device(let.var), FREE)
        return Let(let.var, value, self.child(let.body, device, device))

    def visit_if(self, if_: If) -> Expr:
        return If(*(self.beside(if_, each) for each in (if_.cond, if_.true_branch, if_.false_branch)))

    def visit_tuple(self, tup: Tuple) -> Expr:
        fields = [self.beside(tup, each) for each in tup.fields]
        return tup if fields == list(tup.fields) else Tuple(fields)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        whole = self.beside(op, op.tuple_value)
        return op if whole is op.tuple_value else TupleGetItem(whole, op.index)

    def visit_ref_create(self, ref: RefCreate) -> Expr:
        return RefCreate(self.beside(ref, ref.value))

    def visit_ref_read(self, ref: RefRead) -> Expr:
        return RefRead(self.beside(ref, ref.ref))

    def visit_ref_write(self, ref: RefWrite) -> Expr:
        return RefWrite(self.beside(ref, ref.ref), self.beside(ref, ref.value))

    def visit_match(self, match: Match) -> Expr:
        new = super().visit_match(match)
        assert isinstance(new, Match)
        data = self.beside(match, match.data)
        clauses = [
            each if rhs is each.rhs else type(each)(each.lhs, rhs)
            for each, rhs in zip(new.clauses, (self.beside(match, each.rhs) for each in match.clauses), strict=True)
        ]
        return new if data is new.data and clauses == list(new.clauses) else Match(data, clauses, match.complete)


def devices_in(func: Function) -> dict[Expr, VirtualDevice]:
    """The devices of the expressions of a function, as its annotations and marks state them: an operand is on the
    device of the call, unless a mark or a variable states another one."""
    found: dict[Expr, VirtualDevice] = {}
    todo: list[tuple[Any, VirtualDevice]] = [(func, FREE)]
    while todo:
        node, around = todo.pop()
        if node in found or not isinstance(node, Expr):
            continue
        inner = around
        if is_mark(node, ON_DEVICE):
            inner = around = node.attrs.virtual_device  # pyright: ignore[reportAttributeAccessIssue]
        elif isinstance(node, Function):
            inner = around = node.virtual_device or around
        elif isinstance(node, Var):
            own: Any = node.virtual_device
            around = own or around
        found[node] = around
        todo += [(each, inner) for each in reversed(_below(node))]
    return found
