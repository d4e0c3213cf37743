"""The registry of intrinsics: names of users, and rules that replace intrinsics by expressions for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import OptionError
from ...expressions.expr import Call, PrimExpr, PureExternCall, as_expr
from ...expressions.intrinsic_names import PREFIX
from ...operators import OPERATORS
from ..relay.text import function_of

Rule = Callable[[Call], Any]
DEFAULT = "default"
"""The kind of target whose rules hold for all kinds."""


class CallEffectKind:
    """The effects of a call, for `register_op_attr("tir.name", "TCallEffectKind", CallEffectKind.Pure)`."""

    ExprAnnotation, Pure, ReadState, UpdateState, SpecialCallArg, EmbedInfo, ControlJump = range(7)


@dataclass(frozen=True)
class _Lowering:
    level: int
    rule: Rule


_COMPILERS: dict[str, dict[str, Callable[[Any], bool]]] = {}
"""The functions that say which calls a compiler computes, by attribute and operator."""
_RELAX = "relax."
_RELAX_ATTRIBUTES: dict[str, dict[str, tuple[int, Any]]] = {}
"""The level and the value of attributes of operators of relax, by attribute and operator."""
_NAMES: set[str] = set()
_LOWERINGS: dict[tuple[str, str], _Lowering] = {}
"""The rules, by kind of target and name of the intrinsic."""


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Registers an attribute of an intrinsic, `register_op_attr("tir.mylog", "TCallEffectKind", CallEffectKind.Pure)`:
    from then on `call_intrin` accepts its name. Without a value, a decorator of the function that is the value.

    The attribute `target.NAME` of an operator of graphs is a function from a call to whether the compiler `NAME`
    computes the call (`relay.transform.AnnotateTarget`); other attributes of such an operator are facts, which its
    `get_attr` returns. The attribute `FLegalize` of an operator of relax is the function that replaces its calls in
    `relax.transform.LegalizeOps`. OptionError for an unknown name, and for an effect other than `Pure`. level: of two
    values of an attribute of relax, that of the higher level holds, the later one of equal levels.
    """
    if op_name.startswith(_RELAX):
        return _register_for_relax(op_name, attr_key, value, level)
    if attr_key.startswith("target.") and (op_name in OPERATORS or function_of(op_name) is not None):
        return _register_for_compiler(op_name, attr_key, value)
    if op_name in OPERATORS:
        return _register_fact(op_name, attr_key, value)
    name = _intrinsic(op_name)

    def register(attribute: Any) -> Any:
        if attr_key == "TCallEffectKind" and attribute not in (CallEffectKind.Pure, CallEffectKind.ExprAnnotation):
            raise OptionError(
                f"{op_name}: effect {attribute}, expected CallEffectKind.Pure: intrinsics have no effects"
            )
        _NAMES.add(name)
        return attribute

    return register if value is None else register(value)


def _register_fact(op_name: str, attr_key: str, value: Any) -> Any:
    def register(fact: Any) -> Any:
        OPERATORS[op_name].set_attr(attr_key, fact)
        return fact

    return register if value is None else register(value)


def _register_for_relax(op_name: str, attr_key: str, value: Any, level: int) -> Any:
    def register(attribute: Any) -> Any:
        known = _RELAX_ATTRIBUTES.setdefault(attr_key, {})
        if op_name not in known or known[op_name][0] <= level:
            known[op_name] = level, attribute
        return attribute

    return register if value is None else register(value)


def registered_attributes(attr_key: str) -> dict[str, Any]:
    """The values of an attribute of operators of relax, by operator."""
    return {name: value for name, (_, value) in _RELAX_ATTRIBUTES.get(attr_key, {}).items()}


def _register_for_compiler(op_name: str, attr_key: str, value: Any) -> Any:
    def register(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
        _COMPILERS.setdefault(attr_key, {})[op_name] = rule
        return rule

    return register if value is None else register(value)


def operator_attributes(attr_key: str) -> Mapping[str, Callable[[Any], bool]]:
    """The functions of an attribute `target.NAME` by operator."""
    return _COMPILERS.get(attr_key, {})


def register_intrin_lowering(op_name: str, target: str, *, f: Rule | None = None, level: int = 10) -> Any:
    """Registers the rule that replaces an intrinsic in programs that are built for a target.

    op_name: the intrinsic, `tir.exp` or a name of a user's.  target: the kind of the target, or `default` for all.
    f: a function from the call, a `tvm.tir.Call`, to an expression of its type; the call itself keeps the call. Without
    it, a decorator of the function.  level: of two rules for a target and an intrinsic, that of the higher level holds,
    the later one of equal levels. The expression of a rule is not replaced again.
    """
    name = _intrinsic(op_name)

    def register(rule: Rule) -> Rule:
        _NAMES.add(name)
        known = _LOWERINGS.get((target, name))
        if known is None or known.level <= level:
            _LOWERINGS[target, name] = _Lowering(level, rule)
        return rule

    return register if f is None else register(f)


def register_intrin_rule(target: str, intrin: str, f: Rule | None = None, override: bool = False) -> Any:
    """`register_intrin_lowering` as of v0.6 and v0.7. OptionError if a rule exists, unless `override`."""
    if not override and (target, intrin) in _LOWERINGS:
        raise OptionError(f"intrinsic {intrin} has a rule for {target}, expected override=True")
    return register_intrin_lowering(f"{PREFIX}{intrin}", target, f=f)


def _intrinsic(op_name: str) -> str:
    if not op_name.startswith(PREFIX):
        raise OptionError(f"operator {op_name!r}, expected an intrinsic `{PREFIX}NAME`: operators of graphs are fixed")
    return op_name.removeprefix(PREFIX)


def call_user_intrinsic(dtype: str, name: str, args: tuple[Any, ...]) -> PrimExpr | None:
    """The call of an intrinsic that has been registered, or None. name: without its prefix."""
    if name not in _NAMES:
        return None
    return PureExternCall(dtype, f"{PREFIX}{name}", [as_expr(arg) for arg in args])


def has_intrinsics() -> bool:
    """Whether a name or a rule has been registered."""
    return bool(_NAMES)


def is_user_intrinsic(name: str) -> bool:
    """Whether a name, without its prefix, has been registered."""
    return name in _NAMES


def rules_of(kind: str) -> dict[str, Rule]:
    """The rules for a kind of target, by name of the intrinsic."""
    common = {name: each.rule for (target, name), each in _LOWERINGS.items() if target == DEFAULT}
    return common | {name: each.rule for (target, name), each in _LOWERINGS.items() if target == kind}
