"""Passes on programs: functions as values, recursion, references, data types."""

import numpy as np
import pytest

from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay import transform


def parse(text: str) -> tvm.IRModule:
    return transform.InferType()(relay.parse(text))


def run(mod: tvm.IRModule, *args: object) -> np.ndarray:
    return relay.create_executor("debug", mod=mod).evaluate()(*args).numpy()


def check(change: tvm.transform.Pass, before: str, after: str) -> None:
    tvm.ir.assert_structural_equal(transform.InferType()(change(parse(before))), parse(after), True)


LOOP = """def @main(%x: float32) {
    let %f = fn (%n: int32, %a: float32) -> float32 { if (%n == 0) { %a } else { %f(%n - 1, %a * %x) } };
    BODY
}"""


def test_dead_bindings_are_removed() -> None:
    check(
        transform.DeadCodeElimination(),
        "def @main(%x: int32) { let %a = %x + 1; let %b = %a + 2; let %c = %x + 3; %c }",
        "def @main(%x: int32) { let %c = %x + 3; %c }",
    )
    check(transform.DeadCodeElimination(), LOOP.replace("BODY", "%x"), "def @main(%x: float32) { %x }")
    whole = LOOP.replace("BODY", "%f(3, %x)")
    check(transform.DeadCodeElimination(inline_once=True), whole, whole)


def test_values_that_are_used_once_are_inlined_but_not_into_functions() -> None:
    check(
        transform.DeadCodeElimination(inline_once=True),
        "def @main(%x: int32) { let %a = %x + 1; let %b = %x + 2; let %f = fn (%y: int32) { %a + %y }; (%f(%b), %f) }",
        "def @main(%x: int32) { let %a = %x + 1; let %f = fn (%y: int32) { %a + %y }; (%f(%x + 2), %f) }",
    )


REFERENCES = """def @f(%r: ref(int32)) { let %v = ref_read(%r); let %u = ref_write(%r, %v + 1); %v }
def @main() { let %r = ref(0); let %y = @f(%r); let %z = @f(%r); %z }"""


def test_bindings_with_effects_stay() -> None:
    check(transform.DeadCodeElimination(inline_once=True), REFERENCES, REFERENCES)
    assert run(parse(REFERENCES)) == 1
    removed = transform.DeadCodeElimination(ignore_impurity=True)(parse(REFERENCES))
    assert "%y" not in removed.astext()


def test_effects_of_unknown_functions_stay() -> None:
    for call in ("%p(%x)", "%t.0(%x)", "@main(%x, %p, %t)", "ref_read(ref(%p))(%x)"):
        text = f"""def @main(%x: int32, %p: fn (int32) -> int32, %t: (fn (int32) -> int32,)) -> int32 {{
            let %a = {call}; %x
        }}"""
        after = transform.DeadCodeElimination()(parse(text)).astext()
        assert ("%a" in after) == ("@main" not in call), call


def test_functions_inside_of_functions_are_lifted() -> None:
    mod = parse(LOOP.replace("BODY", "let %g = fn (%y: float32) { %f(2, %y) + %x }; %g(3f)"))
    lifted = transform.LambdaLift()(mod)
    assert sorted(lifted) == ["lifted_name", "lifted_name1", "main"]
    assert lifted["lifted_name"].attrs == {"Closure": 1}
    assert not [each for each in relay.analysis.all_vars(lifted["main"]) if each.name_hint == "y"]
    assert run(lifted, 2.0) == run(mod, 2.0) == 14


def test_functions_as_values_are_expanded() -> None:
    check(
        transform.EtaExpand(expand_constructor=True, expand_global_var=True),
        """type Box { Full(int32), }
        def @f(%x: int32) -> int32 { %x }
        def @main() { (@f, Full, @f(1), Full(2)) }""",
        """type Box { Full(int32), }
        def @f(%x: int32) -> int32 { %x }
        def @main() { (fn (%x: int32) -> int32 { @f(%x) }, fn (%x: int32) -> Box { Full(%x) }, @f(1), Full(2)) }""",
    )


def test_recursive_functions_are_not_inlined() -> None:
    text = """def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @g(@f(%n - 1)) } }
    def @g(%n: int32) -> int32 { %n + 2 }
    def @main(%n: int32) -> int32 { @f(%n) }"""
    mod = parse(text)
    for name in ("f", "g"):
        mod[name] = mod[name].with_attr("Inline", 1)
    inlined = transform.Inline()(mod)
    assert sorted(inlined) == ["f", "main"]
    assert run(inlined, 3) == 6


