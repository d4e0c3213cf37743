"""Unknowns for the devices of expressions, which constraints make equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError
from ....operators import Operator
from ...relay.adt import Constructor
from ...relay.annotation import DEVICE_COPY, ON_DEVICE, is_mark
from ...relay.expr import Call, Expr
from ...relay.types import FuncType
from ..target.compilation_config import CompilationConfig
from ..target.virtual_device import VirtualDevice

FREE = VirtualDevice()
"""The device of which nothing is known."""


@dataclass(eq=False)
class Domain:
    """The device of a value: as far as it is known, or, for a function, the domains of its parameters and, last, of its
    result."""

    device: VirtualDevice
    parts: tuple[Domain, ...] = ()


class Domains:
    """The domains of expressions with known types, and of the functions that calls call.

    config: the targets, and the devices of the host and by default.
    """

    def __init__(self, config: CompilationConfig):
        self.config = config
        self._same: dict[Domain, Domain] = {}
        self._of: dict[Expr, Domain] = {}
        self._callees: dict[Call, Domain] = {}

    # Domains

    def free(self, type: Any, device: VirtualDevice = FREE) -> Domain:
        """A domain for the values of a type. device: of the value, or of the result of a function."""
        if not isinstance(type, FuncType):
            return Domain(device)
        return Domain(FREE, (*map(self.free, type.arg_types), self.free(type.ret_type, device)))

    def stated(self, type: Any, device: VirtualDevice) -> Domain:
        """The domain of values of a type for which the program states a device."""
        return self.free(type, self.config.canonical(device))

    def root(self, domain: Domain) -> Domain:
        """The domain that stands for all those equal to a domain."""
        while domain in self._same:
            domain = self._same[domain]
        return domain

    def result(self, domain: Domain) -> Domain:
        """The domain of the result of a function, or of its result if that is a function; another one itself."""
        domain = self.root(domain)
        while domain.parts:
            domain = self.root(domain.parts[-1])
        return domain

    def device(self, domain: Domain) -> VirtualDevice:
        """The device of a value, or of the result of a function."""
        return self.result(domain).device

    def is_complete(self, domain: Domain) -> bool:
        """Whether all devices of a domain are known completely."""
        domain = self.root(domain)
        return all(map(self.is_complete, domain.parts)) if domain.parts else domain.device.is_fully_constrained

    # Equality

    def unify(self, a: Domain, b: Domain) -> Domain | None:
        """Makes two domains equal; None if the devices differ."""
        a, b = self.root(a), self.root(b)
        if a is b:
            return a
        joint = self._join(a, b)
        if joint is None:
            return None
        for each in (self.root(a), self.root(b)):
            if each is not joint:
                self._same[each] = joint
        return joint

    def _join(self, a: Domain, b: Domain) -> Domain | None:
        if len(a.parts) != len(b.parts):
            raise OptionError(f"devices of {len(a.parts)} and {len(b.parts)} values, expected functions of one type")
        if not a.parts:
            if b.device.is_fully_unconstrained:
                return a
            if a.device.is_fully_unconstrained:
                return b
            device = a.device.join(b.device)
            return None if device is None else Domain(self.config.canonical(device))
        parts: list[Domain] = []
        for x, y in zip(a.parts, b.parts, strict=True):
            part = self.unify(x, y)
            if part is None:
                return None
            parts.append(part)
        return Domain(FREE, tuple(parts))

    def collapse(self, single: Domain, domain: Domain) -> bool:
        """Makes all devices of a domain, which may be that of a function, equal to one. Returns whether they can be."""
        domain = self.root(domain)
        return all([self.unify(single, each) is not None for each in domain.parts or (domain,)])

    def require(self, domain: Domain | None, expr: object) -> Domain:
        """A domain that has been unified. OptionError for None."""
        if domain is None:
            raise OptionError(f"{expr!r}: on several devices, expected one, or a copy by `device_copy` or `on_device`")
        return domain

    def equate(self, expr: Expr, other: Expr | Domain) -> None:
        """Makes the devices of an expression and another one, or a domain, equal. OptionError if they differ."""
        self.require(self.unify(self.of(expr), other if isinstance(other, Domain) else self.of(other)), expr)

    def equate_all(self, expr: Expr, other: Expr) -> None:
        """Makes all devices of another expression equal to that of an expression that is no function. OptionError."""
        if not self.collapse(self.of(expr), self.of(other)):
            self.require(None, expr)

    def equate_if_possible(self, expr: Expr, other: Expr) -> None:
        """Makes the devices of two expressions equal, if nothing says that they differ."""
        before = dict(self._same)
        if self.unify(self.of(expr), self.of(other)) is None:
            self._same = before

    # Expressions

    def of(self, expr: Expr) -> Domain:
        """The domain of an expression."""
        if expr not in self._of:
            self._of[expr] = self.free(expr.checked_type)
        return self.root(self._of[expr])

    def name(self, expr: Expr, value: Expr) -> None:
        """Makes an expression another name of a value."""
        self._of[expr] = self.of(value)

    def of_call(self, call: Call) -> Domain:
        """The domain of a function from the operands of a call to its result."""
        return Domain(FREE, (*map(self.of, call.args), self.of(call)))

    def of_callee(self, call: Call) -> Domain:
        """The domain of the function of a call: operands and result of an operator are on one device, a mark has those
        that it states."""
        if not isinstance(call.op, Operator | Constructor):
            return self.of(call.op)
        if call not in self._callees:
            self._callees[call] = Domain(FREE, tuple(self._signature(call)))
        return self.root(self._callees[call])

    def _signature(self, call: Call) -> Sequence[Domain]:
        attrs: Any = call.attrs
        if is_mark(call, ON_DEVICE):
            type, device = call.args[0].checked_type, attrs.virtual_device
            constraints = (attrs.constrain_body, attrs.constrain_result)
            return [self.stated(type, device) if each else self.free(type) for each in constraints]
        if is_mark(call, DEVICE_COPY):
            devices = (attrs.src_virtual_device, attrs.dst_virtual_device)
            return [self.stated(call.args[0].checked_type, each) for each in devices]
        if isinstance(call.op, Constructor):
            made = call.op.checked_type
            result = self.free(made.ret_type)
            params = [self.free(each) for each in made.arg_types]
            for each in params:
                self.collapse(result, each)
            return [*params, result]
        return [Domain(FREE)] * (len(call.args) + 1)

    # Defaults

    def default(self, domain: Domain, device: VirtualDevice) -> None:
        """Completes the devices of a domain by a device."""
        domain = self.root(domain)
        if domain.parts:
            for each in domain.parts:
                self.default(each, device)
        else:
            complete = self.config.canonical(domain.device.with_defaults(device))
            self.require(self.unify(domain, Domain(complete)), domain.device)

    def default_function(self, domain: Domain) -> None:
        """Completes the device of the result of a function by the default device, and those of its parameters by that
        of its result."""
        if self.is_complete(domain):
            return
        self.default(self.result(domain), self.config.default_primitive_virtual_device)
        self.default(domain, self.device(domain))
