"""The division of programs into parts that are lowered apart."""

import pytest

from stepwell import parse_mlir, parse_tvmscript, relay
from stepwell.dialects.attributes import ELSEWHERE
from stepwell.module import Module
from stepwell.transforms.pipelines import Part, division, lower_graph, lower_to_parts


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "PART_WEIGHT", 1)


def functions(name: str, *calls: str, private: bool = False) -> str:
    body = "\n".join(f"        Module.{callee}(A)" for callee in calls) or "        A[0] = A[0] + 1.0"
    mark = "@T.prim_func(private=True)" if private else "@T.prim_func"
    return f"    {mark}\n    def {name}(A: T.Buffer((8,), 'float32')):\n{body}\n"


def module(*texts: str) -> Module:
    return parse_tvmscript("@I.ir_module\nclass Module:\n" + "\n".join(texts))


def names(parts: list[Part]) -> list[list[str]]:
    """The names of the functions of each part, those that it declares in brackets."""
    return [
        [f"({name})" if ELSEWHERE in op.attributes else name for name, op in part.module.functions.items()]
        for part in parts
    ]


def test_functions_that_call_each_other_are_in_one_part() -> None:
    mod = module(
        functions("first", "last"), functions("alone"), functions("middle", "middle"), functions("last", private=True)
    )
    before = str(mod)
    assert names(lower_to_parts(mod)) == [["first", "last"], ["alone"], ["middle"]]
    assert str(mod) == before


def graph() -> Module:
    x = relay.var("x", shape=(4, 8))
    w = relay.var("w", shape=(8, 8))
    y = relay.nn.softmax(relay.nn.dense(relay.tanh(x), w))
    return lower_graph(relay.module(relay.Function([x, w], y)), opt_level=0)


def test_a_graph_is_a_part_that_declares_its_kernels() -> None:
    parts = lower_to_parts(graph())
    *kernels, main = names(parts)
    assert main == [*(f"({name})" for (name,) in kernels), "main"]
    assert len(kernels) == 3
    assert {part.shared for part in parts} == {frozenset(name for (name,) in kernels)}
    assert [part.number for part in parts] == [0, 1, 2, 3]
    for part in parts:
        part.module.verify()


def test_a_declaration_tells_which_buffers_are_read_only() -> None:
    main = lower_to_parts(graph())[-1].module.functions
    read_only = [["".join(each.data) for each in op.arg_attrs] for name, op in main.items() if name != "main"]
    one = ["stepwell.read_only", ""]
    assert sorted(read_only, key=len) == [one, one, ["stepwell.read_only", *one]]


def test_a_small_program_is_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "PART_WEIGHT", 1000)
    (part,) = lower_to_parts(module(*(functions(f"f{n}") for n in range(9))))
    assert len(part.module.functions) == 9
    assert not part.shared


def test_the_weight_of_a_part_is_that_of_its_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = module(*(functions(f"f{n}") for n in range(9)))
    each = {part.weight for part in lower_to_parts(mod)}
    assert len(each) == 1
    monkeypatch.setattr(division, "PART_WEIGHT", 3 * each.pop() - 1)
    assert names(lower_to_parts(mod)) == [["f0", "f1", "f2"], ["f3", "f4", "f5"], ["f6", "f7", "f8"]]


def test_the_number_of_parts_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "MOST_PARTS", 4)
    parts = lower_to_parts(module(*(functions(f"f{n}") for n in range(30))))
    assert len(parts) == 4
    assert sum(len(part.module.functions) for part in parts) == 30


@pytest.mark.parametrize(
    "more",
    [
        "func.func @f() { func.return }",
        'tir.func @"main.loops"("A" %A: memref<8xf32>) {}',
    ],
    ids=["other operations", "names that passes give"],
)
def test_a_program_that_passes_cannot_lower_apart_is_one_part(more: str) -> None:
    text = "".join(f'tir.func @f{n}("A" %A: memref<8xf32>) {{}}\n' for n in range(2))
    assert len(lower_to_parts(parse_mlir(text))) == 2
    assert len(lower_to_parts(parse_mlir(text.replace("@f0", "@main") + more))) == 1