def test_features_of_programs_are_found() -> None:
    features = relay.analysis.detect_feature(parse(REFERENCES))
    expected = ("fRefCreate", "fRefRead", "fRefWrite")
    assert features >= {getattr(relay.analysis.Feature, each) for each in expected}


@pytest.mark.parametrize("change", [transform.ToANormalForm(), transform.ToBasicBlockNormalForm()])
def test_normal_forms_of_programs_compute_the_same(change: tvm.transform.Pass) -> None:
    assert run(change(parse(LOOP.replace("BODY", "%f(3, %x)"))), 2.0) == 16
    assert run(change(parse(REFERENCES))) == 1


def simplify(mod: tvm.IRModule) -> tvm.IRModule:
    passes = [transform.PartialEvaluate(), transform.InferType(), transform.DeadCodeElimination(inline_once=True)]
    return transform.InferType()(tvm.transform.Sequential(passes)(mod))


def test_known_calls_branches_and_matches_are_evaluated() -> None:
    mod = parse(
        """type List[A] { Cons(A, List[A]), Nil, }
        def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
            match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil, }
        }
        def @sum(%n: int32) -> int32 { if (%n == 0) { 0 } else { %n + @sum(%n - 1) } }
        def @main(%x: int32) { @map(fn (%y: int32) { %y + @sum(3) }, Cons(%x, Cons(2, Nil))) }"""
    )
    body = simplify(mod)["main"].body
    assert body.op.name_hint == body.args[1].op.name_hint == "Cons"
    assert relay.expr.const(6).array == body.args[0].args[1].array
    assert body.args[1].args[0].array == 8


def test_calls_without_an_end_stay() -> None:
    text = """def @f(%n: int32, %m: int32) -> int32 { @f(%m, %n) }
    def @g(%n: int32) -> int32 { if (%n == 0) { %n } else { @g(%n - 1) } }
    def @main(%x: int32) -> int32 { @f(1, 2) + @g(%x) }"""
    assert {each.name_hint for each in relay.analysis.all_vars(simplify(parse(text))["main"])} == {"x"}
    assert run(parse(text.replace("@f(1, 2) + ", "")), 3) == run(simplify(parse(text.replace("@f(1, 2) + ", ""))), 3)


@pytest.mark.parametrize("flag", [True, False])
def test_known_references_are_read(flag: bool) -> None:
    text = """def @main(%c: bool, %p: fn () -> int32) {
        let %r = ref(1);
        let %u = fn () { ref_write(%r, ref_read(%r) * 2) };
        %u();
        let %k = ref_read(%r);
        if (%c) { %u() } else { () };
        let %v = ref_read(%r);
        ref_write(%r, 10);
        let %o = %p();
        (%k, %v, ref_read(%r), %o)
    }"""
    mod = parse(text)
    assert "ref_write(%r, 4)" not in simplify(mod).astext()
    whole = parse(text.replace(", %p: fn () -> int32", "").replace("%p()", "7"))
    expected = [each.numpy().item() for each in relay.create_executor("debug", mod=whole).evaluate()(flag)]
    got = [each.numpy().item() for each in relay.create_executor("debug", mod=simplify(whole)).evaluate()(flag)]
    assert got == expected == [2, 4 if flag else 2, 10, 7]


def test_operators_on_constants_are_evaluated() -> None:
    mod = parse(
        'def @main(%x: float32) { let %t = (2f * 3f, %x); (%t.0 + %t.1, split(ones(shape=[2], dtype="int32"), 2).0) }'
    )
    assert "6f" in simplify(mod).astext()
    tuples = parse("def @main() { match (1, 2) { (%a, %b) => %a + %b } }")
    assert simplify(tuples)["main"].body.array == 3


@pytest.mark.parametrize("size", [1, 3, 4])
def test_an_axis_of_parameters_may_have_any_size(size: int) -> None:
    x, w = relay.var("x", shape=(10, 4)), relay.var("w", shape=(10, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(x + w, axis=0)))
    flexible = transform.FlexibleShapeDispatch(buckets=[1, 4], axis=1, auto_pad=True, input_indices=[0, 1])(mod)
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(flexible, "llvm"), tvm.cpu())
    array = np.arange(10 * size, dtype="float32").reshape(10, size)
    expected = np.exp(2 * (array - array.max(0)))
    np.testing.assert_allclose(machine.invoke("main", array, array).numpy(), expected / expected.sum(0), rtol=1e-5)


def test_infinite_attributes_are_read() -> None:
    mod = tvm.IRModule.from_expr(relay.clip(relay.var("x", shape=(2,)), -np.inf, np.inf))
    assert tvm.ir.structural_equal(parse(mod.astext()), mod)
    assert relay.const(1, relay.scalar_type("int64")).array.dtype == np.int64
