"""Types of users: variables, data types, kinds, visitors and cases of matches."""

from typing import Any

import pytest

from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.analysis import all_type_vars, bound_type_vars, check_kind, free_type_vars

A, B = relay.TypeVar("a"), relay.TypeVar("b")
TENSOR = relay.TensorType((2,))
FUNCTION = relay.FuncType([A], relay.TupleType([B, TENSOR]), [A])


def test_variables_of_types_are_free_or_bound() -> None:
    assert (free_type_vars(FUNCTION), bound_type_vars(FUNCTION), all_type_vars(FUNCTION)) == ([B], [A], [A, B])
    x = relay.Var("x", A)
    func = relay.Function([x], relay.Tuple([x, relay.Var("y", B)]), type_params=[A])
    assert (free_type_vars(func), bound_type_vars(func)) == ([B], [A])


@pytest.mark.parametrize("kind", relay.TypeKind)
def test_a_tuple_has_types_alone(kind: relay.TypeKind) -> None:
    several = relay.TupleType([relay.TypeVar("t", kind)])
    if kind == relay.TypeKind.Type:
        assert check_kind(several) == relay.TypeKind.Type
        return
    with pytest.raises(OptionError, match=f"t of kind {kind.name}, expected Type"):
        check_kind(several)


def test_a_data_type_has_as_many_arguments_as_variables() -> None:
    name, mod = relay.GlobalTypeVar("Box"), tvm.IRModule()
    mod[name] = relay.TypeData(name, [A], [])
    assert check_kind(name(TENSOR), mod) == relay.TypeKind.Type
    with pytest.raises(OptionError, match="with 0 arguments, which has 1 variables"):
        check_kind(name(), mod)
    with pytest.raises(OptionError, match="no definition in the module"):
        check_kind(name(TENSOR))


def test_types_are_equal_up_to_their_bound_variables() -> None:
    c = relay.TypeVar("c")
    other = relay.FuncType([c], relay.TupleType([B, TENSOR]), [c])
    assert tvm.ir.structural_equal(FUNCTION, other)
    assert not tvm.ir.structural_equal(FUNCTION, relay.FuncType([c], relay.TupleType([c, TENSOR]), [c]))
    assert not tvm.ir.structural_equal(A, B)
    assert tvm.ir.structural_equal(A, B, map_free_vars=True)


def test_a_mutator_replaces_types_inside_of_types() -> None:
    class Doubling(relay.TypeMutator):
        def visit_tensor_type(self, typ: relay.TensorType) -> relay.TensorType:
            return relay.TensorType(typ.shape, "float64")

    new = Doubling().visit(relay.RefType(FUNCTION))
    assert new.value.ret_type.fields == (B, relay.TensorType((2,), "float64"))
    relay.TypeVisitor().visit(new)
    with pytest.raises(NotImplementedError):
        relay.TypeFunctor().visit(new)


def test_a_graph_with_types_of_users_is_kept_and_not_compiled() -> None:
    x = relay.Var("x", A)
    mod = tvm.IRModule.from_expr(relay.Function([x], x, type_params=[A]))
    assert tvm.ir.structural_equal(mod["main"], relay.Function([x], x, type_params=[A]))
    with pytest.raises(UnsupportedError, match="parameter x is of type a, expected tensors"):
        relay.build(mod)


def test_cases_without_a_pattern_do_not_overlap_and_are_all() -> None:
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    (_, cons, nil), v = mod.get_type("List"), relay.Var("v")
    wild, pair = relay.PatternWildcard(), relay.PatternTuple

    def cell(*parts: Any) -> relay.PatternConstructor:
        return relay.PatternConstructor(cons, parts)

    def left(*patterns: Any) -> list[Any]:
        match = relay.Match(v, [relay.Clause(each, v) for each in patterns])
        return relay.analysis.unmatched_cases(match, prelude.mod)

    end = relay.PatternConstructor(nil)
    assert [type(each) for each in left()] == [relay.PatternWildcard]
    assert left(relay.PatternVar(v)) == [] == left(cell(wild, wild), end)
    (one,) = left(cell(wild, cell(wild, wild)), end)
    assert one.constructor is cons
    assert one.patterns[1].constructor is nil
    cases = left(pair([end, end]), pair([cell(wild, wild), wild]))
    assert [[part.constructor for part in each.patterns] for each in cases] == [[nil, cons]]
    with pytest.raises(OptionError, match="data type List, expected one of the module: none"):
        relay.analysis.unmatched_cases(relay.Match(v, [relay.Clause(end, v)]))


def test_a_type_of_memory_is_declared() -> None:
    mod = tvm.IRModule()
    mod.import_from_std("core.rly")
    assert [str(each) for each in mod.get_type("Storage")] == ["Storage"]
    with pytest.raises(OptionError, match=r"no program 'x.rly', there is core.rly, nat.rly, prelude.rly"):
        mod.import_from_std("x.rly")
